//! The shape of a file: exactly the keys that somebody gave, each with its position.
//!
//! `None` means "not given". [`super::resolve`] makes the complete state from it.

use super::hooks::{RawCommand, RawHooks};
use super::limits::Limit;
use super::state::{
    Adopt, ConflictRule, Crds, ForceKind, IgnoreRule, Lock, LockQueue, MaxPrune, NeedWhen, ObjectName,
    OnError, OnFailure, OnInterrupted, OnRemove, Patience, ReadyRule, Recover, Sequencing,
};
use super::tree::Text;
use super::webhooks::Webhook;
use super::windows::Window;
use crate::model::{ReleaseKey, Selector};
use crate::text::Span;
use crate::value::Map;
use std::collections::BTreeMap;
use std::time::Duration;

/// A value and where it was given.
#[derive(Clone, Debug)]
pub(super) struct At<T> {
    pub(super) value: T,
    pub(super) span: Span,
}

pub(super) type Given<T> = Option<At<T>>;

/// Text by free names, in the order of the file.
pub(super) type TextMap = Vec<(At<Text>, At<Text>)>;

#[derive(Clone, Debug, Default)]
pub(super) struct RawFile {
    pub(super) context: Given<Text>,
    pub(super) metadata: TextMap,
    pub(super) settings: RawSettings,
    pub(super) namespaces: RawNamespaces,
    pub(super) repositories: Vec<RawRepository>,
    pub(super) preconfigured: Vec<At<Text>>,
    pub(super) certificates: RawCertificates,
    pub(super) apps: Vec<(At<Text>, RawApp)>,
    pub(super) moved: Vec<RawMoved>,
}

/// Certificates and a key for a cluster that the file describes by itself.
#[derive(Clone, Debug, Default)]
pub(super) struct RawCertificates {
    pub(super) ca_crt: Given<Text>,
    pub(super) ca_key: Given<Text>,
    pub(super) ca_client: Given<Text>,
}

/// A release that got another name.
#[derive(Clone, Debug)]
pub(super) struct RawMoved {
    pub(super) path: String,
    pub(super) from: At<ReleaseKey>,
    pub(super) to: At<ReleaseKey>,
}

#[derive(Clone, Debug, Default)]
pub(super) enum RawNamespaces {
    #[default]
    Missing,
    /// Given, but not as a table: a problem of its own.
    Unreadable,
    Declared(Vec<(At<Text>, RawNamespace)>),
}

#[derive(Clone, Debug, Default)]
pub(super) struct RawSettings {
    pub(super) windows: Vec<Window>,
    pub(super) webhooks: Vec<Webhook>,
    pub(super) skip_pending: Given<bool>,
    pub(super) kube_context: Given<Text>,
    pub(super) expect_server: Given<Text>,
    pub(super) expect_uid: Given<Text>,
    pub(super) expect_context: Given<Text>,
    pub(super) parallel: Given<i64>,
    pub(super) run_history: Given<i64>,
    pub(super) timeout: Given<Duration>,
    pub(super) lock: Given<Lock>,
    pub(super) lock_wait: Given<Duration>,
    pub(super) lock_queue: Given<LockQueue>,
    pub(super) recover: Given<Recover>,
    pub(super) lease_duration: Given<Duration>,
    pub(super) foreign_pending_after: Given<Patience>,
    pub(super) on_interrupted: Given<OnInterrupted>,
    pub(super) fence_taken_over: Given<bool>,
    pub(super) on_failure: Given<OnFailure>,
    pub(super) on_error: Given<OnError>,
    pub(super) max_prune: Given<MaxPrune>,
    pub(super) reverse_delete: Given<bool>,
    pub(super) global_max_history: Given<i64>,
    pub(super) storage_backend: Given<Text>,
    pub(super) cluster_uri: Given<Text>,
    pub(super) bearer_token: Given<bool>,
    pub(super) bearer_token_path: Given<Text>,
    pub(super) eyaml_enabled: Given<bool>,
    pub(super) eyaml_private_key: Given<Text>,
    pub(super) labels_authoritative: Given<bool>,
    pub(super) hooks: RawHooks,
}

#[derive(Clone, Debug, Default)]
pub(super) struct RawNamespace {
    pub(super) protected: Given<bool>,
    pub(super) labels: TextMap,
    pub(super) annotations: TextMap,
    pub(super) limits: Vec<Limit>,
    pub(super) quotas: BTreeMap<String, String>,
}

/// An app together with the defaults and templates that it starts from.
#[derive(Clone, Debug, Default)]
pub(super) struct RawApp {
    /// The position of each given key.
    pub(super) origins: Vec<(&'static str, Span)>,
    pub(super) name: Given<Text>,
    pub(super) namespace: Given<Text>,
    pub(super) enabled: Given<bool>,
    pub(super) chart: Given<Text>,
    pub(super) version: Given<Text>,
    pub(super) verify: RawVerify,
    pub(super) description: Given<Text>,
    pub(super) group: Given<Text>,
    pub(super) kube_context: Given<Text>,
    pub(super) labels: TextMap,
    pub(super) values_file: Given<Text>,
    pub(super) values_files: Vec<At<Text>>,
    pub(super) secrets_files: Vec<At<Text>>,
    pub(super) values: Map,
    pub(super) set: TextMap,
    pub(super) set_string: TextMap,
    pub(super) set_file: TextMap,
    pub(super) priority: Given<i64>,
    pub(super) needs: Vec<RawNeed>,
    pub(super) wait_for: Vec<RawWaitFor>,
    pub(super) ready: Vec<ReadyRule>,
    pub(super) wait: Given<bool>,
    pub(super) timeout: Given<Duration>,
    pub(super) test: Given<bool>,
    pub(super) max_history: Given<i64>,
    pub(super) no_hooks: Given<bool>,
    pub(super) max_failures: Given<i64>,
    pub(super) crds: Given<Crds>,
    pub(super) sequencing: Given<Sequencing>,
    pub(super) on_failure: Given<OnFailure>,
    pub(super) protected: Given<bool>,
    pub(super) force: Given<Vec<ForceKind>>,
    pub(super) allow_data_loss: Vec<ObjectName>,
    pub(super) on_remove: Given<OnRemove>,
    pub(super) adopt: Given<Adopt>,
    pub(super) create_only: Vec<ObjectName>,
    pub(super) helm_flags: Vec<At<Text>>,
    pub(super) hooks: RawHooks,
    pub(super) post_renderer: Option<RawCommand>,
    pub(super) field_conflicts: Vec<ConflictRule>,
    pub(super) ignore: Vec<IgnoreRule>,
    pub(super) restart_on_config: Given<bool>,
    pub(super) unstick: Given<bool>,
}

/// An object to wait for; without a namespace that of the release is meant.
#[derive(Clone, Debug)]
pub(super) struct RawWaitFor {
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) namespace: Option<String>,
}

#[derive(Clone, Debug)]
pub(super) struct RawNeed {
    pub(super) target: At<RawTarget>,
    /// Where it is stated.
    pub(super) path: String,
    /// The text that messages may show.
    pub(super) shown: String,
    pub(super) when: NeedWhen,
}

/// Who has to have made a chart.
#[derive(Clone, Debug, Default)]
pub(super) struct RawVerify {
    pub(super) keyring: Given<Text>,
    pub(super) cosign_key: Given<Text>,
    pub(super) cosign_identity: Given<Text>,
    pub(super) cosign_issuer: Given<Text>,
}

/// A chart repository.
#[derive(Clone, Debug)]
pub(super) struct RawRepository {
    pub(super) name: At<Text>,
    pub(super) url: At<Text>,
    /// The table that declares it.
    pub(super) section: &'static str,
    pub(super) ca_file: Given<Text>,
    /// Certificate and key of the client.
    pub(super) identity: (Given<Text>, Given<Text>),
    pub(super) username_from: Given<Text>,
    pub(super) password_from: Given<Text>,
}

/// What a release needs.
#[derive(Clone, Debug)]
pub(super) enum RawTarget {
    /// One release.
    Release(ReleaseKey),
    /// Every release with these labels.
    Labels(Selector),
}
