//! References to secrets that somebody is asked for: a real vault, the real API server, a program.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::cluster::secret_tools;
use crate::support::scan;
use crate::support::scene::{Scene, chart};
use crate::support::statectl::{Output, command, finish};

const TOKEN: &str = "root-Token-3301";
const NEW: &str = "vault-New-3302";
const OLD: &str = "vault-Old-3303";
const FIRST: &str = "vault-Kv1-3304";
const STORED: &str = "cluster-Secret-3305";
const WRITTEN: &str = "program-Secret-3306";

const TEMPLATE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Release.Name }} }\ndata:\n\
                        {{- range $key, $value := .Values }}\n  {{ $key }}: {{ $value | quote }}\n{{- end }}\n";

/// A vault with a certificate of its own; it ends with the test.
struct Vault {
    child: Child,
    folder: tempfile::TempDir,
    address: String,
}

impl Vault {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let listen = format!("-dev-listen-address=127.0.0.1:{port}");
        let certificates = format!("-dev-tls-cert-dir={}", folder.path().display());
        let token = format!("-dev-root-token-id={TOKEN}");
        let child = Command::new(secret_tools().join("bao"))
            .args(["server", "-dev", "-dev-tls", "-dev-no-store-token", &listen, &certificates, &token])
            .env_clear()
            .env("HOME", folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let vault = Self { child, folder, address: format!("https://127.0.0.1:{port}") };
        let deadline = Instant::now() + Duration::from_secs(60);
        while !vault.try_run(&["status"]) {
            assert!(Instant::now() < deadline, "the vault starts");
            std::thread::sleep(Duration::from_millis(100));
        }
        vault
    }

    fn authority(&self) -> String {
        let mut names = std::fs::read_dir(self.folder.path()).unwrap();
        let found = names.find_map(|entry| {
            let path = entry.unwrap().path();
            path.file_name()?.to_str()?.ends_with("ca.pem").then_some(path)
        });
        found.unwrap_or_default().display().to_string()
    }

    fn try_run(&self, arguments: &[&str]) -> bool {
        let ended = Command::new(secret_tools().join("bao"))
            .args(arguments)
            .env_clear()
            .env("HOME", self.folder.path())
            .env("BAO_ADDR", &self.address)
            .env("BAO_TOKEN", TOKEN)
            .env("BAO_CACERT", self.authority())
            .output()
            .unwrap();
        ended.status.success()
    }

    fn run(&self, arguments: &[&str]) {
        assert!(self.try_run(arguments), "bao {arguments:?}");
    }
}

impl Drop for Vault {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn scene(test: &str) -> Scene {
    for text in [TOKEN, NEW, OLD, FIRST, STORED, WRITTEN] {
        scan::secret(text);
    }
    let scene = Scene::new(test);
    chart(scene.folder.path(), &[("templates/a.yaml", TEMPLATE), ("values.yaml", "")]);
    scene
}

fn app(values: &[(&str, &str)]) -> String {
    let values: Vec<String> = values.iter().map(|(key, text)| format!("{key} = \"{text}\"")).collect();
    let values = values.join(", ");
    format!("[apps.r]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\nvalues = {{ {values} }}\n")
}

fn run(scene: &Scene, verb: &[&str], file: &Path, env: &[(&str, &str)]) -> Output {
    let mut command = command(verb.iter().copied().chain([file.to_str().unwrap()]));
    command.env("KUBECONFIG", scene.cluster.kubeconfig()).env("PATH", "/usr/bin:/bin");
    finish(command.envs(env.iter().copied()).current_dir(scene.folder.path()))
}

fn data(scene: &Scene, key: &str) -> String {
    let map = scene.cluster.get(&scene.namespace, "configmap", "r").unwrap();
    map["data"][key].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_vault_gives_secrets_of_both_versions_of_its_store() {
    let scene = scene("vault");
    let vault = Vault::start();
    vault.run(&["kv", "put", "-mount=secret", "app/db", &format!("password={OLD}")]);
    vault.run(&["kv", "put", "-mount=secret", "app/db", &format!("password={NEW}"), "port=5432"]);
    vault.run(&["secrets", "enable", "-path=team/kv1", "-version=1", "kv"]);
    vault.run(&["kv", "put", "team/kv1/a b/c", &format!("password={FIRST}")]);
    let authority = vault.authority();
    let known = [("VAULT_ADDR", vault.address.as_str()), ("VAULT_CACERT", &authority)];
    let with_token = [known[0], known[1], ("VAULT_TOKEN", TOKEN)];
    let all = [
        ("new", "ref+vault://secret/app/db#password"),
        ("old", "ref+vault://secret/app/db?version=1#/password"),
        ("port", "ref+vault://secret/app/db#port"),
        ("first", "ref+vault://team/kv1/a b/c#password"),
    ];
    let file = scene.write(&app(&all));
    run(&scene, &["validate"], &file, &[]).expect(0);
    run(&scene, &["diff"], &file, &with_token).expect(0).says("(secret)");
    run(&scene, &["apply", "--yes"], &file, &with_token).expect(0);
    assert_eq!(all.map(|(key, _)| data(&scene, key)), [NEW, OLD, "5432", FIRST]);
    // The token of `vault login`, and the variables of OpenBao.
    let home = scene.folder.path().join("home");
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(scan::input(&home.join(".vault-token")), format!("{TOKEN}\n")).unwrap();
    let home = home.display().to_string();
    let plan = ["plan", "--detailed-exit-code"];
    run(&scene, &plan, &file, &[known[0], known[1], ("HOME", &home)]).expect(0);
    let of_bao = [("BAO_ADDR", known[0].1), ("BAO_CACERT", known[1].1), ("BAO_TOKEN", TOKEN)];
    run(&scene, &plan, &file, &of_bao).expect(0);
    // A file beside the desired state says neither who is asked nor with which token.
    let own = scene.folder.path().join(".env");
    std::fs::write(&own, "VAULT_ADDR=https://127.0.0.1:1\n").unwrap();
    run(&scene, &plan, &file, &with_token).expect(0);
    std::fs::remove_file(&own).unwrap();
    for (what, text, env, said) in [
        ("no address", all[0].1, &[][..], "`VAULT_ADDR` is not set"),
        ("no token", all[0].1, &known[..], "there is no token for the vault"),
        (
            "another token",
            all[0].1,
            &[known[0], known[1], ("VAULT_TOKEN", "other-Token")][..],
            "the token may not read it",
        ),
        ("no authority", all[0].1, &[known[0], with_token[2]][..], "the vault cannot be asked"),
        ("no secret", "ref+vault://secret/app/none#a", &with_token[..], "there is no such secret"),
        ("no key", "ref+vault://secret/app/db#user", &with_token[..], "the secret has no key `user`"),
        (
            "no version",
            "ref+vault://secret/app/db?version=9#password",
            &with_token[..],
            "there is no such secret",
        ),
        ("no store", "ref+vault://none/app/db#password", &with_token[..], "the token may not read it"),
        ("no versions", "ref+vault://team/kv1/x?version=1#a", &with_token[..], "the store keeps no versions"),
    ] {
        let file = scene.write(&app(&[("a", text)]));
        let output = run(&scene, &["plan"], &file, env);
        assert!(output.stderr.contains(said), "{what}: {}", output.stderr);
        output.expect(1);
    }
    let elsewhere = scene.write(&app(&[("a", "ref+vault://secret/a?address=https://evil.example.org#b")]));
    run(&scene, &["plan"], &elsewhere, &with_token)
        .expect(64)
        .complains("`address` cannot be said in a file");
    scan::files(scene.folder.path());
}

#[test]
fn the_cluster_gives_secrets_that_it_holds() {
    let scene = scene("held");
    let namespace = scene.namespace.clone();
    let pair = format!("--from-literal=password={STORED}");
    let json = format!("--from-literal=all.json={{\"db\": {{\"password\": \"{STORED}\"}}}}");
    scene.cluster.tool("kubectl", &["create", "secret", "generic", "db", "-n", &namespace, &pair, &json]);
    scene
        .cluster
        .tool("kubectl", &["create", "configmap", "db", "-n", &namespace, "--from-literal=host=db.internal"]);
    let all = [
        ("password", "ref+k8s://v1/Secret/NS/db/password"),
        ("part", "ref+k8s://v1/Secret/NS/db/all.json#/db/password"),
        ("host", "ref+k8s://v1/ConfigMap/NS/db/host"),
    ];
    let file = scene.write(&app(&all));
    run(&scene, &["apply", "--yes"], &file, &[]).expect(0);
    assert_eq!(all.map(|(key, _)| data(&scene, key)), [STORED, STORED, "db.internal"]);
    // A secret that changed is a change, and neither what it was nor what it is now is shown.
    let changed = "changed-Secret-3307";
    let patch = serde_json::json!({"stringData": {"password": scan::secret(changed)}}).to_string();
    scene.cluster.tool("kubectl", &["patch", "secret", "db", "-n", &namespace, "-p", &patch]);
    let output = run(&scene, &["diff"], &file, &[]).expect(0);
    assert!(output.stdout.contains("password"), "{}", output.stdout);
    run(&scene, &["plan", "--detailed-exit-code"], &file, &[]).expect(2);
    for (text, said) in [
        ("ref+k8s://v1/Secret/NS/none/a", "there is no Secret"),
        ("ref+k8s://v1/Secret/NS/db/user", "it has no key `user`"),
        ("ref+k8s://v1/Secret/NS/db/all.json#/db/user", "there is no value at this key"),
    ] {
        let file = scene.write(&app(&[("a", text)]));
        run(&scene, &["plan"], &file, &[]).expect(1).complains(said);
    }
    // Who may not read it is told so.
    let rules = [("", "secrets", "create"), ("", "configmaps", "get")];
    let user = scene.cluster.as_user_with(&namespace, "blind", scene.folder.path(), &rules);
    let file = scene.write(&app(&all));
    let mut blind = command(["plan", file.to_str().unwrap()]);
    let output = finish(blind.env("KUBECONFIG", user.kubeconfig()).current_dir(scene.folder.path()));
    assert_ne!(output.code, 0);
}

#[test]
fn a_program_gives_a_secret_only_if_somebody_permits_it() {
    let scene = scene("program");
    let folder = scene.folder.path();
    let program = folder.join("give");
    let script = format!(
        "#!/bin/sh\necho ran >>'{}'\n[ \"$1\" = 'the db' ] || {{ echo refused >&2; exit 3; }}\nprintf '{{\"password\": \"{WRITTEN}\"}}\\n'\n",
        folder.join("log").display()
    );
    std::fs::write(scan::input(&program), script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let ran = || std::fs::read_to_string(folder.join("log")).map_or(0, |text| text.lines().count());
    let one = format!("ref+exec://{} 'the db'#/password", program.display());
    let file = scene.write(&app(&[("a", &one), ("b", &one)]));
    for verb in [&["plan"][..], &["apply", "--yes"], &["diff"]] {
        run(&scene, verb, &file, &[])
            .expect(64)
            .complains("it runs a program")
            .complains("`--allow-exec` permits it");
    }
    run(&scene, &["validate"], &file, &[]).expect(0);
    assert_eq!(ran(), 0, "it ran without a permission");
    run(&scene, &["apply", "--yes", "--allow-exec"], &file, &[]).expect(0);
    assert_eq!([data(&scene, "a"), data(&scene, "b")], [WRITTEN, WRITTEN]);
    assert_eq!(ran(), 1, "it is asked once");
    // The file of a plan does not permit it either.
    let saved = folder.join("plan.json");
    let other = scene.write(&app(&[("a", &one), ("b", "plain")]));
    let save = ["plan", "--allow-exec", "--out", saved.to_str().unwrap()];
    run(&scene, &save, &other, &[]).expect(0);
    run(&scene, &["apply"], &saved, &[]).expect(64).complains("`--allow-exec` permits it");
    run(&scene, &["apply", "--allow-exec"], &saved, &[]).expect(0);
    let wrong = scene.write(&app(&[("a", &format!("ref+exec://{} x", program.display()))]));
    run(&scene, &["plan", "--allow-exec"], &wrong, &[]).expect(1).complains("refused it: refused");
    let missing = scene.write(&app(&[("a", "ref+exec://no-such-program x")]));
    run(&scene, &["plan", "--allow-exec"], &missing, &[]).expect(1).complains("is not on PATH");
    scan::files(folder);
}
