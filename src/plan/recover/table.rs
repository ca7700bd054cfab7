//! The rows of the decision table.

use Row::{
    R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R9b, R10, R11, R12, R13, R14, R15, R16, R17, R18, R19, R20, R21,
};

/// The number of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the entry of the table says what a row means")]
pub enum Row {
    R0,
    R1,
    R2,
    R3,
    R4,
    R5,
    R6,
    R7,
    R8,
    R9,
    R9b,
    R10,
    R11,
    R12,
    R13,
    R14,
    R15,
    R16,
    R17,
    R18,
    R19,
    R20,
    R21,
}

impl Row {
    /// Returns the number as it is written.
    pub fn id(self) -> &'static str {
        entry(self).id
    }
}

/// One row.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its number.
    pub row: Row,
    /// The number as it is written.
    pub id: &'static str,
    /// The stable code of the reason: machines match on it.
    pub code: &'static str,
    /// When it fits.
    pub when: &'static str,
    /// What is done.
    pub does: &'static str,
    /// What it takes to get past it, where nothing is done by itself; empty elsewhere.
    pub needs: &'static str,
}

const fn row(
    row: Row,
    id: &'static str,
    code: &'static str,
    when: &'static str,
    does: &'static str,
    needs: &'static str,
) -> Entry {
    Entry { row, id, code, when, does, needs }
}

/// The table.
#[rustfmt::skip]
pub const TABLE: [Entry; 23] = [
    row(R0, "R0", "locked", "somebody holds the lock and renews it", "waits, then leaves the release alone", "the end of that run, or `statectl unlock`"),
    row(R1, "R1", "lock-unreadable", "the lock cannot be read or written", "writes nothing", "the rights on leases, or `lock = \"secret\"`"),
    row(R2, "R2", "pending", "a helm without a lock may be at work", "waits", "`settings.foreignPendingAfter` to pass, or `statectl unlock`"),
    row(R3, "R3", "other-controller", "a controller writes the records of the release", "writes nothing", "the release to leave that controller"),
    row(R4, "R4", "interrupted-before-objects", "the first install was interrupted before any object was created", "marks it failed and installs", ""),
    row(R5, "R5", "interrupted-install", "the first install was interrupted half-way", "marks it failed and installs over what is there; nothing is uninstalled", ""),
    row(R6, "R6", "interrupted-not-ours", "an object of the interrupted revision belongs to something else", "writes nothing", "`adopt`, or another name"),
    row(R7, "R7", "sealed", "the first install was complete, and only its last record is missing", "marks it deployed", ""),
    row(R8, "R8", "interrupted-before-changes", "an upgrade was interrupted, and none of its objects is there", "marks it failed and goes on from what is there", ""),
    row(R9, "R9", "interrupted-upgrade", "an upgrade was interrupted half-way", "marks it failed and rolls forward; hooks run again", ""),
    row(R9b, "R9b", "interrupted-goes-back", "an upgrade was interrupted half-way, and the file says `onInterrupted = \"rollback\"`", "marks it failed and restores the last good revision; the next apply rolls out what the file says", ""),
    row(R10, "R10", "sealed-upgrade", "an upgrade or rollback was complete, and only its last record is missing", "marks it deployed; what the file says now is an upgrade after it", ""),
    row(R11, "R11", "interrupted-rollback", "a rollback was interrupted, or failed without saying so", "marks it failed and rolls forward", ""),
    row(R12, "R12", "interrupted-uninstall", "an uninstall was interrupted, and the release should exist", "marks it failed, waits for what is going, and installs what is missing", ""),
    row(R13, "R13", "uninstall-resumed", "an uninstall was interrupted, or something else was, and the release should go", "uninstalls", ""),
    row(R14, "R14", "last-failed", "the newest revision failed", "the ordinary plan", ""),
    row(R15, "R15", "first-install-failed", "the first install failed", "installs over what is there; nothing is uninstalled", ""),
    row(R16, "R16", "record-missing", "no revision says deployed, and none failed: the newest record was removed", "goes on from the newest that is left", ""),
    row(R17, "R17", "several-deployed", "several revisions say deployed", "the highest counts; the others are marked superseded", ""),
    row(R18, "R18", "objects-without-record", "there is no record, and objects carry the marks of the release", "installs over them", ""),
    row(R19, "R19", "record-unreadable", "the newest record cannot be read, or has a state that is not known", "writes nothing", "the record to be repaired or removed"),
    row(R20, "R20", "older-pending", "an older revision still says pending", "leaves it", ""),
    row(R21, "R21", "recovery-loop", "the same desired state was interrupted three times in a row", "writes nothing", "another desired state, or `--retry`"),
];

/// Returns the entry of a row.
pub fn entry(row: Row) -> &'static Entry {
    // Every row has one: a test compares the two.
    TABLE.iter().find(|entry| entry.row == row).unwrap_or(&TABLE[0])
}
