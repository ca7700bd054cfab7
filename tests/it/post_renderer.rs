//! `postRenderer`, against the post-renderers of both Helms.

use std::path::PathBuf;

use serde_json::Value as Json;

use crate::support::scene::{Scene, chart};
use crate::support::stored::Stored;

const TEMPLATES: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  a: \"1\" # kept\n---\n\
    apiVersion: v1\nkind: Secret\nmetadata:\n  name: {{ .Release.Name }}\nstringData: { b: c }\n";
const HOOK: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: hook\n  annotations: { helm.sh/hook: pre-install }\n\
    data: { a: \"1\" }\n";

/// Adds a label text to what it reads, and one object.
const SCRIPT: &str = "#!/bin/sh\nsed 's/a: \"1\"/a: \"2\"/'\nprintf -- '---\\napiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: %s}\\n' \"$1\"\n";

fn script(scene: &Scene, name: &str, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let path = scene.folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn app(renderer: &str) -> String {
    format!(
        "[apps.r]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\npostRenderer = \"{renderer}\"\n"
    )
}

#[test]
fn a_post_renderer_makes_the_record_that_helm_3_makes() {
    let scene = Scene::new("post-render");
    chart(scene.folder.path(), &[("templates/a.yaml", TEMPLATES), ("templates/h.yaml", HOOK)]);
    let program = script(&scene, "change.sh", SCRIPT);
    let file = scene.write(&app("./change.sh extra"));
    let path = file.to_str().unwrap();
    let refused = scene.cluster.statectl(["plan", path]).expect(4);
    drop(
        refused.says(
            "the post-renderer of app r would run a program, which is not allowed: `./change.sh extra`",
        ),
    );
    drop(scene.cluster.statectl(["apply", path, "--yes", "--allow-exec"]).expect(0));
    let ours = Stored::read(scene.cluster, &scene.namespace, "r", 1).json;

    let other = scene.cluster.namespace("post-render-helm");
    let folder = scene.folder.path().join("chart");
    let arguments = [
        &["install", "r", folder.to_str().unwrap(), "-n", other.as_str()][..],
        &["--post-renderer", program.to_str().unwrap(), "--post-renderer-args", "extra"],
    ]
    .concat();
    scene.cluster.tool("helm3", &arguments);
    let helms = Stored::read(scene.cluster, &other, "r", 1).json;
    // An empty line behind a document is how the record of Helm 4 differs from that of Helm 3.
    let text = |json: &Json| {
        let lines = json.as_str().unwrap().lines().filter(|line| !line.is_empty());
        lines.collect::<Vec<_>>().join("\n")
    };
    assert_eq!(text(&ours["manifest"]), text(&helms["manifest"]));
    assert_eq!(text(&ours["hooks"][0]["manifest"]), text(&helms["hooks"][0]["manifest"]));
    let get = |space: &str, kind: &str, name: &str| scene.cluster.get(space, kind, name).unwrap();
    for (kind, name) in [("configmap", "r"), ("secret", "r"), ("configmap", "extra"), ("configmap", "hook")] {
        let (a, b) = (get(&scene.namespace, kind, name), get(&other, kind, name));
        assert_eq!(a["data"], b["data"], "{kind} {name}");
    }
    assert_eq!(get(&scene.namespace, "configmap", "r")["data"]["a"], "2");
    assert_eq!(
        get(&scene.namespace, "configmap", "hook")["data"]["a"],
        "1",
        "hooks are not given to it, as in Helm 3"
    );

    // Nothing to do, although the program runs for each plan; what it changes is a change.
    drop(scene.cluster.statectl(["plan", path, "--allow-exec", "--detailed-exit-code"]).expect(0));
    script(&scene, "change.sh", &SCRIPT.replace("\"2\"", "\"3\""));
    let plan = scene.cluster.statectl(["plan", path, "--allow-exec", "-o", "json"]).json();
    assert_eq!(scene.release(&plan, "r")["reasons"][0]["code"], "manifest-changed");
}

#[test]
fn a_post_renderer_that_fails_stops_the_run_before_anything_is_written() {
    let scene = Scene::new("post-fails");
    chart(scene.folder.path(), &[("templates/a.yaml", TEMPLATES)]);
    script(
        &scene,
        "fail.sh",
        "#!/bin/sh\ncat >/dev/null\necho first >&2\necho 'no such overlay' >&2\nexit 2\n",
    );
    script(&scene, "empty.sh", "#!/bin/sh\ncat >/dev/null\n");
    script(&scene, "hang.sh", "#!/bin/sh\nsleep 30 & wait\n");
    for (renderer, part) in [
        ("./fail.sh", "`./fail.sh`: it ended with exit status: 2; it said last: first"),
        ("./empty.sh", "post-renderer returned empty output"),
        ("./hang.sh\"\ntimeout = \"1s", "did not end within 1 s, and was killed"),
        ("kustomize-plugin", "it has to be a program: plugins of Helm are not looked for"),
    ] {
        let file = scene.write(&app(renderer));
        let output =
            scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes", "--allow-exec"]).expect(1);
        assert!(output.stderr.replace("\n", " ").contains(part), "{renderer}: {}", output.stderr);
        assert!(scene.cluster.get(&scene.namespace, "configmap", "r").is_none());
    }
}
