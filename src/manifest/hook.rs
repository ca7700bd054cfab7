//! The annotations that make a document a hook.

use std::collections::BTreeMap;

use crate::go::strconv;

/// The annotation with the events of a hook.
const HOOK: &str = "helm.sh/hook";
const WEIGHT: &str = "helm.sh/hook-weight";
const DELETE_POLICY: &str = "helm.sh/hook-delete-policy";
const OUTPUT_LOG_POLICY: &str = "helm.sh/hook-output-log-policy";

/// What a document is to a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// A part of the release.
    Manifest,
    /// Something to run at certain events.
    Hook(Hook),
    /// A hook of which one event, as given here, is unknown: Helm drops the document.
    UnknownHook(String),
}

/// What the annotations of a hook say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hook {
    /// When it runs; an event given twice is there twice.
    pub events: Vec<HookEvent>,
    /// Its place among the hooks of an event; what is no integer is zero.
    pub weight: i64,
    /// When its object is deleted; none given is not the same as the default, which is applied when it runs.
    pub delete_policies: Vec<DeletePolicy>,
    /// When its logs are shown.
    pub output_log_policies: Vec<OutputLogPolicy>,
}

/// An event at which hooks run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HookEvent {
    /// Before the objects of a first revision are created.
    PreInstall,
    /// After that.
    PostInstall,
    /// Before a release is uninstalled.
    PreDelete,
    /// After that.
    PostDelete,
    /// Before a revision replaces another.
    PreUpgrade,
    /// After that.
    PostUpgrade,
    /// Before an earlier revision comes back.
    PreRollback,
    /// After that.
    PostRollback,
    /// When the release is tested.
    Test,
}

impl HookEvent {
    /// Returns Helm's word for the event, which is also what records hold.
    pub fn as_str(self) -> &'static str {
        match self {
            HookEvent::PreInstall => "pre-install",
            HookEvent::PostInstall => "post-install",
            HookEvent::PreDelete => "pre-delete",
            HookEvent::PostDelete => "post-delete",
            HookEvent::PreUpgrade => "pre-upgrade",
            HookEvent::PostUpgrade => "post-upgrade",
            HookEvent::PreRollback => "pre-rollback",
            HookEvent::PostRollback => "post-rollback",
            HookEvent::Test => "test",
        }
    }

    /// Returns the event of a word; `test-success` is Helm 2's word for a test.
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "pre-install" => HookEvent::PreInstall,
            "post-install" => HookEvent::PostInstall,
            "pre-delete" => HookEvent::PreDelete,
            "post-delete" => HookEvent::PostDelete,
            "pre-upgrade" => HookEvent::PreUpgrade,
            "post-upgrade" => HookEvent::PostUpgrade,
            "pre-rollback" => HookEvent::PreRollback,
            "post-rollback" => HookEvent::PostRollback,
            "test" | "test-success" => HookEvent::Test,
            _ => return None,
        })
    }
}

/// When the object of a hook is deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeletePolicy {
    /// Before the hook runs again.
    BeforeHookCreation,
    /// After it succeeded.
    HookSucceeded,
    /// After it failed.
    HookFailed,
    /// A word that Helm keeps but does not act on.
    Other(String),
}

impl DeletePolicy {
    /// Returns Helm's word, which is also what records hold.
    pub fn as_str(&self) -> &str {
        match self {
            DeletePolicy::BeforeHookCreation => "before-hook-creation",
            DeletePolicy::HookSucceeded => "hook-succeeded",
            DeletePolicy::HookFailed => "hook-failed",
            DeletePolicy::Other(word) => word,
        }
    }

    /// Returns the policy of a word.
    pub fn parse(word: &str) -> Self {
        match word {
            "before-hook-creation" => DeletePolicy::BeforeHookCreation,
            "hook-succeeded" => DeletePolicy::HookSucceeded,
            "hook-failed" => DeletePolicy::HookFailed,
            other => DeletePolicy::Other(other.to_owned()),
        }
    }
}

/// When the logs of a hook are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputLogPolicy {
    /// After it succeeded.
    HookSucceeded,
    /// After it failed.
    HookFailed,
    /// A word that Helm keeps but does not act on.
    Other(String),
}

impl OutputLogPolicy {
    /// Returns Helm's word, which is also what records hold.
    pub fn as_str(&self) -> &str {
        match self {
            OutputLogPolicy::HookSucceeded => "hook-succeeded",
            OutputLogPolicy::HookFailed => "hook-failed",
            OutputLogPolicy::Other(word) => word,
        }
    }

    /// Returns the policy of a word.
    pub fn parse(word: &str) -> Self {
        match word {
            "hook-succeeded" => OutputLogPolicy::HookSucceeded,
            "hook-failed" => OutputLogPolicy::HookFailed,
            other => OutputLogPolicy::Other(other.to_owned()),
        }
    }
}

/// Tells what a document with these annotations is.
///
/// Source: Helm `pkg/release/v1/util/manifest_sorter.go`.
pub(super) fn role(annotations: &BTreeMap<String, String>) -> Role {
    let Some(given) = annotations.get(HOOK) else { return Role::Manifest };
    let events: Option<Vec<_>> = words(given).map(|word| HookEvent::parse(&word)).collect();
    let Some(events) = events else { return Role::UnknownHook(given.clone()) };
    let list = |annotation: &str| annotations.get(annotation).into_iter().flat_map(|given| words(given));
    Role::Hook(Hook {
        events,
        weight: annotations.get(WEIGHT).and_then(|weight| strconv::atoi(weight).ok()).unwrap_or(0),
        delete_policies: list(DELETE_POLICY).map(|word| DeletePolicy::parse(&word)).collect(),
        output_log_policies: list(OUTPUT_LOG_POLICY).map(|word| OutputLogPolicy::parse(&word)).collect(),
    })
}

fn words(list: &str) -> impl Iterator<Item = String> + '_ {
    list.split(',').map(|word| word.trim().to_lowercase())
}
