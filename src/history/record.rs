//! A release record as an API object: a Secret, or a ConfigMap with Helm's `configmap` driver.
//!
//! Source: Helm `pkg/storage/driver/{secrets,cfgmaps}.go`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value as Json, json};

use super::json::FieldError;
use super::labels::{self, user_labels};
use super::payload::{self, PayloadError, RECORD_LIMIT};
use super::release::{Release, decode_release, encode_release};
use crate::model::ReleaseKey;
use crate::value::json::{JsonError, Numbers, from_slice};

const NAME_PREFIX: &str = "sh.helm.release.v1.";
const SECRET_TYPE: &str = "helm.sh/release.v1";

/// The kind of object that records are kept in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Storage {
    /// Secrets, Helm's default.
    #[default]
    Secret,
    /// ConfigMaps (`HELM_DRIVER=configmap`).
    ConfigMap,
}

impl Storage {
    /// Returns the kind of the objects.
    pub fn kind(self) -> &'static str {
        match self {
            Storage::Secret => "Secret",
            Storage::ConfigMap => "ConfigMap",
        }
    }
}

/// Returns the name of the object that holds a revision.
pub fn object_name(release: &str, revision: u64) -> String {
    format!("{NAME_PREFIX}{release}.v{revision}")
}

/// Returns release and revision from the name of a record's object; nothing for other objects.
pub fn parse_object_name(name: &str) -> Option<(&str, u64)> {
    let (release, revision) = name.strip_prefix(NAME_PREFIX)?.rsplit_once(".v")?;
    let digits = !revision.is_empty() && revision.bytes().all(|byte| byte.is_ascii_digit());
    (digits && !release.is_empty()).then_some(())?;
    Some((release, revision.parse().ok()?))
}

/// One readable record and what identifies its object.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The release; its own members win over what the labels say.
    pub release: Release,
    /// Where it is kept.
    pub storage: Storage,
    /// The namespace of the object.
    pub namespace: String,
    /// The object's name. Its revision number can differ from the release's own in damaged histories.
    pub object: String,
    /// All labels of the object.
    pub labels: BTreeMap<String, String>,
    /// All annotations; Helm drops them when it writes the record.
    pub annotations: BTreeMap<String, String>,
    /// When the server made the object, by its own clock; empty where it is not known.
    pub created: String,
    /// When the server stored it last, by the server's own clock; nothing where it does not say.
    pub written_at: Option<Timestamp>,
    /// The field manager that wrote it last; empty where the server does not say.
    pub manager: String,
    /// The object's version, for writing only over what was read.
    pub resource_version: String,
    /// The object's identity.
    pub uid: String,
    /// Why the API server will refuse every change of this object, if it will.
    pub frozen: Option<&'static str>,
}

impl Record {
    /// Returns the release's key, as Helm finds it: by namespace of the object and by label.
    pub fn key(&self) -> ReleaseKey {
        let name = self.labels.get(labels::NAME).unwrap_or(&self.release.name);
        ReleaseKey::new(&self.namespace, name)
    }

    /// Returns the context that owns the release, if one is marked.
    pub fn context(&self) -> Option<&str> {
        labels::context_of(&self.labels)
    }
}

/// An object that has the name of a record but that Helm cannot read. It still occupies its revision number:
/// Helm answers `release: already exists` when it comes to it.
#[derive(Debug)]
pub struct Undecodable {
    /// Where it is kept.
    pub storage: Storage,
    /// The object's name.
    pub object: String,
    /// The namespace and the name of the release it would belong to.
    pub key: ReleaseKey,
    /// The revision number it occupies.
    pub revision: u64,
    /// What is wrong with it.
    pub why: DecodeError,
}

/// Why Helm does not see a record, or breaks on it.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// A label by which Helm selects records is missing or different.
    #[error("its label `{label}` is {found}, so Helm does not find it")]
    Label {
        /// The label.
        label: &'static str,
        /// Its value in quotes, or `missing`.
        found: String,
    },
    /// The object has no payload.
    #[error("it has no text under data.release")]
    NoPayload,
    /// The Secret's own base64 layer is damaged.
    #[error("its data.release is not base64")]
    Data(#[source] base64::DecodeError),
    /// The payload cannot be unpacked.
    #[error("its payload cannot be unpacked")]
    Payload(#[from] PayloadError),
    /// The payload is not JSON.
    #[error("its payload is not JSON")]
    Json(#[from] JsonError),
    /// A member has the wrong type.
    #[error("its payload is not a release")]
    Field(#[from] FieldError),
    /// Every helm command in the namespace crashes on such a record.
    #[error("its payload has no `info`, on which helm crashes")]
    NoInfo,
}

/// Reads one object of a LIST; nothing if its name is not that of a release record.
///
/// # Errors
/// The object is named like a record, but Helm cannot read it.
pub fn decode(storage: Storage, object: &Json) -> Option<Result<Record, Undecodable>> {
    let metadata = object.get("metadata")?;
    let name = metadata.get("name")?.as_str()?;
    let (release, revision) = parse_object_name(name)?;
    let namespace = metadata.get("namespace").and_then(Json::as_str).unwrap_or_default();
    Some(decode_object(storage, object, name, release, namespace).map_err(|why| Undecodable {
        storage,
        object: name.to_owned(),
        key: ReleaseKey::new(namespace, release),
        revision,
        why,
    }))
}

fn decode_object(
    storage: Storage,
    object: &Json,
    name: &str,
    release_name: &str,
    namespace: &str,
) -> Result<Record, DecodeError> {
    let metadata = &object["metadata"];
    let text = |key: &str| metadata.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
    let labels = string_map(&metadata["labels"]);
    for (label, expected) in [(labels::OWNER, labels::HELM), (labels::NAME, release_name)] {
        let found = labels.get(label);
        if found.is_none_or(|found| found != expected) {
            let found = found.map_or_else(|| "missing".to_owned(), |found| format!("`{found}`"));
            return Err(DecodeError::Label { label, found });
        }
    }
    let stored = object.get("data").and_then(|data| data.get("release")?.as_str());
    let stored = stored.filter(|text| !text.is_empty()).ok_or(DecodeError::NoPayload)?;
    let json = match storage {
        Storage::ConfigMap => payload::unpack(stored)?,
        Storage::Secret => {
            let inner = payload::decode_base64(stored).map_err(DecodeError::Data)?;
            payload::unpack(&String::from_utf8_lossy(&inner))?
        }
    };
    let (mut release, has_info) = decode_release(from_slice(&json, Numbers::Typed)?)?;
    if !has_info {
        return Err(DecodeError::NoInfo);
    }
    if release.name.is_empty() {
        release_name.clone_into(&mut release.name);
    }
    if release.namespace.is_empty() {
        namespace.clone_into(&mut release.namespace);
    }
    let frozen = if object.get("immutable").and_then(Json::as_bool) == Some(true) {
        Some("the object is marked immutable")
    } else if storage == Storage::Secret && object.get("type").and_then(Json::as_str) != Some(SECRET_TYPE) {
        Some("the Secret is not of type helm.sh/release.v1")
    } else {
        None
    };
    let (written_at, manager) = last_write(metadata);
    Ok(Record {
        release,
        storage,
        namespace: namespace.to_owned(),
        object: name.to_owned(),
        labels,
        annotations: string_map(&metadata["annotations"]),
        created: text("creationTimestamp"),
        written_at,
        manager,
        resource_version: text("resourceVersion"),
        uid: text("uid"),
        frozen,
    })
}

/// Returns when an object was stored last, and by whom, as the server notes it in `managedFields`.
fn last_write(metadata: &Json) -> (Option<Timestamp>, String) {
    let time = |value: &Json| value.as_str().and_then(|text| text.parse::<Timestamp>().ok());
    let entries = metadata["managedFields"].as_array().into_iter().flatten();
    let newest = entries.filter_map(|entry| Some((time(&entry["time"])?, entry))).max_by_key(|(at, _)| *at);
    let manager = newest.map(|(_, entry)| entry["manager"].as_str().unwrap_or_default().to_owned());
    let at = newest.map(|(at, _)| at).into_iter().chain(time(&metadata["creationTimestamp"])).max();
    (at, manager.unwrap_or_default())
}

fn string_map(json: &Json) -> BTreeMap<String, String> {
    let members = json.as_object().into_iter().flatten();
    members.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

/// Why a release cannot be recorded.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// It does not fit one object of the API server.
    #[error(
        "the record of revision {revision} needs {size} bytes, and the API server takes {RECORD_LIMIT} (before \
         compression: {parts})"
    )]
    TooLarge {
        /// The revision.
        revision: u64,
        /// The size of the compressed payload.
        size: usize,
        /// What it is made of, largest first.
        parts: String,
    },
    /// Its values have no JSON form.
    #[error("the record of revision {revision} cannot be written as JSON")]
    Json {
        /// The revision.
        revision: u64,
        /// Why.
        #[source]
        source: JsonError,
    },
}

/// Returns the object to POST for a new revision. `labels` are the labels beside Helm's own; those that
/// Helm's storage sets itself are ignored.
///
/// # Errors
/// The release is larger than one object can be, or has values that no JSON holds.
pub fn new_object(
    storage: Storage,
    release: &Release,
    labels: &BTreeMap<String, String>,
    now: Timestamp,
) -> Result<Json, EncodeError> {
    let name = object_name(&release.name, release.version);
    let labels = all_labels(release, &release.name, labels, (labels::CREATED_AT, now));
    body(storage, release, json!({ "name": name, "namespace": release.namespace, "labels": labels }))
}

/// Returns the object to PUT for a changed record. It replaces only the version that was read.
///
/// # Errors
/// The release is larger than one object can be, or has values that no JSON holds.
pub fn updated_object(record: &Record, now: Timestamp) -> Result<Json, EncodeError> {
    let release = &record.release;
    let name = parse_object_name(&record.object).map_or(release.name.as_str(), |(name, _)| name);
    let labels = all_labels(release, name, &record.labels, (labels::MODIFIED_AT, now));
    let mut metadata = json!({
        "name": record.object,
        "namespace": record.namespace,
        "labels": labels,
        "resourceVersion": record.resource_version,
        "uid": record.uid,
    });
    if !record.annotations.is_empty() {
        metadata["annotations"] = json!(record.annotations);
    }
    body(record.storage, release, metadata)
}

fn all_labels(
    release: &Release,
    name: &str,
    labels: &BTreeMap<String, String>,
    (time_label, now): (&str, Timestamp),
) -> BTreeMap<String, String> {
    let version = release.version.to_string();
    let seconds = now.as_second().to_string();
    let own = [
        (labels::NAME, name),
        (labels::OWNER, labels::HELM),
        (labels::STATUS, release.info.status.as_str()),
        (labels::VERSION, &version),
        (time_label, &seconds),
    ];
    let mut all = user_labels(labels);
    all.extend(own.map(|(key, value)| (key.to_owned(), value.to_owned())));
    all
}

fn body(storage: Storage, release: &Release, metadata: Json) -> Result<Json, EncodeError> {
    let revision = release.version;
    let json = encode_release(release).map_err(|source| EncodeError::Json { revision, source })?;
    let payload = payload::pack(json.as_bytes());
    if payload.len() > RECORD_LIMIT {
        return Err(EncodeError::TooLarge { revision, size: payload.len(), parts: parts(release) });
    }
    let mut object = json!({ "apiVersion": "v1", "kind": storage.kind(), "metadata": metadata });
    match storage {
        Storage::Secret => {
            object["type"] = SECRET_TYPE.into();
            object["data"] = json!({ "release": payload::encode_base64(payload.as_bytes()) });
        }
        Storage::ConfigMap => object["data"] = json!({ "release": payload }),
    }
    Ok(object)
}

/// Says what a release is made of, so that a person sees what to take out of the chart.
fn parts(release: &Release) -> String {
    let sum = |files: &[super::File]| files.iter().map(|file| file.data.len()).sum::<usize>();
    let chart = release.chart.as_ref();
    let mut parts = [
        ("manifest", release.manifest.len()),
        ("hooks", release.hooks.iter().map(|hook| hook.manifest.len()).sum()),
        ("chart templates", chart.map_or(0, |chart| sum(&chart.templates))),
        ("other chart files", chart.map_or(0, |chart| sum(&chart.files))),
    ];
    parts.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
    let shown: Vec<String> = parts.iter().map(|(what, size)| format!("{what} {size}")).collect();
    shown.join(", ")
}
