//! Who manages which fields: `metadata.managedFields` read, written and bounded.
//!
//! Source: Kubernetes `apimachinery/pkg/util/managedfields/internal`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::fieldset::FieldSet;

/// Entries of updates beyond this many are folded into one.
const MOST_UPDATERS: usize = 10;

/// Whose fields an entry lists.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Manager {
    pub(super) name: String,
    pub(super) applies: bool,
    /// Empty for entries of applies: there is one for all versions.
    pub(super) api_version: String,
    pub(super) subresource: String,
}

impl Manager {
    pub(super) fn new(name: &str, applies: bool, api_version: &str, subresource: &str) -> Self {
        Self {
            name: if name.is_empty() { "unknown" } else { name }.to_owned(),
            applies,
            api_version: if applies { String::new() } else { api_version.to_owned() },
            subresource: subresource.to_owned(),
        }
    }

    /// Returns the manager as conflicts name it.
    pub(super) fn told(&self) -> String {
        let part = match self.subresource.as_str() {
            "" => String::new(),
            part => format!(" with subresource {part:?}"),
        };
        let version = if self.applies { String::new() } else { format!(" using {}", self.api_version) };
        format!("{:?}{part}{version}", self.name)
    }
}

/// The fields of one manager.
#[derive(Clone, Debug)]
pub(super) struct Owned {
    pub(super) fields: FieldSet,
    pub(super) api_version: String,
    pub(super) time: Option<Timestamp>,
}

/// All managers of an object.
pub(super) type Managers = BTreeMap<Manager, Owned>;

/// Reads `metadata.managedFields`; nothing if an entry is none.
pub(super) fn decode(object: &Value) -> Option<Managers> {
    let mut managers = Managers::new();
    for entry in object["metadata"]["managedFields"].as_array().into_iter().flatten() {
        let word = |key: &str| entry[key].as_str().unwrap_or_default();
        let applies = match word("operation") {
            "Apply" => true,
            "Update" => false,
            _ => return None,
        };
        if word("apiVersion").is_empty() || word("fieldsType") != "FieldsV1" {
            return None;
        }
        let manager = Manager {
            name: word("manager").to_owned(),
            ..Manager::new("", applies, word("apiVersion"), word("subresource"))
        };
        let fields = match &entry["fieldsV1"] {
            Value::Null => FieldSet::default(),
            fields => FieldSet::decode(fields)?,
        };
        let time = word("time").parse().ok();
        managers.insert(manager, Owned { fields, api_version: word("apiVersion").to_owned(), time });
    }
    Some(managers)
}

/// Writes `metadata.managedFields`; an object that nobody manages has none.
pub(super) fn encode(object: &mut Value, managers: &Managers) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    metadata.remove("managedFields");
    if managers.is_empty() {
        return;
    }
    let seconds = |owned: &Owned| owned.time.map_or(0, Timestamp::as_second);
    let mut entries: Vec<(&Manager, &Owned)> = managers.iter().collect();
    entries.sort_by_key(|(manager, owned)| {
        (!manager.applies, seconds(owned), &manager.name, &owned.api_version, &manager.subresource)
    });
    let entry = |(manager, owned): &(&Manager, &Owned)| {
        let mut entry = json!({
            "manager": manager.name, "operation": if manager.applies { "Apply" } else { "Update" },
            "apiVersion": owned.api_version, "fieldsType": "FieldsV1", "fieldsV1": owned.fields.encode(),
        });
        if manager.name.is_empty() {
            entry.as_object_mut().map(|entry| entry.remove("manager"));
        }
        if let Some(time) = owned.time {
            entry["time"] = time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into();
        }
        if !manager.subresource.is_empty() {
            entry["subresource"] = manager.subresource.clone().into();
        }
        entry
    };
    metadata.insert("managedFields".to_owned(), entries.iter().map(entry).collect());
}

/// Folds the oldest entries of updates into one where there are too many.
pub(super) fn bound(managers: &mut Managers) {
    let seconds = |owned: &Owned| owned.time.map_or(0, Timestamp::as_second);
    let mut updaters: Vec<(i64, Manager)> = managers
        .iter()
        .filter(|(manager, _)| !manager.applies)
        .map(|(manager, owned)| (seconds(owned), manager.clone()))
        .collect();
    let mut count = updaters.len();
    updaters.sort();
    let mut first: BTreeMap<String, Manager> = BTreeMap::new();
    for (_, manager) in updaters {
        if count <= MOST_UPDATERS {
            return;
        }
        let Some(first) = first.get(&manager.api_version) else {
            first.insert(manager.api_version.clone(), manager);
            continue;
        };
        let bucket = Manager::new("ancient-changes", false, &manager.api_version, "");
        if !managers.contains_key(&bucket)
            && let Some(owned) = managers.remove(first)
        {
            managers.insert(bucket.clone(), owned);
        }
        if let (Some(owned), Some(old)) = (managers.remove(&manager), managers.get_mut(&bucket)) {
            old.fields = owned.fields.union(&old.fields);
            old.time = owned.time;
            count -= 1;
        }
    }
}

/// Tells whether a request asks for its object to be managed by nobody: `managedFields: [{}]`, or an empty list.
pub(super) fn is_reset(object: &Value) -> bool {
    match object["metadata"]["managedFields"].as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([one]) => one.as_object().is_some_and(Map::is_empty),
        _ => false,
    }
}
