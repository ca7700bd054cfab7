//! Runs the binary in an environment of its own.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value as Json;

use super::cluster::Cluster;
use super::scan;

/// What a run printed and how it ended.
pub(crate) struct Output {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Output {
    /// Fails the test, with everything printed, unless the run ended with `code`.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "exit code\n--- stdout\n{}\n--- stderr\n{}", self.stdout, self.stderr);
        self
    }

    /// Returns stdout as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Json {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.stdout))
    }

    /// Fails the test unless stdout contains `text`.
    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Self {
        assert!(
            self.stdout.contains(text),
            "stdout lacks {text:?}\n--- stdout\n{}\n--- stderr\n{}",
            self.stdout,
            self.stderr
        );
        self
    }

    /// Fails the test unless stderr contains `text`.
    #[track_caller]
    pub(crate) fn complains(self, text: &str) -> Self {
        assert!(
            self.stderr.contains(text),
            "stderr lacks {text:?}\n--- stdout\n{}\n--- stderr\n{}",
            self.stdout,
            self.stderr
        );
        self
    }
}

/// Returns the binary with nothing of this process's environment.
pub(crate) fn command<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_statectl"));
    command.args(arguments).env_clear().env("HOME", "/nonexistent").env("TMPDIR", scan::temporary());
    command.stdin(Stdio::null());
    command
}

/// Runs without a cluster.
#[must_use = "how the run ended has to be checked"]
pub(crate) fn offline<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Output {
    finish(&mut command(arguments))
}

impl Cluster {
    /// Runs on this cluster.
    #[must_use = "how the run ended has to be checked"]
    pub(crate) fn statectl<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Output {
        self.statectl_in(Path::new(env!("CARGO_MANIFEST_DIR")), arguments)
    }

    /// Runs on this cluster, from a folder.
    #[must_use = "how the run ended has to be checked"]
    pub(crate) fn statectl_in<S: AsRef<OsStr>>(
        &self,
        folder: &Path,
        arguments: impl IntoIterator<Item = S>,
    ) -> Output {
        finish(command(arguments).env("KUBECONFIG", &self.kubeconfig).current_dir(folder))
    }

    /// Starts a run on this cluster that goes on while the test does other things.
    pub(crate) fn start_statectl<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Child {
        command(arguments)
            .env("KUBECONFIG", &self.kubeconfig)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("statectl starts")
    }
}

/// Runs a command to its end. No secret of any test may be in what it wrote.
#[must_use = "how the run ended has to be checked"]
#[track_caller]
pub(crate) fn finish(command: &mut Command) -> Output {
    let output = output_of(command.output().expect("statectl runs"));
    scan::outputs(command);
    output
}

/// Waits for a started run.
#[must_use = "how the run ended has to be checked"]
#[track_caller]
pub(crate) fn wait(child: Child) -> Output {
    output_of(child.wait_with_output().expect("statectl ends"))
}

#[track_caller]
fn output_of(output: std::process::Output) -> Output {
    let output = Output {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    };
    scan::text("stdout", &output.stdout);
    scan::text("stderr", &output.stderr);
    output
}
