//! The revisions of one release: which one is live, what comes next, what may go.
//!
//! Source: Helm `pkg/storage/storage.go`, `pkg/action/upgrade.go`.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::labels::labels_for;
use super::record::{Record, Storage, Undecodable, decode, parse_object_name};
use super::release::Status;
use crate::model::ReleaseKey;

/// All records of one release.
#[derive(Debug)]
pub struct History {
    /// The release.
    pub key: ReleaseKey,
    records: Vec<Record>,
    undecodable: Vec<Undecodable>,
}

impl History {
    /// Returns an empty history.
    pub fn new(key: ReleaseKey) -> Self {
        Self { key, records: Vec::new(), undecodable: Vec::new() }
    }

    /// Returns the readable records, oldest revision first.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Returns the objects that have names of records of this release but cannot be read.
    pub fn undecodable(&self) -> &[Undecodable] {
        &self.undecodable
    }

    /// Returns the record of a revision.
    pub fn revision(&self, revision: u64) -> Option<&Record> {
        self.records.iter().rev().find(|record| record.release.version == revision)
    }

    /// Returns the record of the newest revision.
    pub fn latest(&self) -> Option<&Record> {
        self.records.last()
    }

    /// Returns the newest deployed record. An interrupted operation can leave two, or none.
    pub fn deployed(&self) -> Option<&Record> {
        self.records.iter().rev().find(|record| record.release.info.status == Status::Deployed)
    }

    /// Returns the revision whose manifest an upgrade starts from: the latest if it is deployed, else the
    /// newest deployed one, else the latest if it is failed or superseded. Without one Helm refuses with
    /// `has no deployed releases`.
    ///
    /// Helm marks the old revision superseded before it marks the new one deployed. If it was killed in between, the one
    /// before the pending one is what an upgrade starts from, unless its text says that it failed: a failed rollback marks
    /// failed revisions superseded.
    pub fn baseline(&self) -> Option<&Record> {
        self.deployed().or_else(|| {
            let latest = self.latest()?;
            if matches!(latest.release.info.status, Status::PendingUpgrade | Status::PendingRollback) {
                let older = self.records.iter().rev().skip(1);
                let mut kept = older.take_while(|record| record.release.info.status != Status::Uninstalled);
                return kept.find(|record| {
                    let info = &record.release.info;
                    info.status == Status::Superseded && !info.description.contains(" failed: ")
                });
            }
            matches!(latest.release.info.status, Status::Failed | Status::Superseded).then_some(latest)
        })
    }

    /// Marks every record as one of a context.
    pub fn claim(&mut self, context: &str) {
        for record in &mut self.records {
            record.labels.extend(labels_for(context, &record.namespace));
        }
    }

    /// Returns the number of the next revision: above every number that a record or an object's name holds.
    /// Helm counts from readable records only and then fails on an object that it cannot read.
    pub fn next_revision(&self) -> u64 {
        let readable = self.records.iter().flat_map(|record| {
            let named = parse_object_name(&record.object).map_or(0, |(_, revision)| revision);
            [record.release.version, named]
        });
        let blocked = self.undecodable.iter().map(|object| object.revision);
        readable.chain(blocked).max().unwrap_or(0).saturating_add(1)
    }

    /// Returns the records to delete, oldest first, so that `limit` remain after `incoming` more are written.
    /// The newest deployed one always stays, as in Helm, so a limit of 1 leaves two. 0 means no limit.
    pub fn prune_candidates(&self, limit: usize, incoming: usize) -> Vec<&Record> {
        if limit == 0 {
            return Vec::new();
        }
        let excess = self.records.len().saturating_sub(limit.saturating_sub(incoming));
        let kept = self.deployed().map(|record| record.release.version);
        self.records.iter().filter(|record| Some(record.release.version) != kept).take(excess).collect()
    }

    fn add(&mut self, decoded: Result<Record, Undecodable>) {
        match decoded {
            Ok(record) => self.records.push(record),
            Err(undecodable) => self.undecodable.push(undecodable),
        }
    }
}

/// Sorts the objects of a LIST into one history per release. Objects that are not release records are skipped.
pub fn group<'a>(
    storage: Storage,
    objects: impl IntoIterator<Item = &'a Json>,
) -> BTreeMap<ReleaseKey, History> {
    let mut histories: BTreeMap<ReleaseKey, History> = BTreeMap::new();
    for decoded in objects.into_iter().filter_map(|object| decode(storage, object)) {
        let key = match &decoded {
            Ok(record) => record.key(),
            Err(undecodable) => undecodable.key.clone(),
        };
        histories.entry(key).or_insert_with_key(|key| History::new(key.clone())).add(decoded);
    }
    for history in histories.values_mut() {
        // The API lists by object name, which puts v10 before v2.
        history.records.sort_by_key(|record| record.release.version);
        history.undecodable.sort_by_key(|object| object.revision);
    }
    histories
}
