//! Ways into a cluster that a kubeconfig can describe.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::cluster::{Cluster, cluster};
use crate::support::scan;
use crate::support::statectl::{Output, command, finish};

/// A folder with a kubeconfig whose user is `user` and whose cluster has the extra lines `more`.
struct Access {
    folder: tempfile::TempDir,
    namespace: String,
}

impl Access {
    fn new(test: &str) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), namespace: cluster().namespace(test) }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Makes a service account with all rights and returns a token of it.
    fn token(&self) -> String {
        let cluster = cluster();
        let namespace = self.namespace.as_str();
        cluster.tool("kubectl", &["create", "serviceaccount", "robot", "-n", namespace]);
        let account = format!("--serviceaccount={namespace}:robot");
        cluster.tool(
            "kubectl",
            &["create", "clusterrolebinding", namespace, "--clusterrole=cluster-admin", &account],
        );
        let token = cluster.tool("kubectl", &["create", "token", "robot", "-n", namespace]);
        scan::secret(token.trim()).to_owned()
    }

    /// Plans an empty-handed file with the kubeconfig.
    fn plan(&self, user: &str, more: &str) -> Output {
        let cluster = cluster();
        std::fs::write(self.path("ca.pem"), ca(cluster)).unwrap();
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{{name: a, context: {{cluster: a, user: a}}}}]\n\
             clusters:\n- name: a\n  cluster:\n    server: {}\n    certificate-authority: ca.pem\n{more}users:\n- name: a\n  user:\n{user}",
            server(cluster)
        );
        let kubeconfig = self.path("kubeconfig");
        std::fs::write(&kubeconfig, text).unwrap();
        let state = self.path("state.toml");
        let namespace = &self.namespace;
        let chart = crate::support::repository("examples/charts/web");
        let text = format!(
            "context = \"{namespace}\"\n[namespaces.{namespace}]\n[apps.a]\nenabled = true\nnamespace = \"{namespace}\"\nchart = \"{}\"\n",
            chart.display()
        );
        std::fs::write(&state, text).unwrap();
        let path = std::env::var_os("PATH").unwrap_or_default();
        finish(command(["plan", state.to_str().unwrap()]).env("KUBECONFIG", kubeconfig).env("PATH", path))
    }
}

fn line_of(cluster: &Cluster, key: &str) -> String {
    let text = std::fs::read_to_string(&cluster.kubeconfig).unwrap();
    let line = text.lines().find_map(|line| line.trim().strip_prefix(key).map(str::to_owned));
    line.unwrap_or_else(|| panic!("the kubeconfig has {key}")).trim().to_owned()
}

fn server(cluster: &Cluster) -> String {
    line_of(cluster, "server:")
}

/// The server's certificate authority as PEM.
fn ca(cluster: &Cluster) -> Vec<u8> {
    use base64::Engine as _;
    let text = std::fs::read_to_string(&cluster.kubeconfig).unwrap();
    if text.contains("certificate-authority-data:") {
        let data = line_of(cluster, "certificate-authority-data:");
        return base64::engine::general_purpose::STANDARD.decode(data).unwrap();
    }
    std::fs::read(cluster.kubeconfig.parent().unwrap().join(line_of(cluster, "certificate-authority:")))
        .unwrap()
}

#[test]
fn a_token_and_a_private_authority() {
    let access = Access::new("token");
    let token = access.token();
    access.plan(&format!("    token: {token}\n"), "").expect(0).says("to install");
    std::fs::write(access.path("token"), &token).unwrap();
    access.plan("    tokenFile: token\n", "").expect(0).says("to install");
}

#[test]
fn a_credential_plugin_is_asked_again_when_its_token_ends() {
    let access = Access::new("plugin");
    let token = access.token();
    let plugin = access.path("plugin");
    let log = access.path("log");
    // A token that has ended already: each request needs a new one.
    let credential = format!(
        r#"{{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{{"token":"{token}","expirationTimestamp":"2020-01-01T00:00:00Z"}}}}"#
    );
    std::fs::write(
        &plugin,
        format!("#!/bin/sh\necho asked >>{}\ncat <<'EOF'\n{credential}\nEOF\n", log.display()),
    )
    .unwrap();
    std::fs::set_permissions(&plugin, std::fs::Permissions::from_mode(0o755)).unwrap();
    let user = format!(
        "    exec:\n      apiVersion: client.authentication.k8s.io/v1\n      command: {}\n      interactiveMode: Never\n",
        plugin.display()
    );
    access.plan(&user, "").expect(0).says("to install");
    let asked = std::fs::read_to_string(&log).unwrap().lines().count();
    assert!(asked > 1, "asked {asked} times");
    std::fs::write(&plugin, "#!/bin/sh\necho the vault is sealed >&2\nexit 1\n").unwrap();
    access.plan(&user, "").expect(1).complains("credential");
}

#[test]
fn a_proxy_of_the_kubeconfig_is_used() {
    let access = Access::new("proxy");
    let token = access.token();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let tunnels = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&tunnels);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            counted.fetch_add(1, Ordering::SeqCst);
            std::thread::spawn(move || tunnel(stream));
        }
    });
    let more = format!("    proxy-url: http://{address}\n");
    access.plan(&format!("    token: {token}\n"), &more).expect(0).says("to install");
    assert!(tunnels.load(Ordering::SeqCst) > 0, "the proxy was asked");
}

/// Serves one CONNECT request.
fn tunnel(mut client: TcpStream) -> Option<()> {
    let mut head = Vec::new();
    let mut byte = [0; 1];
    while !head.ends_with(b"\r\n\r\n") {
        client.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).ok()?;
    let target = head.strip_prefix("CONNECT ")?.split(' ').next()?.to_owned();
    let mut server = TcpStream::connect(target).ok()?;
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").ok()?;
    let (mut from_server, mut to_client) = (server.try_clone().ok()?, client.try_clone().ok()?);
    std::thread::spawn(move || std::io::copy(&mut from_server, &mut to_client));
    std::io::copy(&mut client, &mut server).ok()?;
    Some(())
}
