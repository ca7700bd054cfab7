//! Corrections that do not last: the same field, taken back from the same manager, revision after revision.
//!
//! Each record carries how often in a row its corrections were made, in an annotation. Helm drops annotations when it
//! writes a record, and then counting starts anew; nothing else reads them.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};

use super::input::ObservedObject;
use super::ownership::FieldRules;
use super::reason::Reason;
use crate::history::Record;

/// Annotation of records: corrections, by a digest of object, field and manager, and how often in a row.
const ANNOTATION: &str = "statectl.io/corrections";
/// So many corrections in a row are made.
const MOST: u32 = 3;
/// A field that is changed later than this after the last correction is nobody's fight.
const WINDOW_HOURS: i64 = 24;

/// The corrections of a run.
#[derive(Debug, Default)]
pub(super) struct Corrections {
    made: BTreeMap<String, u32>,
    /// A reason for each field that has been corrected too often.
    pub(super) refusals: Vec<Reason>,
}

impl Corrections {
    /// Counts what `reasons` say was changed in the cluster. A field that a rule of the file takes is taken however
    /// often.
    pub(super) fn of(
        previous: Option<&Record>,
        reasons: &[Reason],
        objects: &[ObservedObject],
        rules: &FieldRules,
        app: &str,
    ) -> Self {
        let stored = previous.and_then(|record| record.annotations.get(ANNOTATION));
        let before: BTreeMap<String, u32> =
            stored.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let mut found = Self::default();
        for reason in reasons {
            let Reason::Drifted { object: key, .. } = reason else { continue };
            let object = objects.iter().find(|object| object.key == *key);
            for field in object.iter().flat_map(|object| &object.settled.taken) {
                let manager = field.manager.split(' ').next().unwrap_or_default();
                if rules.takes(&field.path, manager) {
                    continue;
                }
                let text = format!("{key}\n{}\n{}", field.path, field.manager);
                let id: String =
                    Sha256::digest(text).iter().take(6).map(|byte| format!("{byte:02x}")).collect();
                let times = before.get(&id).copied().unwrap_or_default();
                let times = if is_soon(previous, &field.since) { times } else { 0 };
                if times >= MOST {
                    found.refusals.push(Reason::Flapping {
                        object: key.clone(),
                        field: field.path.to_string(),
                        manager: field.manager.clone(),
                        times,
                        app: app.to_owned(),
                    });
                }
                found.made.insert(id, times.saturating_add(1));
            }
        }
        found
    }

    /// Returns the annotations of the next record.
    pub(super) fn annotations(&self) -> BTreeMap<String, String> {
        let text = serde_json::to_string(&self.made).ok().filter(|_| !self.made.is_empty());
        text.map(|text| (ANNOTATION.to_owned(), text)).into_iter().collect()
    }
}

/// Tells whether a field was written within the window after a record was made. Both times are the server's own; where one
/// of them is not known, it was.
fn is_soon(previous: Option<&Record>, written: &str) -> bool {
    let read = |text: &str| text.parse::<Timestamp>().ok();
    match (previous.and_then(|record| read(&record.created)), read(written)) {
        (Some(corrected), Some(written)) => {
            written.duration_since(corrected) <= SignedDuration::from_hours(WINDOW_HOURS)
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::history::{self, Release, Storage};

    #[test]
    fn only_what_is_changed_soon_again_counts() {
        let release = Release {
            name: "web".to_owned(),
            namespace: "shop".to_owned(),
            version: 1,
            ..Release::default()
        };
        let mut object =
            history::new_object(Storage::Secret, &release, &BTreeMap::new(), Timestamp::UNIX_EPOCH).unwrap();
        object["metadata"]["creationTimestamp"] = json!("2026-03-01T10:00:00Z");
        let history = history::group(Storage::Secret, [&object]).into_values().next().unwrap();
        let record = history.latest();
        for (written, expected) in [
            ("2026-03-01T10:00:05Z", true),
            ("2026-03-02T09:59:00Z", true),
            ("2026-03-02T10:01:00Z", false),
            ("2026-07-01T10:00:00Z", false),
            ("", true),
        ] {
            assert_eq!(is_soon(record, written), expected, "{written}");
        }
        assert!(is_soon(None, "2026-07-01T10:00:00Z"));
    }
}
