//! The object that is the lock: a Lease, or a Secret where leases may not be written.

use serde_json::{Value as Json, json};

use super::Times;
use super::info::{Info, LOCK_FORMAT};

/// The type of a Secret that is a lock.
pub const SECRET_TYPE: &str = "statectl.io/lock";
const INFO: &str = "statectl.io/lock-info";
const SEQ: &str = "statectl.io/renew-seq";
const HOLDER: &str = "statectl.io/holder";
const SECONDS: &str = "statectl.io/lease-seconds";
const TRANSITIONS: &str = "statectl.io/transitions";
/// The label of every lock; its value says what is locked.
pub const LOCK_LABEL: &str = "statectl.io/lock";

/// What a lock is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A Lease of `coordination.k8s.io/v1`.
    Lease,
    /// A Secret.
    Secret,
}

impl Kind {
    /// Returns the name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Lease => "Lease",
            Kind::Secret => "Secret",
        }
    }

    /// Returns the other one.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Kind::Lease => Kind::Secret,
            Kind::Secret => Kind::Lease,
        }
    }
}

/// Which lock.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    /// The namespace of the object.
    pub namespace: String,
    /// Its name.
    pub object: String,
    /// What is locked, such as `release`.
    scope: &'static str,
}

impl Name {
    /// The lock of a release.
    pub fn release(namespace: &str, release: &str) -> Self {
        Self { namespace: namespace.to_owned(), object: format!("statectl.{release}"), scope: "release" }
    }

    /// The lock of a desired-state context. A context may have characters that no object's name has: then its bytes
    /// are written out, so that no two contexts share a lock.
    pub fn context(namespace: &str, context: &str) -> Self {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let fits = !context.is_empty()
            && context.len() <= 200
            && context.bytes().all(plain)
            && !context.starts_with('-')
            && !context.ends_with('-');
        let name = if fits {
            context.to_owned()
        } else {
            // A context is a label's value: 63 characters at most.
            let hex: String = context.bytes().map(|byte| format!("{byte:02x}")).collect();
            format!("x.{}", hex.get(..200).unwrap_or(&hex))
        };
        Self { namespace: namespace.to_owned(), object: format!("statectl-context.{name}"), scope: "context" }
    }

    /// Tells whether it is the lock of a desired-state file, on which everything rests that its holder does.
    pub fn is_of_a_file(&self) -> bool {
        self.scope == "context"
    }

    /// The object in which the newest run says that it waits for this lock.
    pub fn queue(&self) -> Self {
        let object = self.object.replacen("statectl-context.", "statectl-queue.", 1);
        Self { namespace: self.namespace.clone(), object, scope: "queue" }
    }

    /// Returns the release or context that an object of the cluster is the lock of; nothing for other objects.
    pub fn subject(object: &str) -> Option<(&'static str, &str)> {
        let release = object.strip_prefix("statectl.").map(|name| ("release", name));
        let context = || object.strip_prefix("statectl-context.").map(|name| ("context", name));
        release
            .or_else(context)
            .or_else(|| object.strip_prefix("statectl-queue.").map(|name| ("queue", name)))
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.object)
    }
}

/// One stored state of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Its identity. A request that carries it never makes the object anew.
    pub uid: String,
    /// Its version.
    pub resource_version: String,
}

/// What a lock says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sight {
    /// Which state of it.
    pub version: Version,
    /// The random name of the holding process; empty if nobody holds it.
    pub holder: String,
    /// The silence after which the holder counts as dead, in seconds.
    pub seconds: u32,
    /// The number of the last renewal.
    pub seq: u64,
    /// How often the holder changed.
    pub transitions: u64,
    /// What the holder says about itself.
    pub info: Option<Info>,
}

impl Sight {
    /// Returns one line that names the holder.
    pub fn who(&self) -> String {
        self.info.as_ref().map_or_else(|| self.holder.clone(), Info::line)
    }

    /// Tells whether the lock is of a format that this version does not know.
    pub fn is_foreign(&self) -> bool {
        !self.holder.is_empty() && self.info.as_ref().is_none_or(|info| info.format != LOCK_FORMAT)
    }
}

/// Reads a lock. What it lacks is filled with what keeps others out longest: a lock without a duration is one of 60 s.
pub fn read(kind: Kind, object: &Json) -> Sight {
    let metadata = &object["metadata"];
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    let note = |name: &str| metadata["annotations"][name].as_str();
    let number = |name: &str| note(name).and_then(|text| text.parse::<u64>().ok());
    let (holder, seconds, transitions) = match kind {
        Kind::Lease => {
            let spec = &object["spec"];
            let seconds = spec["leaseDurationSeconds"].as_u64();
            (text(&spec["holderIdentity"]), seconds, spec["leaseTransitions"].as_u64())
        }
        Kind::Secret => {
            let holder = note(HOLDER).unwrap_or_default().to_owned();
            (holder, number(SECONDS), number(TRANSITIONS))
        }
    };
    Sight {
        version: Version {
            uid: text(&metadata["uid"]),
            resource_version: text(&metadata["resourceVersion"]),
        },
        holder,
        seconds: seconds.and_then(|seconds| u32::try_from(seconds).ok()).unwrap_or(60).max(1),
        seq: number(SEQ).unwrap_or_default(),
        transitions: transitions.unwrap_or_default(),
        info: note(INFO).and_then(|text| serde_json::from_str(text).ok()),
    }
}

/// What a lock object states.
struct State<'a> {
    holder: &'a str,
    seconds: u32,
    seq: u64,
    transitions: u64,
    info: Option<&'a Info>,
    /// The time now, for people.
    now: &'a str,
}

/// Returns the object that takes a lock which is not there.
pub fn created_object(kind: Kind, name: &Name, times: &Times, info: &Info, now: &str) -> Json {
    let state = State {
        holder: &info.id,
        seconds: times.lease_seconds(),
        seq: 1,
        transitions: 0,
        info: Some(info),
        now,
    };
    object(kind, name, None, &state)
}

/// Returns the object that takes a lock which is free, or whose holder is silent.
pub fn acquired_object(
    kind: Kind,
    name: &Name,
    times: &Times,
    info: &Info,
    found: &Sight,
    now: &str,
) -> Json {
    let state = State {
        holder: &info.id,
        seconds: times.lease_seconds(),
        seq: found.seq + 1,
        transitions: found.transitions + 1,
        info: Some(info),
        now,
    };
    object(kind, name, Some(&found.version), &state)
}

/// Returns the object that renews a held lock.
pub fn renewed_object(
    kind: Kind,
    name: &Name,
    times: &Times,
    info: &Info,
    (version, seq, transitions): (&Version, u64, u64),
    now: &str,
) -> Json {
    let state =
        State { holder: &info.id, seconds: times.lease_seconds(), seq, transitions, info: Some(info), now };
    object(kind, name, Some(version), &state)
}

/// Returns the object that gives a held lock back, for those who may not delete it.
pub fn released_object(
    kind: Kind,
    name: &Name,
    (version, seq, transitions): (&Version, u64, u64),
    now: &str,
) -> Json {
    let state = State { holder: "", seconds: 1, seq, transitions, info: None, now };
    object(kind, name, Some(version), &state)
}

fn object(kind: Kind, name: &Name, version: Option<&Version>, state: &State<'_>) -> Json {
    let info = state.info.and_then(|info| serde_json::to_string(info).ok()).unwrap_or_default();
    let mut metadata = json!({
        "name": name.object,
        "namespace": name.namespace,
        "labels": {"app.kubernetes.io/managed-by": "statectl", LOCK_LABEL: name.scope},
        "annotations": {INFO: info, SEQ: state.seq.to_string()},
    });
    if let Some(version) = version {
        metadata["uid"] = version.uid.as_str().into();
        metadata["resourceVersion"] = version.resource_version.as_str().into();
    }
    match kind {
        Kind::Lease => json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": metadata,
            "spec": {
                "holderIdentity": state.holder,
                "leaseDurationSeconds": state.seconds,
                "leaseTransitions": state.transitions,
                "renewTime": state.now,
            },
        }),
        Kind::Secret => {
            let notes = &mut metadata["annotations"];
            notes[HOLDER] = state.holder.into();
            notes[SECONDS] = state.seconds.to_string().into();
            notes[TRANSITIONS] = state.transitions.to_string().into();
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": SECRET_TYPE})
        }
    }
}
