//! The commands of docs/guides, run as they stand there, one after the other.

use std::path::Path;

use crate::support::helmsman::Helmsman;
use crate::support::repository;
use crate::support::scene::Scene;

/// The commands in the code blocks of a guide.
fn commands(guide: &str) -> Vec<String> {
    let text = std::fs::read_to_string(repository("docs/guides").join(guide)).unwrap();
    let blocks = text.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let lines: Vec<String> = blocks.flat_map(str::lines).map(str::to_owned).collect();
    assert!(lines.iter().all(|line| line.starts_with("statectl ")), "only our own commands: {lines:?}");
    lines
}

/// Runs the commands of a guide; the namespace `shop` is that of the scene.
fn follow(scene: &Scene, guide: &str) {
    let commands = commands(guide);
    assert!(commands.len() >= 3, "{guide}");
    for command in commands {
        let ours = command.replace("-n shop ", &format!("-n {} ", scene.namespace));
        let words: Vec<&str> = ours.split_whitespace().skip(1).collect();
        let output = scene.cluster.statectl_in(scene.folder.path(), &words);
        assert_eq!(output.code, 0, "{guide}: {command}\n{}\n{}", output.stdout, output.stderr);
        if words.contains(&"--detailed-exit-code") {
            assert!(output.stdout.contains("no changes"), "{guide}: {command}\n{}", output.stdout);
        }
    }
}

fn copy_chart(scene: &Scene) {
    let chart = repository("examples/charts/web");
    let copied = std::process::Command::new("cp").arg("-r").arg(chart).arg(scene.folder.path()).status();
    assert!(copied.unwrap().success());
}

fn write(scene: &Scene, name: &str, text: &str) -> std::path::PathBuf {
    let path = scene.folder.path().join(name);
    std::fs::write(&path, text.replace("NS", &scene.namespace)).unwrap();
    path
}

fn install(scene: &Scene, chart: &Path, rest: &[&str]) {
    let arguments = [&["install", "web", chart.to_str().unwrap(), "-n", &scene.namespace][..], rest].concat();
    scene.cluster.tool("helm4", &arguments);
}

#[test]
fn the_guide_from_helm_works_as_it_stands() {
    let scene = Scene::new("guide-helm");
    install(
        &scene,
        &repository("examples/charts/web"),
        &["--set", "apiKey=kept-secret", "--set", "replicas=3"],
    );
    follow(&scene, "from-helm.md");
}

#[test]
fn the_guide_from_helmsman_works_as_it_stands() {
    let scene = Scene::new("guide-helmsman");
    copy_chart(&scene);
    let text = "context: NS\nnamespaces:\n  NS:\napps:\n  web:\n    namespace: NS\n    enabled: true\n    chart: ./web\n    version: 1.0.0\n";
    let file = write(&scene, "shop.yaml", text);
    // Helmsman's paths start at the file; the stand-in runs elsewhere.
    let chart = scene.folder.path().join("web");
    let absolute = write(&scene, "absolute.yaml", &text.replace("./web", chart.to_str().unwrap()));
    Helmsman { cluster: scene.cluster, helm: "helm4" }.apply(&absolute);
    assert!(file.exists());
    follow(&scene, "from-helmsman.md");
}

#[test]
fn the_guide_from_helmfile_works_as_it_stands() {
    let scene = Scene::new("guide-helmfile");
    copy_chart(&scene);
    write(
        &scene,
        "helmfile.yaml",
        "environments:\n  prod: { values: [{ replicas: 3 }] }\n  test: { values: [{ replicas: 1 }] }\n---\nreleases:\n  - name: web\n    \
         namespace: NS\n    chart: ./web\n    values:\n      - replicas: {{ .Values.replicas }}\n",
    );
    install(&scene, &scene.folder.path().join("web"), &["--set", "replicas=3"]);
    follow(&scene, "from-helmfile.md");
}

/// The tutorial: its files are written as they stand there, its commands end as they say.
#[test]
fn the_tutorial_works_as_it_stands() {
    let scene = Scene::new("tutorial");
    let charts = repository("examples/charts");
    let copied = std::process::Command::new("cp").arg("-r").arg(charts).arg(scene.folder.path()).status();
    assert!(copied.unwrap().success());
    let text = std::fs::read_to_string(repository("docs/tutorial.md")).unwrap();
    let own = |text: &str| {
        let space = &scene.namespace;
        let text = text.replace("namespaces.shop", &format!("namespaces.{space}"));
        let text = text.replace("\"shop\"", &format!("\"{space}\"")).replace("shop/", &format!("{space}/"));
        text.replace("context = \"tutorial\"", &format!("context = \"{space}\""))
    };
    let (mut files, mut commands) = (0, 0);
    for block in text.split("\n```").skip(1).step_by(2) {
        let (kind, body) = block.split_once('\n').unwrap();
        if kind == "toml" {
            files += 1;
            std::fs::write(scene.folder.path().join("shop.toml"), own(body)).unwrap();
            continue;
        }
        assert_eq!(kind, "sh");
        for line in body.lines() {
            commands += 1;
            let (command, code) = line.split_once("   # ends with ").unwrap_or((line, "0"));
            let ours = own(command);
            let words: Vec<&str> = ours.split_whitespace().skip(1).collect();
            let output = scene.cluster.statectl_in(scene.folder.path(), &words);
            assert_eq!(output.code.to_string(), code, "{command}\n{}\n{}", output.stdout, output.stderr);
        }
    }
    assert!(files == 4 && commands > 15, "{files} files, {commands} commands");
    let claims = scene.cluster.tool("kubectl", &["get", "pvc", "-n", &scene.namespace, "-o", "name"]);
    assert!(claims.contains("persistentvolumeclaim/"), "the claims stay: {claims}");
}
