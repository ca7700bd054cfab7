//! A cluster that the desired-state file describes by itself: `clusterURI`, a token or a client certificate.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;

use crate::support::scan;
use crate::support::scene::Scene;
use crate::support::statectl::{Output, command, finish};

const APP: &str = "[apps.a]\nenabled = true\nnamespace = \"NS\"\nchart = \"CHARTS/web\"\n";

/// A scene whose folder holds what a file may name: the authority, a token, and a client's certificate and key.
struct Access {
    scene: Scene,
    server: String,
    /// A kubeconfig of somebody else's cluster.
    foreign: String,
}

impl Access {
    fn new(test: &str) -> Self {
        let scene = Scene::new(test);
        let text = scene.cluster.tool("kubectl", &["config", "view", "--raw", "--flatten", "-o", "json"]);
        let config: Json = serde_json::from_str(&text).unwrap();
        let (cluster, user) = (&config["clusters"][0]["cluster"], &config["users"][0]["user"]);
        let write = |name: &str, data: &Json| {
            let bytes = STANDARD.decode(data.as_str().unwrap()).unwrap();
            std::fs::write(scene.folder.path().join(name), &bytes).unwrap();
            String::from_utf8(bytes).unwrap()
        };
        write("ca.pem", &cluster["certificate-authority-data"]);
        write("client.pem", &user["client-certificate-data"]);
        let key = write("client.key", &user["client-key-data"]);
        scan::secret(key.lines().nth(1).unwrap());
        let folder = scene.folder.path();
        let account = scene.cluster.as_account(&scene.namespace, "robot", folder);
        let text = std::fs::read_to_string(account.kubeconfig()).unwrap();
        let config: Json = serde_json::from_str(&text).unwrap();
        let token = config["users"][0]["user"]["token"].as_str().unwrap();
        std::fs::write(folder.join("token"), format!("{token}\n")).unwrap();
        for name in ["client.key", "token", "robot.kubeconfig"] {
            scan::input(&folder.join(name));
        }
        let foreign = "apiVersion: v1\nkind: Config\ncurrent-context: theirs\n\
                       contexts: [{name: theirs, context: {cluster: theirs, user: me}}]\n\
                       clusters: [{name: theirs, cluster: {server: https://127.0.0.1:1}}]\nusers: [{name: me, user: {}}]\n";
        Self { server: cluster["server"].as_str().unwrap().to_owned(), scene, foreign: foreign.to_owned() }
    }

    fn file(&self, settings: &str, certificates: &str) -> std::path::PathBuf {
        let server = &self.server;
        self.scene.write(&format!(
            "[settings]\nclusterURI = \"{server}\"\n{settings}\n[certificates]\n{certificates}\n{APP}"
        ))
    }

    /// Runs beside somebody else's kubeconfig, which stays as it is.
    fn run(&self, arguments: &[&str], file: &Path) -> Output {
        let folder = self.scene.folder.path();
        let kubeconfig = folder.join("foreign.kubeconfig");
        std::fs::write(&kubeconfig, &self.foreign).unwrap();
        let mut command = command(arguments.iter().copied().chain([file.to_str().unwrap()]));
        command.arg("--allow-outside-paths").env("KUBECONFIG", &kubeconfig).current_dir(folder);
        let output = finish(&mut command);
        assert_eq!(std::fs::read_to_string(&kubeconfig).unwrap(), self.foreign);
        output
    }
}

#[test]
fn a_cluster_is_described_with_a_token_or_a_certificate() {
    let access = Access::new("described");
    let authority = "caCrt = \"ca.pem\"";
    let token = "bearerToken = true\nbearerTokenPath = \"token\"";
    let both = format!("{authority}\ncaClient = \"client.pem\"\ncaKey = \"client.key\"");
    for (settings, certificates) in [
        (token.to_owned(), authority),
        (String::new(), both.as_str()),
        (format!("{token}\nkubeContext = \"made-up\""), authority),
    ] {
        let file = access.file(&settings, certificates);
        access.run(&["plan"], &file).expect(0).says(&access.server).says("to install");
    }
    let file = access.file(token, authority);
    access.run(&["apply", "--yes"], &file).expect(0);
    assert_eq!(access.scene.helm_status("a"), ("deployed".to_owned(), 1));
    // Whoever names a cluster on the command line means that one.
    access.run(&["plan", "--kube-context", "theirs"], &file).expect(1).complains("127.0.0.1:1");
    // Without any kubeconfig it is the same.
    let mut alone = command(["plan", file.to_str().unwrap(), "--detailed-exit-code"]);
    finish(alone.arg("--allow-outside-paths").current_dir(access.scene.folder.path())).expect(0);
    let names: Vec<String> = std::fs::read_dir(access.scene.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    // Helmsman leaves copies of certificates and token behind, and removes files of these names.
    assert!(
        !names.iter().any(|name| ["ca.crt", "ca.key", "client.crt", "bearer.token"].contains(&name.as_str()))
    );
    scan::files(access.scene.folder.path());
}

#[test]
fn a_description_that_does_not_fit_is_refused() {
    let access = Access::new("misdescribed");
    let token = "bearerToken = true\nbearerTokenPath = \"token\"";
    // A context that is there counts, and may not lead elsewhere.
    let file = access.file(&format!("{token}\nkubeContext = \"theirs\""), "caCrt = \"ca.pem\"");
    access
        .run(&["plan"], &file)
        .expect(1)
        .complains("the context `theirs` of the kubeconfig leads to https://127.0.0.1:1, and not to")
        .complains("correct `settings.clusterURI`");
    std::fs::copy(
        access.scene.folder.path().join("client.pem"),
        access.scene.folder.path().join("other.pem"),
    )
    .unwrap();
    let wrong = access.file(token, "caCrt = \"other.pem\"");
    assert_ne!(access.run(&["plan"], &wrong).code, 0, "another authority is not trusted");
    let missing = access.file("bearerToken = true\nbearerTokenPath = \"none\"", "caCrt = \"ca.pem\"");
    assert_ne!(access.run(&["plan"], &missing).code, 0);
    // Which server gets the token of the pod is nothing for a file to say.
    let file = access.file("bearerToken = true", "caCrt = \"ca.pem\"");
    let mut command = command(["plan", file.to_str().unwrap()]);
    finish(command.current_dir(access.scene.folder.path()))
        .expect(64)
        .complains("the token is outside the repository")
        .complains("`--allow-outside-paths` permits it");
}
