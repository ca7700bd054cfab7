//! From a loaded chart to the form in which a record keeps it.
//!
//! Source: JSON tags of Helm `pkg/chart/v2` and what `pkg/action` stores: the chart after dependency processing,
//! without the charts inside it.

use super::release::{Chart, File};
use super::time::Time;
use crate::chart::{self, Dependency, Lock, Maintainer, Metadata};
use crate::value::{Map, Value};

/// Go's zero time, which Helm 4 writes for a schema that is not there.
const ZERO_TIME: &str = "0001-01-01T00:00:00Z";

/// Returns the chart as the record of a release holds it. `chart` is the chart that was rendered: its dependencies
/// are processed, and its values are the defaults after that.
pub fn stored_chart(chart: &chart::Chart) -> Chart {
    let files = |files: &[chart::File]| {
        files.iter().map(|file| File::new(&*file.name, &*file.data, file.modified.map(Time::from))).collect()
    };
    Chart {
        metadata: Some(metadata(&chart.metadata)),
        lock: chart.lock.as_ref().map(lock),
        templates: files(&chart.templates),
        values: chart.values.clone(),
        schema: chart.schema.as_ref().map(|schema| schema.to_vec()),
        schema_modified: chart.schema_modified.map(Time::from).or_else(|| Time::parse(ZERO_TIME)),
        files: files(&chart.files),
        modified: chart.modified.map(Time::from),
        unknown: Map::new(),
    }
}

/// Members as Go's `omitempty` writes them. Their order is made when the record is written.
#[derive(Default)]
struct Members(Map);

impl Members {
    fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.to_owned(), value.into());
    }

    fn put_text(&mut self, key: &str, text: &str) {
        if !text.is_empty() {
            self.put(key, text);
        }
    }

    fn put_texts(&mut self, key: &str, texts: &[String]) {
        self.put_list(key, texts.iter().map(|text| text.as_str().into()).collect());
    }

    fn put_list(&mut self, key: &str, items: Vec<Value>) {
        if !items.is_empty() {
            self.put(key, items);
        }
    }

    fn put_true(&mut self, key: &str, flag: bool) {
        if flag {
            self.put(key, true);
        }
    }
}

fn metadata(metadata: &Metadata) -> Map {
    let mut object = Members::default();
    object.put_text("name", &metadata.name);
    object.put_text("home", &metadata.home);
    object.put_texts("sources", &metadata.sources);
    object.put_text("version", &metadata.version);
    object.put_text("description", &metadata.description);
    object.put_texts("keywords", &metadata.keywords);
    object.put_list("maintainers", metadata.maintainers.iter().map(maintainer).collect());
    object.put_text("icon", &metadata.icon);
    object.put_text("apiVersion", &metadata.api_version);
    object.put_text("condition", &metadata.condition);
    object.put_text("tags", &metadata.tags);
    object.put_text("appVersion", &metadata.app_version);
    object.put_true("deprecated", metadata.deprecated);
    let annotations = metadata.annotations.iter().flatten();
    let annotations: Map = annotations.map(|(key, value)| (key.clone(), value.as_str().into())).collect();
    if !annotations.is_empty() {
        object.put("annotations", Value::Map(annotations));
    }
    object.put_text("kubeVersion", &metadata.kube_version);
    object.put_list("dependencies", metadata.dependencies.iter().flatten().map(dependency).collect());
    object.put_text("type", &metadata.kind);
    object.0
}

fn maintainer(maintainer: &Maintainer) -> Value {
    let mut object = Members::default();
    object.put_text("name", &maintainer.name);
    object.put_text("email", &maintainer.email);
    object.put_text("url", &maintainer.url);
    Value::Map(object.0)
}

fn dependency(dependency: &Dependency) -> Value {
    let mut object = Members::default();
    object.put("name", dependency.name.as_str());
    object.put_text("version", &dependency.version);
    object.put("repository", dependency.repository.as_str());
    object.put_text("condition", &dependency.condition);
    object.put_texts("tags", &dependency.tags);
    object.put_true("enabled", dependency.enabled);
    object.put_list("import-values", dependency.import_values.clone());
    object.put_text("alias", &dependency.alias);
    Value::Map(object.0)
}

fn lock(lock: &Lock) -> Map {
    let mut object = Members::default();
    let generated = if lock.generated.is_empty() { ZERO_TIME } else { &lock.generated };
    object.put("generated", generated);
    object.put("digest", lock.digest.as_str());
    let dependencies = lock.dependencies.as_ref();
    object.put(
        "dependencies",
        dependencies.map_or(Value::Null, |list| Value::List(list.iter().map(dependency).collect())),
    );
    object.0
}
