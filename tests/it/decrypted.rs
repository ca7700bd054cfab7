//! Secrets of a desired-state file: read in memory, given to the chart, and shown nowhere.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::support::scan;
use crate::support::scene::{Scene, chart};
use crate::support::statectl::{Output, command, finish};

const FROM_SOPS: &str = "sops-Secret-4711";
const FROM_ENV: &str = "env-Secret-4712";
const FROM_FILE: &str = "file-Secret-4713";
const FROM_KEY: &str = "key-Secret-4714\nsecond-Line-4715";

/// Puts each value where a careless chart would, and one of them where the server repeats it in a refusal.
const TEMPLATE: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
  annotations: { example.org/all: {{ toJson .Values | quote }} }
data:
  sops: {{ .Values.sops | quote }}
  env: {{ .Values.env | quote }}
  file: {{ .Values.file | quote }}
  key: {{ .Values.key | quote }}
---
apiVersion: v1
kind: Secret
metadata: { name: {{ .Release.Name }} }
stringData: { sops: {{ .Values.sops | quote }} }
{{- if .Values.broken }}
---
apiVersion: v1
kind: Service
metadata: { name: {{ .Values.env | quote }} }
spec: { ports: [{ port: 80 }] }
{{- end }}
{{- if .Values.fails }}{{ fail (printf "no %s" .Values.file) }}{{ end }}
"#;

/// A `sops` that knows one file and refuses all others.
const SOPS: &str = "#!/bin/sh\n[ \"$1\" = --decrypt ] || exit 9\ncase \"$2\" in\n*good.yaml) printf 'sops: SOPS\\nnested:\\n  - SOPS\\n' ;;\n*) echo \"Error getting data key: 0 successful groups required, got 0\" >&2; exit 128 ;;\nesac\n";

fn program(folder: &Path) {
    std::fs::create_dir_all(folder.join("bin")).unwrap();
    let path = folder.join("bin/sops");
    std::fs::write(&path, SOPS.replace("SOPS", FROM_SOPS)).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn run(scene: &Scene, arguments: &[&str], with_sops: bool) -> Output {
    let folder = scene.folder.path();
    let mut command = command(arguments);
    let path = if with_sops {
        format!("{}:/usr/bin:/bin", folder.join("bin").display())
    } else {
        "/nonexistent".to_owned()
    };
    let temporary = folder.join("tmp");
    std::fs::create_dir_all(&temporary).unwrap();
    finish(
        command
            .env("KUBECONFIG", scene.cluster.kubeconfig())
            .env("PATH", path)
            .env("TMPDIR", &temporary)
            .env("THE_SECRET", FROM_ENV)
            .current_dir(folder),
    )
}

fn secrets() -> impl Iterator<Item = &'static str> {
    [FROM_SOPS, FROM_ENV, FROM_FILE].into_iter().chain(FROM_KEY.lines())
}

fn scene(test: &str) -> Scene {
    let scene = Scene::new(test);
    let folder = scene.folder.path();
    chart(folder, &[("templates/a.yaml", TEMPLATE), ("values.yaml", "broken: false\nfails: false\n")]);
    program(folder);
    std::fs::write(folder.join("secret.txt"), format!("{FROM_FILE}\n")).unwrap();
    let keys = serde_json::json!({"a": [{"b": FROM_KEY}]});
    std::fs::write(folder.join("keys.yaml"), keys.to_string()).unwrap();
    // Of keys that only the program reads.
    let sealed = "sops: ENC[AES256_GCM,data:x]\nsops: { pgp: [{ fp: 85D77543B3D624B6 }] }\n";
    for name in ["good.yaml", "bad.yaml"] {
        std::fs::write(folder.join(name), sealed.replacen("sops", "value", 1)).unwrap();
    }
    for text in secrets().chain([FROM_KEY]) {
        scan::secret(text);
    }
    for name in ["bin/sops", "secret.txt", "keys.yaml"] {
        scan::input(&folder.join(name));
    }
    scene
}

const APP: &str = "[apps.r]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\nsecretsFile = \"good.yaml\"\n\
                   set = { env = \"ref+env://THE_SECRET\", file = \"ref+file://secret.txt\" }\n";

fn app(values: &str) -> String {
    format!("{APP}values = {{ key = \"ref+file://./keys.yaml#/a/0/b\"{values} }}\n")
}

#[test]
fn secrets_reach_the_cluster_and_no_output() {
    let scene = scene("secrets");
    let write = |text: &str| scene.write(text).to_str().unwrap().to_owned();
    let file = write(&app(""));
    let saved = scene.folder.path().join("plan.json").display().to_string();
    let report = scene.folder.path().join("report.json").display().to_string();
    let json = format!("json={report}");
    run(&scene, &["validate", &file], false).expect(0);
    for arguments in [&["config", &file][..], &["config", &file, "-o", "json"]] {
        run(&scene, arguments, false).expect(0).says("ref+env://THE_SECRET");
    }
    for arguments in [
        &["plan", &file][..],
        &["plan", &file, "-o", "json", "-o", &json],
        &["plan", &file, "-o", "yaml", "--out", &saved],
        &["diff", &file],
        &["diff", &file, "-o", "json"],
    ] {
        let output = run(&scene, arguments, true).expect(0);
        assert!(!output.stdout.is_empty());
    }
    run(&scene, &["apply", &file, "--yes", "-o", "json"], true).expect(0);
    scan::files(scene.folder.path());
    let map = scene.cluster.get(&scene.namespace, "configmap", "r").unwrap();
    let data = |key: &str| map["data"][key].as_str().unwrap().to_owned();
    assert_eq!(
        [data("sops"), data("env"), data("file"), data("key")],
        [FROM_SOPS, FROM_ENV, FROM_FILE, FROM_KEY]
    );
    run(&scene, &["plan", &file, "--detailed-exit-code"], true).expect(0);
    // A change of one key shows the others, which did not change, in its context.
    let other = write(&app(", more = \"x\""));
    run(&scene, &["diff", &other], true).expect(0);
    run(&scene, &["status", &other], true).expect(0);
    run(&scene, &["drift", &other], true).expect(0);
    // The server repeats a name that it refuses, and a chart a value that it does not like.
    let broken = write(&app(", broken = true"));
    let output = run(&scene, &["plan", &broken], true).expect(4);
    assert!(output.stdout.contains("(secret)"), "{}", output.stdout);
    let fails = write(&app(", fails = true"));
    run(&scene, &["plan", &fails], true).expect(1).complains("no (secret)");
    scan::files(scene.folder.path());
}

#[test]
fn what_cannot_be_decrypted_stops_its_release_only() {
    let scene = scene("secrets-locked");
    let second = "[apps.b]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\n";
    let file = scene.write(&format!("{}{second}secretsFiles = [\"bad.yaml\"]\n", app("")));
    let file = file.to_str().unwrap();
    let output = run(&scene, &["plan", file, "-o", "json"], true).expect(1);
    let output = output.complains("bad.yaml cannot be decrypted").complains("Error getting data key");
    let plan = output.json();
    assert_eq!(scene.release(&plan, "b")["action"], "blocked");
    assert_eq!(scene.release(&plan, "r")["action"], "install");
    // Without the program it is the same, and says what to do.
    run(&scene, &["plan", file], false)
        .expect(1)
        .complains("needs keys of other kinds than age")
        .complains("it is encrypted to PGP 85D77543B3D624B6")
        .complains("the program `sops` is not on PATH: install it from https://getsops.io");
    let unset = scene.write(&format!("{second}set = {{ a = \"ref+env://NOBODY\" }}\n"));
    run(&scene, &["plan", unset.to_str().unwrap()], true)
        .expect(1)
        .complains("the environment variable `NOBODY` is not set");
    let no_key = scene.write(&format!("{second}set = {{ a = \"ref+file://keys.yaml#/a/7\" }}\n"));
    run(&scene, &["plan", no_key.to_str().unwrap()], true)
        .expect(1)
        .complains("there is no value at this key");
}
