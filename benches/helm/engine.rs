//! The program that does the same with Helm's own packages (`benches/helm/engine`).

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::cases::Case;
use statectl::render::capabilities;

/// Helm's side, running.
pub(crate) struct Engine {
    process: Child,
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// What to do. Repetitions go on until both bounds are reached.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Question<'c> {
    #[serde(flatten)]
    pub(crate) work: Work<'c>,
    pub(crate) min_runs: usize,
    pub(crate) min_millis: u64,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Work<'c> {
    Render(Box<Chart<'c>>),
    Yaml {
        #[serde(rename = "Text")]
        text: &'c str,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Chart<'c> {
    chart: &'c Path,
    values: &'c Path,
    name: &'c str,
    namespace: &'c str,
    revision: i64,
    is_install: bool,
    is_upgrade: bool,
    kube_version: &'c str,
    #[serde(rename = "APIVersions")]
    api_versions: &'c [String],
    helm_version: HelmVersion,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct HelmVersion {
    version: String,
    git_commit: String,
    git_tree_state: String,
    go_version: String,
    kube_client_version: String,
}

/// What came out, and how many nanoseconds it took.
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Answer {
    pub(crate) error: String,
    pub(crate) digest: String,
    pub(crate) load: u64,
    pub(crate) dependencies: u64,
    pub(crate) values: Vec<u64>,
    pub(crate) render: Vec<u64>,
    pub(crate) read: Vec<u64>,
    pub(crate) write: Vec<u64>,
}

impl Engine {
    /// Builds and starts the program.
    pub(crate) fn start() -> Self {
        let binary = Path::new(env!("CARGO_TARGET_TMPDIR")).join("helm-engine");
        let built = Command::new("go")
            .args(["build", "-trimpath", "-o"])
            .args([binary.as_path(), Path::new(".")])
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/helm/engine"))
            .env("GOFLAGS", "-mod=readonly")
            .status()
            .expect("go runs");
        assert!(built.success(), "benches/helm/engine does not build");
        let mut process = Command::new(binary)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Helm warns of what it finds in charts.
            .stderr(Stdio::null())
            .spawn()
            .expect("the built program runs");
        let questions = process.stdin.take();
        let answers = BufReader::new(process.stdout.take().unwrap());
        Self { process, questions, answers }
    }

    pub(crate) fn ask(&mut self, question: &Question<'_>) -> Answer {
        let mut line = serde_json::to_vec(question).unwrap();
        line.push(b'\n');
        self.questions.as_mut().unwrap().write_all(&line).expect("Helm's side takes requests");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("Helm's side answers");
        serde_json::from_str(&line).expect("an answer is JSON")
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // The end of its input ends it.
        self.questions = None;
        let _ = self.process.wait();
    }
}

impl<'c> Work<'c> {
    pub(crate) fn render(case: &'c Case) -> Self {
        let helm = capabilities::HelmVersion::default();
        Self::Render(Box::new(Chart {
            chart: &case.chart,
            values: case.values.as_deref().unwrap_or(Path::new("")),
            name: &case.name,
            namespace: &case.namespace,
            revision: case.revision,
            is_install: case.is_install,
            is_upgrade: case.is_upgrade,
            kube_version: case.kube_version.as_deref().unwrap_or_default(),
            api_versions: &case.api_versions,
            helm_version: HelmVersion {
                version: helm.version,
                git_commit: helm.git_commit,
                git_tree_state: helm.git_tree_state,
                go_version: helm.go_version,
                kube_client_version: helm.kube_client_version,
            },
        }))
    }
}
