//! A desired-state file and a namespace of one test.

use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use super::cluster::{Cluster, cluster};
use super::repository;

/// Writes a chart of these files and returns its folder.
pub(crate) fn chart(folder: &Path, files: &[(&str, &str)]) -> PathBuf {
    let chart = folder.join("chart");
    let statement = ("Chart.yaml", "apiVersion: v2\nname: small\nversion: 1.0.0\n");
    for (name, text) in files.iter().chain([&statement]) {
        let path = chart.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    chart
}

/// Puts a namespace where `NS` stands as a word: the random name of a temporary folder may have these letters in it.
fn with_namespace(text: &str, namespace: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("NS") {
        let after = &rest[at + 2..];
        let inside = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_alphanumeric());
        let is_word = !inside(rest[..at].chars().next_back().or_else(|| out.chars().next_back()))
            && !inside(after.chars().next());
        out.push_str(&rest[..at]);
        out.push_str(if is_word { namespace } else { "NS" });
        rest = after;
    }
    out + rest
}

/// A desired-state file of one test, in a folder of its own.
pub(crate) struct Scene {
    pub(crate) cluster: &'static Cluster,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) namespace: String,
    context: String,
}

impl Scene {
    pub(crate) fn new(test: &str) -> Self {
        Self::on(cluster(), test)
    }

    /// On a cluster of the test's own.
    pub(crate) fn on(cluster: &'static Cluster, test: &str) -> Self {
        let namespace = cluster.namespace(test);
        let folder = tempfile::tempdir().unwrap();
        Self { cluster, folder, context: namespace.clone(), namespace }
    }

    /// Writes the file: header, namespace, and `apps` with `CHARTS` and `NS` filled in.
    pub(crate) fn write(&self, apps: &str) -> PathBuf {
        let apps = apps.replace("CHARTS", repository("examples/charts").to_str().unwrap());
        let apps = with_namespace(&apps, &self.namespace);
        let text = format!("context = \"{}\"\n[namespaces.{}]\n{apps}", self.context, self.namespace);
        let path = self.folder.path().join("state.toml");
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn plan(&self, file: &Path) -> Json {
        let output = self.cluster.statectl(["plan", file.to_str().unwrap(), "-o", "json"]);
        output.json()
    }

    pub(crate) fn release<'a>(&self, plan: &'a Json, name: &str) -> &'a Json {
        let releases = plan["releases"].as_array().unwrap();
        releases
            .iter()
            .find(|release| release["name"] == name)
            .unwrap_or_else(|| panic!("{name} is planned: {plan}"))
    }

    pub(crate) fn helm_status(&self, name: &str) -> (String, u64) {
        let text = self.cluster.tool("helm4", &["status", name, "-n", &self.namespace, "-o", "json"]);
        let status: Json = serde_json::from_str(&text).unwrap();
        (status["info"]["status"].as_str().unwrap().to_owned(), status["version"].as_u64().unwrap())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_namespace_stands_where_its_word_does() {
        let text = "[namespaces.NS] NS-web \"NS\" /tmp/.tmpuDMNSO/a /tmp/.tmpabcdNS/b NSNS";
        let expected = "[namespaces.n] n-web \"n\" /tmp/.tmpuDMNSO/a /tmp/.tmpabcdNS/b NSNS";
        assert_eq!(super::with_namespace(text, "n"), expected);
    }
}
