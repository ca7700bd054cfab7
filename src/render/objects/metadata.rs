//! `.Chart`: what a chart says about itself, as a map with Go's field names.
//!
//! Source: Helm `pkg/chart/common.go`, `structToMap`: lists lose their types, maps keep them.

use crate::chart::{Dependency, Metadata};
use crate::template::convert::from_value;
use crate::template::text::Str;
use crate::template::types::Type;
use crate::template::value::{Map, Val};
use crate::value::Value;

/// Returns the `.Chart` of a chart.
pub(crate) fn metadata(metadata: &Metadata, is_root: bool) -> Val {
    let text = |text: &String| Val::str(text.as_str());
    let texts = |texts: &[String]| Val::list(texts.iter().map(text).collect());
    let maintainer = |maintainer: &crate::chart::Maintainer| {
        map([
            ("Name", text(&maintainer.name)),
            ("Email", text(&maintainer.email)),
            ("URL", text(&maintainer.url)),
        ])
    };
    let annotations = match &metadata.annotations {
        Some(annotations) => {
            let entry = |(key, value): (&String, &String)| (Str::from(key.as_str()), text(value));
            Map::of(Type::STRING, annotations.iter().map(entry).collect())
        }
        None => Map::nil(Type::STRING),
    };
    let dependencies = metadata.dependencies.iter().flatten().map(dependency).collect();
    map([
        ("Name", text(&metadata.name)),
        ("Home", text(&metadata.home)),
        ("Sources", texts(&metadata.sources)),
        ("Version", text(&metadata.version)),
        ("Description", text(&metadata.description)),
        ("Keywords", texts(&metadata.keywords)),
        ("Maintainers", Val::list(metadata.maintainers.iter().map(maintainer).collect())),
        ("Icon", text(&metadata.icon)),
        ("APIVersion", text(&metadata.api_version)),
        ("Condition", text(&metadata.condition)),
        ("Tags", text(&metadata.tags)),
        ("AppVersion", text(&metadata.app_version)),
        ("Deprecated", Val::Bool(metadata.deprecated)),
        ("Annotations", Val::Map(annotations)),
        ("KubeVersion", text(&metadata.kube_version)),
        ("Dependencies", Val::list(dependencies)),
        ("Type", text(&metadata.kind)),
        ("IsRoot", Val::Bool(is_root)),
    ])
}

fn dependency(dependency: &Dependency) -> Val {
    let text = |text: &String| Val::str(text.as_str());
    map([
        ("Name", text(&dependency.name)),
        ("Version", text(&dependency.version)),
        ("Repository", text(&dependency.repository)),
        ("Condition", text(&dependency.condition)),
        ("Tags", Val::list(dependency.tags.iter().map(text).collect())),
        ("Enabled", Val::Bool(dependency.enabled)),
        ("ImportValues", Val::list(dependency.import_values.iter().map(imported).collect())),
        ("Alias", text(&dependency.alias)),
    ])
}

/// An `import-values` entry; processing has made each a pair of texts.
fn imported(value: &Value) -> Val {
    match value {
        Value::Map(pair) => {
            let entries = pair.iter().map(|(key, value)| (Str::from(key.as_str()), from_value(value)));
            Val::Map(Map::of(Type::STRING, entries.collect()))
        }
        other => from_value(other),
    }
}

fn map<const N: usize>(members: [(&'static str, Val); N]) -> Val {
    Val::Map(members.into_iter().map(|(key, value)| (Str::from(key), value)).collect())
}
