//! What `Chart.yaml` and `Chart.lock` hold, and what Helm checks in it.
//!
//! Source: Helm `pkg/chart/v2/metadata.go` and `dependency.go`.

use std::collections::{BTreeMap, BTreeSet};

use super::decode::Draft;
use super::error::ChartError;
use super::paths;
use crate::go::{strconv, unicode};
use crate::semver;
use crate::value::Value;

/// What a chart says about itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata {
    /// The chart's name.
    pub name: String,
    /// The page of the project.
    pub home: String,
    /// Where its source is.
    pub sources: Vec<String>,
    /// The chart's version.
    pub version: String,
    /// One sentence on it.
    pub description: String,
    /// Words to find it by.
    pub keywords: Vec<String>,
    /// Who looks after it.
    pub maintainers: Vec<Maintainer>,
    /// The address of an icon.
    pub icon: String,
    /// The format of the chart: `v1` or `v2`.
    pub api_version: String,
    /// Kept by Helm, without effect.
    pub condition: String,
    /// Kept by Helm, without effect.
    pub tags: String,
    /// The version of what is installed.
    pub app_version: String,
    /// Whether the chart should no longer be used.
    pub deprecated: bool,
    /// Free statements; nothing if there is no such key.
    pub annotations: Option<BTreeMap<String, String>>,
    /// Which versions of Kubernetes it runs on.
    pub kube_version: String,
    /// The charts it needs; nothing if there is no such key, which Helm tells from an empty list.
    pub dependencies: Option<Vec<Dependency>>,
    /// `application`, `library` or empty.
    pub kind: String,
}

/// Someone who looks after a chart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Maintainer {
    /// The name of a person or an organisation.
    pub name: String,
    /// An address to write to.
    pub email: String,
    /// A page.
    pub url: String,
}

/// A chart that another chart needs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dependency {
    /// The name of the chart; after processing its alias, if it has one.
    pub name: String,
    /// The version, or a range of versions.
    pub version: String,
    /// Where the chart comes from.
    pub repository: String,
    /// Paths to values that switch it on or off.
    pub condition: String,
    /// Names of groups that are switched on or off together.
    pub tags: Vec<String>,
    /// Whether it takes part. What `Chart.yaml` says here is overwritten by processing.
    pub enabled: bool,
    /// Values that the parent takes over.
    pub import_values: Vec<Value>,
    /// The name to use instead of its own.
    pub alias: String,
}

/// The exact versions that dependencies were resolved to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lock {
    /// When it was written, as the file has it.
    pub generated: String,
    /// A hash of the wishes and the answers.
    pub digest: String,
    /// The answers; nothing if there is no such key.
    pub dependencies: Option<Vec<Dependency>>,
}

/// Cleans the text fields of what was read and checks what Helm checks when it loads a chart.
///
/// # Errors
/// Fails with the first statement that is not allowed.
pub(super) fn check(draft: Draft) -> Result<Metadata, ChartError> {
    let Draft { mut metadata, null_maintainer, null_dependency } = draft;
    for field in [
        &mut metadata.name,
        &mut metadata.description,
        &mut metadata.home,
        &mut metadata.icon,
        &mut metadata.condition,
        &mut metadata.tags,
        &mut metadata.app_version,
        &mut metadata.kube_version,
    ]
    .into_iter()
    .chain(&mut metadata.sources)
    .chain(&mut metadata.keywords)
    {
        sanitize(field);
    }
    check_identity(&metadata)?;
    if null_maintainer {
        return Err(invalid("maintainers must not contain empty or null nodes"));
    }
    for maintainer in &mut metadata.maintainers {
        for field in [&mut maintainer.name, &mut maintainer.email, &mut maintainer.url] {
            sanitize(field);
        }
    }
    if null_dependency {
        return Err(invalid("dependencies must not contain empty or null nodes"));
    }
    check_dependencies(metadata.dependencies.as_deref_mut().unwrap_or_default())?;
    Ok(metadata)
}

fn check_identity(metadata: &Metadata) -> Result<(), ChartError> {
    let name = &metadata.name;
    let message = match name.as_str() {
        _ if metadata.api_version.is_empty() => "chart.metadata.apiVersion is required".to_owned(),
        "" => "chart.metadata.name is required".to_owned(),
        "." | ".." => format!("chart.metadata.name {} is not allowed", quote(name)),
        _ if paths::base(name) != name => format!("chart.metadata.name {} is invalid", quote(name)),
        _ if metadata.version.is_empty() => "chart.metadata.version is required".to_owned(),
        _ if semver::Version::parse(&metadata.version).is_err() => {
            format!("chart.metadata.version {} is invalid", quote(&metadata.version))
        }
        _ if !matches!(metadata.kind.as_str(), "" | "application" | "library") => {
            "chart.metadata.type must be application or library".to_owned()
        }
        _ => return Ok(()),
    };
    Err(ChartError::Invalid(message))
}

fn check_dependencies(dependencies: &mut [Dependency]) -> Result<(), ChartError> {
    let mut names = BTreeSet::new();
    for dependency in dependencies {
        for field in [
            &mut dependency.name,
            &mut dependency.version,
            &mut dependency.repository,
            &mut dependency.condition,
        ]
        .into_iter()
        .chain(&mut dependency.tags)
        {
            sanitize(field);
        }
        let (name, alias) = (&dependency.name, &dependency.alias);
        if !alias.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')) {
            let name = quote(name);
            return Err(invalid(format!("dependency {name} has disallowed characters in the alias")));
        }
        let key = if alias.is_empty() { name } else { alias };
        if !names.insert(key.clone()) {
            let key = quote(key);
            return Err(invalid(format!("more than one dependency with name or alias {key}")));
        }
    }
    Ok(())
}

fn invalid(message: impl Into<String>) -> ChartError {
    ChartError::Invalid(message.into())
}

fn quote(text: &str) -> String {
    strconv::quote(text.as_bytes())
}

/// Turns each white-space character into one space and removes what cannot be printed.
fn sanitize(text: &mut String) {
    if text.bytes().all(|byte| (0x20..0x7F).contains(&byte)) {
        return;
    }
    let clean =
        |rune| if unicode::is_space(rune) { Some(' ') } else { Some(rune).filter(|r| unicode::is_print(*r)) };
    *text = text.chars().filter_map(clean).collect();
}
