//! Is an object as desired, by what the live one shows alone? Then the server need not be asked.
//!
//! A server-side apply changes nothing if every field that it sends has its value already, and if the fields that the
//! manager owns are exactly those that it sends: nothing is added, nothing is taken away. Both can be read from the
//! live object, except where the comparison would need the schema; whatever is not certain stays a doubt, and goes to
//! the dry run. So the proof can cost a request, and never gives a wrong answer.
//!
//! What webhooks and policies that came later would say to the same object is not part of the question: it is not
//! applied.
//!
//! Source of the rules: Kubernetes server-side apply, `sigs.k8s.io/structured-merge-diff` (`typed/tofieldset.go`,
//! `typed/merge.go`, `merge/update.go`). Knows no client; a test on the real API server compares it with dry runs.

use std::fmt;

use serde_json::{Map, Value as Json};

use super::managed::raw_entries;
use super::path::{FieldPath, Step};

/// Longest list whose elements are matched one by one.
const LONGEST_LIST: usize = 1000;
/// Certainty that applying an object changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proof {
    /// How many fields were compared: those without members.
    pub fields: usize,
}

/// Why it is not certain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The object is read, or written, in another API version.
    Version,
    /// It is on its way out.
    BeingDeleted,
    /// The manager never applied it.
    NeverApplied,
    /// The manager has more than one entry, or one that an ordinary update or a subresource made.
    OtherEntry,
    /// The value is another one, or another spelling of it.
    Value(FieldPath),
    /// The field would be added to what the manager owns.
    NotOwned(FieldPath),
    /// The field would be taken from what the manager owns.
    NotSent(FieldPath),
    /// Null means something else in each place.
    Null(FieldPath),
    /// Elements of the list cannot be told apart, or it cannot be told how the server merges it.
    List(FieldPath),
    /// The desired object has a field that the server keeps for itself.
    ServerField(&'static str),
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::Version => f.write_str("it is applied in another API version"),
            Doubt::BeingDeleted => f.write_str("it is being deleted"),
            Doubt::NeverApplied => f.write_str("it was never applied under this name"),
            Doubt::OtherEntry => f.write_str("other writes were made under the same name"),
            Doubt::Value(path) => write!(f, "{path} has another value or spelling"),
            Doubt::NotOwned(path) => write!(f, "{path} is not owned yet"),
            Doubt::NotSent(path) => write!(f, "{path} is owned and no longer sent"),
            Doubt::Null(path) => write!(f, "{path} is null"),
            Doubt::List(path) => write!(f, "the elements of {path} cannot be matched for certain"),
            Doubt::ServerField(name) => write!(f, "it sends metadata.{name}, which is the server's"),
        }
    }
}

/// Proves that a server-side apply of `desired` by `manager` would leave `live` as it is.
///
/// # Errors
/// What is not certain. It says nothing about the object: the server has to be asked.
pub fn prove_unchanged(desired: &Json, live: &Json, manager: &str) -> Result<Proof, Doubt> {
    for member in ["apiVersion", "kind"] {
        if !desired[member].is_string() || desired[member] != live[member] {
            return Err(Doubt::Version);
        }
    }
    if !live["metadata"]["deletionTimestamp"].is_null() {
        return Err(Doubt::BeingDeleted);
    }
    if let Some(field) = server_field(desired) {
        return Err(Doubt::ServerField(field));
    }
    let (owned, others) = entries(live, manager, &desired["apiVersion"])?;
    let root = Node { owned, others, path: &Place::Root };
    let mut walk = Walk { fields: 0, is_built_in: is_built_in(desired) };
    walk.value(&root, desired, Some(live))?;
    Ok(Proof { fields: walk.fields })
}

/// Returns the fields of the manager's one apply entry, and those of all others.
fn entries<'a>(
    live: &'a Json,
    manager: &str,
    version: &Json,
) -> Result<(&'a Fields, Vec<&'a Fields>), Doubt> {
    let mut ours = None;
    let mut others = Vec::new();
    for entry in raw_entries(live) {
        let fields = entry["fieldsV1"].as_object();
        if entry["manager"] != manager {
            others.extend(fields);
            continue;
        }
        let applied = entry["operation"] == "Apply"
            && entry["subresource"].as_str().unwrap_or_default().is_empty()
            && entry["apiVersion"] == *version;
        match fields {
            Some(fields) if applied && ours.is_none() => ours = Some(fields),
            _ => return Err(Doubt::OtherEntry),
        }
    }
    Ok((ours.ok_or(Doubt::NeverApplied)?, others))
}

/// Returns a field of the desired object that the server sets itself, or treats in its own way.
fn server_field(desired: &Json) -> Option<&'static str> {
    const FIELDS: [&str; 10] = [
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generateName",
        "generation",
        "managedFields",
        "ownerReferences",
        "resourceVersion",
        "selfLink",
        "uid",
    ];
    let metadata = desired["metadata"].as_object()?;
    FIELDS.into_iter().find(|field| metadata.contains_key(*field))
}

/// A part of `fieldsV1`, or the members of a mapping.
type Fields = Map<String, Json>;

/// Where the walk is; made into a path only for a doubt.
enum Place<'a> {
    Root,
    Key(&'a Place<'a>, &'a str),
    Index(&'a Place<'a>, usize),
}

impl Place<'_> {
    const METADATA: Place<'static> = Place::Key(&Place::Root, "metadata");

    fn path(&self) -> FieldPath {
        match self {
            Place::Root => FieldPath::default(),
            Place::Key(above, key) => above.path().key(key),
            Place::Index(above, index) => above.path().join(Step::Index(*index)),
        }
    }

    fn key(&self) -> Option<&str> {
        match self {
            Place::Key(_, key) => Some(key),
            Place::Root | Place::Index(..) => None,
        }
    }

    /// Tells whether a member identifies the object: it is sent, and in no field set.
    fn identifies(&self, key: &str, value: &Json) -> bool {
        match self {
            Place::Root => match key {
                "apiVersion" | "kind" => true,
                "metadata" => value.as_object().is_some_and(|members| {
                    members.iter().all(|(key, value)| Place::METADATA.identifies(key, value))
                }),
                _ => false,
            },
            Place::Key(Place::Root, "metadata") => matches!(key, "name" | "namespace"),
            Place::Key(..) | Place::Index(..) => false,
        }
    }
}

/// A field, with what is owned of it.
struct Node<'a> {
    /// The manager's own part of `fieldsV1`.
    owned: &'a Fields,
    /// The parts of everybody else.
    others: Vec<&'a Fields>,
    path: &'a Place<'a>,
}

impl Node<'_> {
    /// The field is owned as a whole.
    fn is_leaf(&self) -> bool {
        names(self.owned).next().is_none()
    }

    /// Somebody owns parts of it, so the server does not treat it as one value.
    fn is_granular(&self) -> bool {
        self.others.iter().any(|other| names(other).next().is_some())
    }

    fn others_below(&self, name: &str) -> Vec<&Fields> {
        self.others.iter().filter_map(|other| other.get(name)?.as_object()).collect()
    }

    fn list(&self) -> Doubt {
        Doubt::List(self.path.path())
    }
}

/// Returns the elements of a field set; `.` stands for the field itself.
fn names(owned: &Fields) -> impl Iterator<Item = (&str, &Json)> {
    owned.iter().map(|(name, below)| (name.as_str(), below)).filter(|(name, _)| *name != ".")
}

struct Walk {
    fields: usize,
    is_built_in: bool,
}

impl Walk {
    fn value(&mut self, node: &Node<'_>, desired: &Json, live: Option<&Json>) -> Result<(), Doubt> {
        match desired {
            // Null is the zero value, which is not stored; where there is a default instead, or an entry of a map of
            // texts, something is there.
            Json::Null if self.is_built_in && node.is_leaf() && live.is_none() => {
                self.fields += 1;
                Ok(())
            }
            Json::Null => Err(Doubt::Null(node.path.path())),
            Json::Object(members) if !members.is_empty() && !node.is_leaf() => {
                self.object(node, members, live.unwrap_or(&Json::Null))
            }
            Json::Array(items) if !items.is_empty() && !node.is_leaf() => self.list(node, items, live),
            _ => self.whole(node, desired, live),
        }
    }

    /// A field that is owned as a whole: a scalar, something empty, or what the server calls atomic.
    fn whole(&mut self, node: &Node<'_>, desired: &Json, live: Option<&Json>) -> Result<(), Doubt> {
        if let Some((name, _)) = names(node.owned).next() {
            return Err(Doubt::NotSent(step(node.path, name)));
        }
        let has_members = match desired {
            Json::Object(members) => !members.is_empty(),
            Json::Array(items) => !items.is_empty(),
            _ => false,
        };
        if has_members && (node.is_granular() || has_null(desired)) {
            return Err(node.list());
        }
        let known = || self.is_built_in && node.path.key().is_some_and(|key| well_known(key, desired, live));
        if live == Some(desired) || known() {
            self.fields += 1;
            return Ok(());
        }
        Err(Doubt::Value(node.path.path()))
    }

    /// A mapping of which exactly the sent members must be owned.
    fn object(&mut self, node: &Node<'_>, sent: &Fields, live: &Json) -> Result<(), Doubt> {
        let mut found = 0;
        for (key, value) in sent.iter().filter(|(key, value)| !node.path.identifies(key, value)) {
            let path = Place::Key(node.path, key);
            let name = format!("f:{key}");
            let Some(owned) = node.owned.get(&name).and_then(Json::as_object) else {
                return Err(Doubt::NotOwned(path.path()));
            };
            found += 1;
            let below = Node { owned, others: node.others_below(&name), path: &path };
            self.value(&below, value, live.get(key))?;
        }
        if names(node.owned).count() == found {
            return Ok(());
        }
        let is_sent = |name: &str| name.strip_prefix("f:").is_some_and(|key| sent.contains_key(key));
        let extra = names(node.owned).map(|(name, _)| name).find(|name| !is_sent(name));
        Err(Doubt::NotSent(step(node.path, extra.unwrap_or_default())))
    }

    /// A list whose elements are owned one by one. Elements of others may lie between; the order of those that are
    /// sent must be the live one, because the server's merge puts them into the order in which they are sent.
    fn list(&mut self, node: &Node<'_>, items: &[Json], live: Option<&Json>) -> Result<(), Doubt> {
        let Some(live) = live.and_then(Json::as_array) else { return Err(Doubt::Value(node.path.path())) };
        let elements =
            names(node.owned).map(|(name, below)| Element::parse(name, below)).collect::<Option<Vec<_>>>();
        let elements = elements.ok_or_else(|| node.list())?;
        if items.len() > LONGEST_LIST || live.len() > LONGEST_LIST {
            return Err(node.list());
        }
        if let Some(extra) = elements.iter().find(|element| !items.iter().any(|item| element.means(item))) {
            return Err(Doubt::NotSent(step(node.path, extra.name)));
        }
        if elements.len() != items.len() {
            return Err(node.list());
        }
        let mut next = 0;
        for (index, item) in items.iter().enumerate() {
            let path = Place::Index(node.path, index);
            let mut matching = elements.iter().filter(|element| element.means(item));
            let (Some(element), None) = (matching.next(), matching.next()) else { return Err(node.list()) };
            let mut places = live.iter().enumerate().filter(|(_, item)| element.is(item));
            let (Some((at, current)), None) = (places.next(), places.next()) else {
                return Err(Doubt::Value(path.path()));
            };
            if at < next {
                return Err(Doubt::Value(node.path.path()));
            }
            next = at + 1;
            let Element { owned, name, keys } = element;
            let below = Node { owned, others: node.others_below(name), path: &path };
            match keys {
                Keys::Value(_) => self.whole(&below, item, Some(current))?,
                Keys::Members(_) => self.value(&below, item, Some(current))?,
            }
        }
        Ok(())
    }
}

/// An element of an owned list.
struct Element<'a> {
    name: &'a str,
    owned: &'a Fields,
    keys: Keys,
}

enum Keys {
    /// The element is this value.
    Value(Json),
    /// The element is the mapping with these members.
    Members(Fields),
}

impl<'a> Element<'a> {
    fn parse(name: &'a str, below: &'a Json) -> Option<Self> {
        let (kind, text) = name.split_once(':')?;
        let keys = match kind {
            "v" => Keys::Value(serde_json::from_str(text).ok()?),
            "k" => Keys::Members(serde_json::from_str::<Fields>(text).ok().filter(|keys| !keys.is_empty())?),
            _ => return None,
        };
        Some(Self { name, owned: below.as_object()?, keys })
    }

    /// Tells whether a sent element is this one. A key that is not sent is one that the server filled in when it was
    /// applied, and therefore not owned; a key that is sent is owned like any member, or with the whole element.
    fn means(&self, item: &Json) -> bool {
        match &self.keys {
            Keys::Value(value) => value == item,
            Keys::Members(keys) => item.as_object().is_some_and(|item| {
                let is_atomic = names(self.owned).next().is_none();
                keys.iter().all(|(key, value)| {
                    let owned = is_atomic || self.owned.contains_key(&format!("f:{key}"));
                    item.get(key).map_or(!owned, |sent| owned && sent == value)
                })
            }),
        }
    }

    /// Tells whether a live element is this one.
    fn is(&self, item: &Json) -> bool {
        match &self.keys {
            Keys::Value(value) => value == item,
            Keys::Members(keys) => keys.iter().all(|(key, value)| item.get(key) == Some(value)),
        }
    }
}

/// Tells whether the types of a kind are known here: no definition can have a group without a dot (Kubernetes
/// `apiextensions/validation`), so the kinds of these are the server's own.
fn is_built_in(object: &Json) -> bool {
    object["apiVersion"].as_str().is_some_and(|version| match version.split_once('/') {
        None => true,
        Some((group, _)) => matches!(group, "apps" | "autoscaling" | "batch" | "policy"),
    })
}

/// Tells whether a field of a built-in kind has its live value because of what is known of its type: a zero value that
/// is not stored, or a default inside a mapping that is one value for the server.
///
/// A field that is owned and not there was sent as the zero value of its type. But what is sent now can be of another
/// type, which the server refuses; so it counts only for fields whose name tells the type, in all of these kinds.
fn well_known(key: &str, desired: &Json, live: Option<&Json>) -> bool {
    match (desired, live) {
        (Json::Bool(false), None) => {
            matches!(
                key,
                "hostIPC"
                    | "hostNetwork"
                    | "hostPID"
                    | "paused"
                    | "publishNotReadyAddresses"
                    | "readOnly"
                    | "stdin"
                    | "tty"
            )
        }
        (Json::Number(number), None) if number.as_i64() == Some(0) => {
            matches!(key, "hostPort" | "initialDelaySeconds" | "minReadySeconds" | "nodePort")
        }
        (Json::String(text), None) if text.is_empty() => {
            matches!(key, "loadBalancerIP" | "priorityClassName" | "subPath" | "value")
        }
        (Json::Array(items), None) if items.is_empty() => matches!(
            key,
            "args"
                | "command"
                | "env"
                | "envFrom"
                | "externalIPs"
                | "hostAliases"
                | "imagePullSecrets"
                | "initContainers"
                | "loadBalancerSourceRanges"
                | "ports"
                | "tolerations"
                | "topologySpreadConstraints"
                | "volumeMounts"
                | "volumes"
        ),
        (Json::Object(members), None) if members.is_empty() => matches!(
            key,
            "annotations" | "binaryData" | "data" | "labels" | "limits" | "nodeSelector" | "requests"
        ),
        (Json::Object(sent), Some(Json::Object(stored))) if key == "fieldRef" => {
            stored.len() == sent.len() + 1
                && !sent.contains_key("apiVersion")
                && stored.get("apiVersion").is_some_and(|version| version == "v1")
                && sent.iter().all(|(key, value)| stored.get(key) == Some(value))
        }
        _ => false,
    }
}

fn has_null(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::Array(items) => items.iter().any(has_null),
        Json::Object(members) => members.values().any(has_null),
        _ => false,
    }
}

fn step(place: &Place<'_>, name: &str) -> FieldPath {
    place.path().join(super::fieldset::element(name))
}

#[cfg(test)]
mod tests;
