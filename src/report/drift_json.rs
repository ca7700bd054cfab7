//! `statectl.drift/v1`.

use serde::Serialize;

use super::plan_json::pretty;
use crate::model::ClusterIdentity;
use crate::plan::{Addition, ChangedField, Drift, ObjectDrift, ReleaseDrift, Standing};

#[derive(Serialize)]
struct Report<'a> {
    format: &'static str,
    cluster: &'a ClusterIdentity,
    context: &'a str,
    strict: bool,
    drift: bool,
    releases: Vec<Release<'a>>,
}

#[derive(Serialize)]
struct Release<'a> {
    namespace: &'a str,
    name: &'a str,
    app: &'a str,
    standing: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    newest: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<&'a str>,
    compared: usize,
    objects: Vec<Object<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Object<'a> {
    api_version: String,
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<&'a str>,
    name: &'a str,
    standing: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<&'a str>,
    fields: Vec<Field<'a>>,
    added: Vec<Added<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

#[derive(Serialize)]
struct Field<'a> {
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    live: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    manager: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<&'a str>,
}

#[derive(Serialize)]
struct Added<'a> {
    path: &'a str,
    grade: &'static str,
    manager: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    since: &'a str,
}

/// Returns the report as one JSON document with a final newline: objects with something to tell.
pub fn drift_json(drift: &Drift) -> String {
    pretty(&Report {
        format: "statectl.drift/v1",
        cluster: &drift.cluster,
        context: &drift.context,
        strict: drift.strict,
        drift: drift.is_drift(),
        releases: drift.releases.iter().map(|one| release(one, drift.strict)).collect(),
    })
}

fn release(release: &ReleaseDrift, strict: bool) -> Release<'_> {
    let told = |object: &&ObjectDrift| object.standing != Standing::Clean || !object.additions.is_empty();
    Release {
        namespace: &release.key.namespace,
        name: &release.key.name,
        app: &release.app,
        standing: release.standing(strict),
        revision: release.revision,
        newest: release.newest,
        problem: release.problem.as_deref(),
        compared: release.objects.len(),
        objects: release.objects.iter().filter(told).map(object).collect(),
    }
}

fn object(object: &ObjectDrift) -> Object<'_> {
    let (standing, problem) = match &object.standing {
        Standing::Clean => ("clean", None),
        Standing::Changed => ("changed", None),
        Standing::Missing => ("missing", None),
        Standing::Unknown(why) => ("unknown", Some(why.as_str())),
    };
    Object {
        api_version: object.key.gvk.api_version(),
        kind: &object.key.gvk.kind,
        namespace: object.key.namespace.as_deref(),
        name: &object.key.name,
        standing,
        problem,
        fields: object.fields.iter().map(field).collect(),
        added: object.additions.iter().map(added).collect(),
        diff: (!object.diff.is_empty()).then(|| object.diff.text.to_string()),
    }
}

fn field(field: &ChangedField) -> Field<'_> {
    Field {
        path: &field.path,
        recorded: field.recorded.as_deref(),
        live: field.live.as_deref(),
        manager: field.manager.as_deref(),
        since: field.since.as_deref(),
    }
}

fn added(addition: &Addition) -> Added<'_> {
    Added {
        path: &addition.path,
        grade: if addition.is_value { "value" } else { "field" },
        manager: &addition.manager,
        since: &addition.since,
    }
}
