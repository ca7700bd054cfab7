//! The real API server of this test run.
//!
//! One cluster serves all tests of a run; each test works in namespaces of its own. It is started by the
//! project's script when none is given, and ends with the test process. A given one is named by
//! `STATECTL_TEST_KUBECONFIG` (and `STATECTL_TEST_AUDIT_LOG`), never by `KUBECONFIG`: tests must not reach the
//! cluster that somebody happens to work with.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, OnceLock};

use serde_json::Value as Json;

use super::{repository, scan};

/// A cluster to test on.
pub(crate) struct Cluster {
    /// A kubeconfig with all rights.
    pub(crate) kubeconfig: PathBuf,
    /// The server's audit log.
    pub(crate) audit_log: PathBuf,
}

/// Returns the cluster of this run; it is up when this returns.
pub(crate) fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(|| match std::env::var_os("STATECTL_TEST_KUBECONFIG") {
        Some(kubeconfig) => {
            let audit_log = std::env::var_os("STATECTL_TEST_AUDIT_LOG")
                .expect("STATECTL_TEST_AUDIT_LOG names the audit log of the given cluster");
            Cluster { kubeconfig: kubeconfig.into(), audit_log: audit_log.into() }
        }
        None => start(""),
    })
}

/// Returns a cluster besides that of this run, for tests that need two. It too ends with the test process.
pub(crate) fn another() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(|| start("-b"))
}

/// Starts a cluster that one test has for itself, because it stops parts of it. It too ends with the test process.
pub(crate) fn own_cluster(suffix: &str) -> &'static Cluster {
    Box::leak(Box::new(start(suffix)))
}

fn start(suffix: &str) -> Cluster {
    let pid = std::process::id().to_string();
    let name = format!("it-{pid}{suffix}");
    let output = Command::new(repository("scripts/cluster"))
        .args(["up", "--name", &name, "--supervise-pid", &pid])
        .stderr(std::process::Stdio::inherit())
        .output()
        .expect("scripts/cluster runs");
    assert!(output.status.success(), "scripts/cluster up failed: see its messages above");
    let text = String::from_utf8(output.stdout).expect("it prints text");
    let line = text.lines().last().unwrap_or_default();
    let path = line.strip_prefix("export KUBECONFIG=").expect("its last line exports KUBECONFIG");
    let kubeconfig = PathBuf::from(path.trim_matches(['\'', '"']));
    let audit_log = kubeconfig.with_file_name("audit.log");
    Cluster { kubeconfig, audit_log }
}

/// Puts real Helm in place and returns the folder with `helm3`, `helm4` and `kubectl`.
pub(crate) fn tools() -> &'static PathBuf {
    static TOOLS: OnceLock<PathBuf> = OnceLock::new();
    TOOLS.get_or_init(|| put_in_place(&[]))
}

/// Puts real keepers of secrets in place and returns the folder with `sops`, `age-keygen` and `bao`.
pub(crate) fn secret_tools() -> &'static PathBuf {
    static TOOLS: OnceLock<PathBuf> = OnceLock::new();
    TOOLS.get_or_init(|| put_in_place(&["--secrets"]))
}

fn put_in_place(arguments: &[&str]) -> PathBuf {
    let output = Command::new(repository("scripts/tools"))
        .args(arguments)
        .stderr(std::process::Stdio::inherit())
        .output()
        .expect("scripts/tools runs");
    assert!(output.status.success(), "scripts/tools failed: see its messages above");
    let text = String::from_utf8(output.stdout).expect("it prints text");
    let line = text.lines().last().unwrap_or_default();
    let path = line.strip_prefix("export PATH=").expect("its last line exports PATH");
    let first = path.trim_matches(['\'', '"']).split(':').next().unwrap_or_default();
    PathBuf::from(first)
}

impl Cluster {
    /// Runs one of the real tools and returns what it prints; anything but success fails the test.
    pub(crate) fn tool(&self, name: &str, arguments: &[&str]) -> String {
        let (success, text) = self.try_tool(name, arguments);
        assert!(success, "{name} {}: {text}", arguments.join(" "));
        text
    }

    /// Runs one of the real tools; returns whether it succeeded, and stdout, or stderr if it did not.
    pub(crate) fn try_tool(&self, name: &str, arguments: &[&str]) -> (bool, String) {
        let home = tempfile::tempdir().expect("a temporary folder");
        let output = Command::new(tools().join(name))
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home.path())
            .env("KUBECONFIG", &self.kubeconfig)
            .output()
            .unwrap_or_else(|error| panic!("{name} runs: {error}"));
        let text = if output.status.success() { output.stdout } else { output.stderr };
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    }

    /// Returns the path of one of the real tools.
    pub(crate) fn tool_path(&self, name: &str) -> PathBuf {
        tools().join(name)
    }

    /// Returns an object by `kubectl get`, or nothing if it is not there.
    pub(crate) fn get(&self, namespace: &str, kind: &str, name: &str) -> Option<Json> {
        let arguments = ["get", kind, name, "-n", namespace, "-o", "json", "--ignore-not-found"];
        let text = self.tool("kubectl", &arguments);
        (!text.trim().is_empty()).then(|| serde_json::from_str(&text).expect("kubectl prints JSON"))
    }

    /// Returns the uid of an object that must be there.
    pub(crate) fn uid(&self, namespace: &str, kind: &str, name: &str) -> String {
        let object =
            self.get(namespace, kind, name).unwrap_or_else(|| panic!("{kind} {namespace}/{name} is there"));
        object["metadata"]["uid"].as_str().expect("it has a uid").to_owned()
    }

    /// Returns `36` for Kubernetes 1.36.
    pub(crate) fn minor_version(&self) -> u32 {
        let text = self.tool("kubectl", &["version", "-o", "json"]);
        let versions: Json = serde_json::from_str(&text).expect("kubectl prints JSON");
        let minor = versions["serverVersion"]["minor"].as_str().expect("it is a text");
        minor.trim_end_matches('+').parse().expect("it is a number")
    }

    /// Sends a signal to its etcd; only for a cluster that a test has for itself.
    pub(crate) fn signal_etcd(&self, signal: &str) {
        let file = self.kubeconfig.with_file_name("run").join("etcd.pid");
        let text = std::fs::read_to_string(file).expect("the cluster says who its etcd is");
        let pid = text.split(' ').next().unwrap_or_default();
        let status = Command::new("kill").args([signal, pid]).status().expect("kill runs");
        assert!(status.success(), "kill {signal} {pid}");
    }

    /// The file that leads to it.
    pub(crate) fn kubeconfig(&self) -> &std::path::Path {
        &self.kubeconfig
    }

    /// Makes a namespace for one test and returns its name.
    pub(crate) fn namespace(&self, test: &str) -> String {
        // Two tests may well have the same idea of a name.
        static TAKEN: Mutex<BTreeMap<String, u32>> = Mutex::new(BTreeMap::new());
        let count = {
            let mut taken = TAKEN.lock().expect("no test fails while it takes a name");
            let count = taken.entry(test.to_owned()).or_default();
            *count += 1;
            *count
        };
        let again = if count == 1 { String::new() } else { format!("-{count}") };
        let name = format!("{test}{again}-{}", std::process::id());
        self.tool("kubectl", &["create", "namespace", &name]);
        name
    }

    /// Makes a service account that may do everything, and returns the cluster as it sees it: the audit log tells its
    /// requests from those of every other test. `folder` holds its kubeconfig.
    pub(crate) fn as_account(&self, namespace: &str, name: &str, folder: &std::path::Path) -> Self {
        self.tool("kubectl", &["create", "serviceaccount", name, "-n", namespace]);
        let binding = format!("{namespace}-{name}");
        let account = format!("--serviceaccount={namespace}:{name}");
        self.tool(
            "kubectl",
            &["create", "clusterrolebinding", &binding, "--clusterrole=cluster-admin", &account],
        );
        let token = self.tool("kubectl", &["create", "token", name, "-n", namespace]);
        scan::secret(token.trim());
        let text = std::fs::read_to_string(&self.kubeconfig).expect("the kubeconfig is there");
        let mut config: Json = serde_yaml::from_str(&text).expect("it is YAML");
        config["users"][0]["user"] = serde_json::json!({"token": token.trim()});
        let kubeconfig = folder.join(format!("{name}.kubeconfig"));
        std::fs::write(&kubeconfig, config.to_string()).expect("it can be written");
        Self { kubeconfig, audit_log: self.audit_log.clone() }
    }

    /// Makes a service account that may do in its namespace what `rules` say (API group, resources, verbs; lists joined by
    /// commas), and nothing else. `folder` holds its kubeconfig.
    pub(crate) fn as_user_with(
        &self,
        namespace: &str,
        name: &str,
        folder: &std::path::Path,
        rules: &[(&str, &str, &str)],
    ) -> Self {
        let list = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
        let rules: Vec<Json> = rules
            .iter()
            .map(|(group, resources, verbs)| {
                serde_json::json!({"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)})
            })
            .collect();
        let metadata = serde_json::json!({"name": name, "namespace": namespace});
        let items = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": [
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata},
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": metadata, "rules": rules},
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": metadata,
             "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
             "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}]},
        ]});
        let file = folder.join(format!("{name}.json"));
        std::fs::write(&file, items.to_string()).expect("it can be written");
        self.tool("kubectl", &["apply", "-f", file.to_str().expect("it is text")]);
        let token = self.tool("kubectl", &["create", "token", name, "-n", namespace]);
        scan::secret(token.trim());
        let text = std::fs::read_to_string(&self.kubeconfig).expect("the kubeconfig is there");
        let mut config: Json = serde_yaml::from_str(&text).expect("it is YAML");
        config["users"][0]["user"] = serde_json::json!({"token": token.trim()});
        let kubeconfig = folder.join(format!("{name}.kubeconfig"));
        std::fs::write(&kubeconfig, config.to_string()).expect("it can be written");
        Self { kubeconfig, audit_log: self.audit_log.clone() }
    }

    /// Returns the audit entries since `mark`.
    pub(crate) fn requests_since(&self, mark: u64) -> Vec<Json> {
        use std::io::{Read as _, Seek as _, SeekFrom};
        let mut log = std::fs::File::open(&self.audit_log).expect("the audit log is there");
        log.seek(SeekFrom::Start(mark)).expect("it can be read from the mark on");
        let mut text = String::new();
        log.read_to_string(&mut text).expect("it is text");
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Returns the present end of the audit log.
    pub(crate) fn audit_mark(&self) -> u64 {
        std::fs::metadata(&self.audit_log).expect("the audit log is there").len()
    }
}
