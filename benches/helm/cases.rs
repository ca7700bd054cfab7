//! The charts to measure with: one case of each.

use std::path::{Path, PathBuf};

use serde_json::Value as Json;

/// A chart with what it is rendered for.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) chart: PathBuf,
    pub(crate) values: Option<PathBuf>,
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) revision: i64,
    pub(crate) is_install: bool,
    pub(crate) is_upgrade: bool,
    pub(crate) kube_version: Option<String>,
    pub(crate) api_versions: Vec<String>,
}

/// All charts, and where they are from.
pub(crate) struct Cases {
    pub(crate) origin: String,
    all: Vec<Case>,
}

impl Cases {
    /// Returns the first deterministic case of each chart of an unpacked corpus.
    pub(crate) fn of_corpus(folder: &Path) -> Self {
        let mut all: Vec<Case> = Vec::new();
        for entry in std::fs::read_dir(folder.join("dist")).expect("the corpus has a folder `dist`") {
            let path = entry.unwrap().path();
            let index: Json =
                serde_json::from_slice(&std::fs::read(path).unwrap()).expect("an index is JSON");
            let cases = index["cases"].as_array().expect("an index lists cases");
            for case in
                cases.iter().filter(|case| case["deterministic"] == true && case["expected"].is_string())
            {
                let chart = folder.join(text(case, "chart_dir"));
                if all.last().is_none_or(|last| last.chart != chart) {
                    all.push(of_index(folder, chart, case));
                }
            }
        }
        let origin = format!("{} public charts, one case of each", all.len());
        Self { origin, all }
    }

    /// Returns the charts among the examples.
    pub(crate) fn of_examples() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/charts");
        let mut charts: Vec<PathBuf> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        charts.sort();
        let all: Vec<Case> =
            charts.into_iter().filter(|chart| chart.join("Chart.yaml").exists()).map(plain).collect();
        let origin = format!(
            "{} small examples; real charts are another matter: give --corpus for numbers that count",
            all.len()
        );
        Self { origin, all }
    }

    /// Drops the charts whose path does not contain `text`.
    pub(crate) fn keep(&mut self, text: &str) {
        self.all.retain(|case| case.chart.to_string_lossy().contains(text));
    }

    /// Returns `limit` of the charts, evenly spread.
    pub(crate) fn spread(&self, limit: Option<usize>) -> Vec<&Case> {
        let total = self.all.len();
        let wanted = limit.unwrap_or(total).min(total);
        (0..wanted).map(|index| &self.all[index * total / wanted]).collect()
    }
}

fn of_index(folder: &Path, chart: PathBuf, case: &Json) -> Case {
    let strings = |list: &Json| {
        let list = list.as_array().cloned().unwrap_or_default();
        list.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
    };
    Case {
        id: text(case, "id").to_owned(),
        chart,
        values: case["values"].as_str().map(|path| folder.join(path)),
        name: text(case, "release").to_owned(),
        namespace: text(case, "namespace").to_owned(),
        revision: case["revision"].as_i64().unwrap_or(1),
        is_install: case["is_install"] == true,
        is_upgrade: case["is_upgrade"] == true,
        kube_version: case["kube_version"].as_str().map(str::to_owned),
        api_versions: strings(&case["api_versions_extra"]),
    }
}

fn text<'c>(case: &'c Json, key: &str) -> &'c str {
    case[key].as_str().unwrap_or_else(|| panic!("a case of the index has the text {key}"))
}

fn plain(chart: PathBuf) -> Case {
    let name = chart.file_name().unwrap().to_str().unwrap().to_owned();
    Case {
        id: name.clone(),
        chart,
        values: None,
        name,
        namespace: "default".to_owned(),
        revision: 1,
        is_install: true,
        is_upgrade: false,
        kube_version: None,
        api_versions: Vec::new(),
    }
}
