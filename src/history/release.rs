//! A release as one record holds it.
//!
//! Typed where this program reads or changes something, plain JSON where it only passes data on. Member order
//! when writing is Helm 4's. Source: Helm `pkg/release/v1`, `pkg/chart/v2`.

use std::fmt;

use super::Time;
use super::json::{self, FieldError, Fields, Node, Object, Shape, with_floats};
use super::payload::encode_base64;
use crate::value::json::JsonError;
use crate::value::{Map, Value};

/// One revision of a release.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Release {
    /// The release's name.
    pub name: String,
    /// State, times and texts.
    pub info: Info,
    /// The chart it was rendered from; nothing in records that lost it, which Helm reads too.
    pub chart: Option<Chart>,
    /// The user's values, after merging, before the chart's defaults.
    pub config: Map,
    /// The rendered objects without hooks, as one YAML text.
    pub manifest: String,
    /// The rendered hooks, in the order in which Helm lists them.
    pub hooks: Vec<Hook>,
    /// The revision number.
    pub version: u64,
    /// The namespace of the release.
    pub namespace: String,
    /// How the objects were applied: `ssa`, `csa`, or empty (which Helm 4 takes as `csa`).
    pub apply_method: String,
    /// Members this program does not know.
    pub unknown: Map,
}

impl Release {
    /// Tells whether Helm 4 would go on with server-side apply after this revision.
    pub fn is_server_side(&self) -> bool {
        self.apply_method == "ssa"
    }
}

/// State, times and texts of a revision.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Info {
    /// When the release was first installed.
    pub first_deployed: Option<Time>,
    /// When this revision was made.
    pub last_deployed: Option<Time>,
    /// When the release was uninstalled.
    pub deleted: Option<Time>,
    /// What happened, for people.
    pub description: String,
    /// The state.
    pub status: Status,
    /// The revision a rollback went back to; 0 for other operations.
    pub rollback_revision: u64,
    /// The rendered notes.
    pub notes: String,
    /// Members this program does not know.
    pub unknown: Map,
}

/// The state of a revision. Source: Helm `pkg/release/common/status.go`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// Unknown, also for records without a status.
    #[default]
    Unknown,
    /// The revision that is live.
    Deployed,
    /// Uninstalled with its history kept.
    Uninstalled,
    /// Was deployed; a later revision is.
    Superseded,
    /// The operation that made it failed.
    Failed,
    /// Being uninstalled, or an uninstall that stopped half-way.
    Uninstalling,
    /// Being installed, or an install that stopped half-way.
    PendingInstall,
    /// Being upgraded, or an upgrade that stopped half-way.
    PendingUpgrade,
    /// Being rolled back, or a rollback that stopped half-way.
    PendingRollback,
    /// A text that no Helm version writes.
    Other(String),
}

impl Status {
    const NAMES: [(Status, &'static str); 9] = [
        (Status::Unknown, "unknown"),
        (Status::Deployed, "deployed"),
        (Status::Uninstalled, "uninstalled"),
        (Status::Superseded, "superseded"),
        (Status::Failed, "failed"),
        (Status::Uninstalling, "uninstalling"),
        (Status::PendingInstall, "pending-install"),
        (Status::PendingUpgrade, "pending-upgrade"),
        (Status::PendingRollback, "pending-rollback"),
    ];

    /// Returns Helm's word for the state.
    pub fn as_str(&self) -> &str {
        match self {
            Status::Other(text) => text,
            known => Self::NAMES.iter().find(|(status, _)| status == known).map_or("", |(_, name)| name),
        }
    }

    /// Tells whether an operation is under way, or was interrupted. Helm refuses to upgrade such a release.
    pub fn is_pending(&self) -> bool {
        matches!(self, Status::PendingInstall | Status::PendingUpgrade | Status::PendingRollback)
    }

    fn read(text: String) -> Self {
        match Self::NAMES.iter().find(|(_, name)| *name == text) {
            Some((status, _)) => status.clone(),
            None if text.is_empty() => Status::Unknown,
            None => Status::Other(text),
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A chart as a record holds it: without its subcharts, so it cannot be rendered again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    /// `Chart.yaml` after dependency processing, with Helm's JSON member names.
    pub metadata: Option<Map>,
    /// `Chart.lock`.
    pub lock: Option<Map>,
    /// The templates, with the chart's own paths.
    pub templates: Vec<File>,
    /// The defaults after dependency processing.
    pub values: Option<Map>,
    /// `values.schema.json`.
    pub schema: Option<Vec<u8>>,
    /// Modification time of the schema. Helm 4 writes the year 1 when there is no schema.
    pub schema_modified: Option<Time>,
    /// All other files that are not ignored.
    pub files: Vec<File>,
    /// Modification time of `Chart.yaml`.
    pub modified: Option<Time>,
    /// Members this program does not know.
    pub unknown: Map,
}

impl Chart {
    /// Returns a text member of `Chart.yaml`; empty if there is none.
    pub fn metadata_text(&self, key: &str) -> &str {
        self.metadata.as_ref().and_then(|map| map.get(key)?.as_str()).unwrap_or_default()
    }

    /// Tells whether two charts are the same but for the times of their files.
    pub fn has_same_content(&self, other: &Chart) -> bool {
        let same = |a: &[File], b: &[File]| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.name == b.name && a.data == b.data)
        };
        self.metadata_text("name") == other.metadata_text("name")
            && self.metadata_text("version") == other.metadata_text("version")
            && same(&self.templates, &other.templates)
            && same(&self.files, &other.files)
            && self.schema == other.schema
    }

    /// Returns the chart's name; empty in records that lost it.
    pub fn name(&self) -> &str {
        self.metadata_text("name")
    }

    /// Returns the chart's version; empty in records that lost it.
    pub fn version(&self) -> &str {
        self.metadata_text("version")
    }

    /// Returns an annotation of the chart, if it has it.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        match self.metadata.as_ref()?.get("annotations")? {
            Value::Map(annotations) => annotations.get(key)?.as_str(),
            _ => None,
        }
    }

    /// Returns the version of the packaged software, if the chart names one.
    pub fn app_version(&self) -> &str {
        self.metadata_text("appVersion")
    }
}

/// A file of a chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct File {
    /// The path inside the chart.
    pub name: String,
    /// The content.
    pub data: Vec<u8>,
    /// Modification time (Helm 4).
    pub modified: Option<Time>,
    /// Members this program does not know.
    pub unknown: Map,
}

impl File {
    /// Returns a file.
    pub fn new(name: impl Into<String>, data: impl Into<Vec<u8>>, modified: Option<Time>) -> Self {
        Self { name: name.into(), data: data.into(), modified, unknown: Map::new() }
    }
}

/// A rendered hook and its last run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hook {
    /// `metadata.name`.
    pub name: String,
    /// `kind`.
    pub kind: String,
    /// The template's path, with the chart's name in front.
    pub path: String,
    /// The YAML text.
    pub manifest: String,
    /// When it runs, such as `pre-install`.
    pub events: Vec<String>,
    /// The last run.
    pub last_run: HookRun,
    /// Order among the hooks of an event.
    pub weight: i64,
    /// When its object is deleted.
    pub delete_policies: Vec<String>,
    /// When its logs are shown.
    pub output_log_policies: Vec<String>,
    /// Members this program does not know.
    pub unknown: Map,
}

/// The last run of a hook.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookRun {
    /// When it was started.
    pub started_at: Option<Time>,
    /// When it ended.
    pub completed_at: Option<Time>,
    /// How it went.
    pub phase: Phase,
    /// Members this program does not know.
    pub unknown: Map,
}

impl HookRun {
    /// Returns a run in `phase`.
    pub fn new(phase: Phase, started_at: Option<Time>, completed_at: Option<Time>) -> Self {
        Self { started_at, completed_at, phase, unknown: Map::new() }
    }
}

/// How far a run of a hook came. Source: Helm `pkg/release/v1/hook.go`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Never run.
    #[default]
    Never,
    /// Helm could not tell.
    Unknown,
    /// Started; a record that was never rewritten keeps this.
    Running,
    /// Ended well.
    Succeeded,
    /// Ended badly.
    Failed,
    /// A text that no Helm version writes.
    Other(String),
}

impl Phase {
    /// Returns Helm's word for the phase; empty for a hook that never ran.
    pub fn as_str(&self) -> &str {
        match self {
            Phase::Never => "",
            Phase::Unknown => "Unknown",
            Phase::Running => "Running",
            Phase::Succeeded => "Succeeded",
            Phase::Failed => "Failed",
            Phase::Other(text) => text,
        }
    }

    fn read(text: String) -> Self {
        match text.as_str() {
            "" => Phase::Never,
            "Unknown" => Phase::Unknown,
            "Running" => Phase::Running,
            "Succeeded" => Phase::Succeeded,
            "Failed" => Phase::Failed,
            _ => Phase::Other(text),
        }
    }
}

/// Reads a release from its JSON. Missing members get Go's zero values, as Helm reads them.
///
/// The second value tells whether `info` was there: Helm crashes on a record without it.
///
/// # Errors
/// A member of a type that Helm's reader refuses.
pub fn decode_release(json: Value) -> Result<(Release, bool), FieldError> {
    let Some(mut fields) = Fields::new("", json)? else {
        return Ok((Release::default(), false));
    };
    let info = fields.object("info")?;
    let has_info = info.is_some();
    let release = Release {
        name: fields.text("name")?,
        info: info.map_or(Ok(Info::default()), decode_info)?,
        chart: fields.object("chart")?.map(decode_chart).transpose()?,
        config: with_floats(fields.map("config")?.unwrap_or_default()),
        manifest: fields.text("manifest")?,
        hooks: fields.list("hooks", decode_hook)?.unwrap_or_default(),
        version: fields.revision("version")?,
        namespace: fields.text("namespace")?,
        apply_method: fields.text("apply_method")?,
        unknown: fields.rest(),
    };
    Ok((release, has_info))
}

fn decode_info(mut fields: Fields) -> Result<Info, FieldError> {
    Ok(Info {
        first_deployed: fields.time("first_deployed")?,
        last_deployed: fields.time("last_deployed")?,
        deleted: fields.time("deleted")?,
        description: fields.text("description")?,
        status: Status::read(fields.text("status")?),
        rollback_revision: fields.revision("rollback_revision")?,
        notes: fields.text("notes")?,
        unknown: fields.rest(),
    })
}

fn decode_chart(mut fields: Fields) -> Result<Chart, FieldError> {
    Ok(Chart {
        metadata: fields.map("metadata")?,
        lock: fields.map("lock")?,
        templates: fields.list("templates", decode_file)?.unwrap_or_default(),
        values: fields.map("values")?.map(with_floats),
        schema: fields.bytes("schema")?,
        schema_modified: fields.time("schemamodtime")?,
        files: fields.list("files", decode_file)?.unwrap_or_default(),
        modified: fields.time("modtime")?,
        unknown: fields.rest(),
    })
}

fn decode_file(path: &str, json: Value) -> Result<File, FieldError> {
    let Some(mut fields) = Fields::new(path, json)? else {
        return Ok(File::default());
    };
    Ok(File {
        name: fields.text("name")?,
        data: fields.bytes("data")?.unwrap_or_default(),
        modified: fields.time("modtime")?,
        unknown: fields.rest(),
    })
}

fn decode_hook(path: &str, json: Value) -> Result<Hook, FieldError> {
    let Some(mut fields) = Fields::new(path, json)? else {
        return Ok(Hook::default());
    };
    Ok(Hook {
        name: fields.text("name")?,
        kind: fields.text("kind")?,
        path: fields.text("path")?,
        manifest: fields.text("manifest")?,
        events: fields.texts("events")?,
        last_run: fields.object("last_run")?.map_or(Ok(HookRun::default()), decode_run)?,
        weight: fields.integer("weight")?,
        delete_policies: fields.texts("delete_policies")?,
        output_log_policies: fields.texts("output_log_policies")?,
        unknown: fields.rest(),
    })
}

fn decode_run(mut fields: Fields) -> Result<HookRun, FieldError> {
    Ok(HookRun {
        started_at: fields.time("started_at")?,
        completed_at: fields.time("completed_at")?,
        phase: Phase::read(fields.text("phase")?),
        unknown: fields.rest(),
    })
}

/// Writes the JSON that Helm 4 would write for this release, unknown members last.
///
/// # Errors
/// Values that have no JSON form: NaN and infinities.
pub fn encode_release(release: &Release) -> Result<String, JsonError> {
    let mut object = Object::default();
    object.put("name", release.name.as_str());
    object.put("info", encode_info(&release.info));
    if let Some(chart) = &release.chart {
        object.put("chart", encode_chart(chart));
    }
    if !release.config.is_empty() {
        object.put("config", Value::Map(release.config.clone()));
    }
    object.put_text("manifest", &release.manifest);
    if !release.hooks.is_empty() {
        object.put("hooks", Node::List(release.hooks.iter().map(encode_hook).collect()));
    }
    if release.version != 0 {
        object.put("version", number(release.version));
    }
    object.put_text("namespace", &release.namespace);
    object.put_text("apply_method", &release.apply_method);
    object.put_unknown(&release.unknown);
    json::write(&Node::Object(object))
}

fn number(revision: u64) -> Value {
    Value::Uint(revision)
}

fn encode_info(info: &Info) -> Object {
    let mut object = Object::default();
    object.put_time("first_deployed", info.first_deployed.as_ref());
    object.put_time("last_deployed", info.last_deployed.as_ref());
    object.put_time("deleted", info.deleted.as_ref());
    object.put("description", info.description.as_str());
    object.put("status", info.status.as_str());
    if info.rollback_revision != 0 {
        object.put("rollback_revision", number(info.rollback_revision));
    }
    object.put_text("notes", &info.notes);
    object.put_unknown(&info.unknown);
    object
}

/// Members of `Chart.yaml` in the order of Helm's struct.
const METADATA: Shape = Shape {
    keys: &[
        "name",
        "home",
        "sources",
        "version",
        "description",
        "keywords",
        "maintainers",
        "icon",
        "apiVersion",
        "condition",
        "tags",
        "appVersion",
        "deprecated",
        "annotations",
        "kubeVersion",
        "dependencies",
        "type",
    ],
    nested: &[
        ("maintainers", &Shape { keys: &["name", "email", "url"], nested: &[] }),
        ("dependencies", &DEPENDENCY),
    ],
};

const DEPENDENCY: Shape = Shape {
    keys: &["name", "version", "repository", "condition", "tags", "enabled", "import-values", "alias"],
    nested: &[],
};

const LOCK: Shape =
    Shape { keys: &["generated", "digest", "dependencies"], nested: &[("dependencies", &DEPENDENCY)] };

fn encode_chart(chart: &Chart) -> Object {
    let files = |files: &[File]| -> Node {
        // Go writes a slice that was never set as null.
        if files.is_empty() {
            Value::Null.into()
        } else {
            Node::List(files.iter().map(encode_file).collect())
        }
    };
    let ordered =
        |shape: &Shape, map: &Option<Map>| map.as_ref().map_or(Value::Null.into(), |map| shape.order(map));
    let mut object = Object::default();
    object.put("metadata", ordered(&METADATA, &chart.metadata));
    object.put("lock", ordered(&LOCK, &chart.lock));
    object.put("templates", files(&chart.templates));
    object.put("values", chart.values.as_ref().map_or(Value::Null, |values| Value::Map(values.clone())));
    object
        .put("schema", chart.schema.as_ref().map_or(Value::Null, |schema| Value::Str(encode_base64(schema))));
    object.put_time("schemamodtime", chart.schema_modified.as_ref());
    object.put("files", files(&chart.files));
    object.put_time("modtime", chart.modified.as_ref());
    object.put_unknown(&chart.unknown);
    object
}

fn encode_file(file: &File) -> Node {
    let mut object = Object::default();
    object.put("name", file.name.as_str());
    object.put("data", Value::Str(encode_base64(&file.data)));
    object.put_time("modtime", file.modified.as_ref());
    object.put_unknown(&file.unknown);
    object.into()
}

fn encode_hook(hook: &Hook) -> Node {
    let mut object = Object::default();
    object.put_text("name", &hook.name);
    object.put_text("kind", &hook.kind);
    object.put_text("path", &hook.path);
    object.put_text("manifest", &hook.manifest);
    object.put_texts("events", &hook.events);
    object.put("last_run", encode_run(&hook.last_run));
    if hook.weight != 0 {
        object.put("weight", Value::Int(hook.weight));
    }
    object.put_texts("delete_policies", &hook.delete_policies);
    object.put_texts("output_log_policies", &hook.output_log_policies);
    object.put_unknown(&hook.unknown);
    object.into()
}

fn encode_run(run: &HookRun) -> Object {
    let mut object = Object::default();
    object.put_time("started_at", run.started_at.as_ref());
    object.put_time("completed_at", run.completed_at.as_ref());
    object.put("phase", run.phase.as_str());
    object.put_unknown(&run.unknown);
    object
}
