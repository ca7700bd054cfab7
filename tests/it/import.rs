//! `import` of releases that real helm 3 and 4 made, on the real API server: the file's own plan proves it.

use std::path::PathBuf;

use serde_json::Value as Json;

use crate::support::proxy::{Fault, Proxy, Rule};
use crate::support::repository;
use crate::support::scene::Scene;
use crate::support::statectl::Output;
use crate::support::web::{Answer, Asked, Web};

const SECRET: &str = "s3cret \"word\" $HOME";

impl Scene {
    fn helm(&self, helm: &str, verb: &[&str], name: &str, chart: &str, rest: &[&str]) -> (bool, String) {
        let arguments = [verb, &[name, chart, "-n", &self.namespace], rest].concat();
        self.cluster.try_tool(helm, &arguments)
    }

    fn import(&self, arguments: &[&str]) -> Output {
        self.cluster.statectl_in(self.folder.path(), [&["import"][..], arguments].concat())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }
}

/// Imported, adopted, and nothing is left to do: with values of every kind, and secrets that are in no file of ours but in
/// the one that was asked for.
#[test]
fn releases_of_both_helms_become_a_file_without_changes() {
    for helm in ["helm3", "helm4"] {
        let scene = Scene::new(&format!("import-{helm}"));
        let chart = repository("examples/charts/web");
        let chart = chart.to_str().unwrap();
        let values = scene.path("values.yaml");
        let text = format!(
            "greeting: 'cost: $5'\nreplicas: 3\napiKey: {}\nextra: {{ list: [1, 'yes', {{ a: b }}], half: 0.5, on: true }}\n",
            Json::from(SECRET)
        );
        std::fs::write(&values, text).unwrap();
        let given = ["-f", values.to_str().unwrap()];
        for (name, rest) in [("web", &given[..]), ("plain", &[])] {
            let (done, said) = scene.helm(helm, &["install"], name, chart, rest);
            assert!(done, "{helm}: {said}");
        }
        for (file, syntax) in [("shop.toml", "apps.web.values"), ("shop.yaml", "apps:")] {
            let (env, namespace) = (format!("{file}.env"), scene.namespace.as_str());
            let arguments = ["-n", namespace, "--out", file, "--secrets", &env];
            let output = scene.import(&arguments).expect(0);
            assert_eq!(output.stdout, "", "{helm}");
            for name in ["plain", "web"] {
                assert!(
                    output.stderr.contains(&format!("proven  {namespace}/{name}")),
                    "{helm}: {}",
                    output.stderr
                );
            }
            let text = scene.read(file);
            assert!(text.contains(syntax) && text.contains("ref+env://WEB_APIKEY"), "{helm}: {text}");
            for shown in [&text, &output.stderr] {
                assert!(!shown.contains("s3cret"), "{helm}: {shown}");
            }
            assert!(scene.read(&env).contains("s3cret"), "{helm}");
        }
        // One of them is enough from here on; the other describes the same releases.
        let run = |verb: &[&str], file: &str| {
            let env = format!("{file}.env");
            let all = [verb, &[file, "-e", &env]].concat();
            scene.cluster.statectl_in(scene.folder.path(), all)
        };
        run(&["plan"], "shop.toml").expect(4);
        run(&["adopt", "--yes"], "shop.toml").expect(0);
        run(&["plan", "--detailed-exit-code"], "shop.toml").expect(0).says("no changes");
        run(&["plan", "--detailed-exit-code"], "shop.yaml").expect(0).says("no changes");
        let (done, said) = scene.helm(helm, &["upgrade"], "web", chart, &given);
        assert!(done, "{helm}: {said}");
    }
}

/// To stdout, with a chart that is named; nothing is written anywhere.
#[test]
fn an_import_writes_nothing_that_was_not_asked_for() {
    let scene = Scene::new("import-reads");
    let chart = repository("examples/charts/web");
    scene.helm("helm4", &["install"], "web", chart.to_str().unwrap(), &["--set", "apiKey=longsecret"]);
    let proxy = Proxy::start(scene.cluster);
    let named = format!("web={}", chart.display());
    let arguments = ["import", "-n", &scene.namespace, "--chart", &named, "--allow-outside-paths"];
    let output = proxy.cluster().statectl_in(scene.folder.path(), arguments).expect(0);
    assert_eq!(proxy.writes(), [""; 0]);
    assert_eq!(std::fs::read_dir(scene.folder.path()).unwrap().count(), 0);
    assert!(output.stdout.contains("apiKey: ref+env://WEB_APIKEY"), "{}", output.stdout);
    assert!(!output.stdout.contains("longsecret") && !output.stderr.contains("longsecret"));
    assert!(output.stderr.contains("statectl adopt"), "{}", output.stderr);

    // Without the chart nothing can be proven, and the file is there all the same.
    let output = scene.import(&["-n", &scene.namespace]).expect(4);
    assert!(
        output.stdout.contains("namespaces:") && output.stderr.contains("not proven"),
        "{}",
        output.stderr
    );
}

/// What was changed by hand, what failed, and charts that records do not hold whole are listed, with the reason.
#[test]
fn what_is_not_proven_is_listed_with_its_reason() {
    let scene = Scene::new("import-doubts");
    let chart = repository("examples/charts/web");
    let chart = chart.to_str().unwrap();
    for name in ["good", "edited", "failing"] {
        scene.helm("helm4", &["install"], name, chart, &[]);
    }
    let patch = r#"{"data":{"greeting":"by hand"}}"#;
    let arguments =
        ["patch", "configmap", "edited-config", "--type=merge", "-p", patch, "-n", &scene.namespace];
    scene.cluster.tool("kubectl", &arguments);
    let (done, _) = scene.helm("helm4", &["upgrade"], "failing", chart, &["--set", "replicas=-1"]);
    assert!(!done);
    // A null takes a default of the chart away; TOML cannot say it.
    let null = scene.path("null.yaml");
    std::fs::write(&null, "greeting: hello\npodAnnotations: null\n").unwrap();
    let (done, said) = scene.helm("helm4", &["install"], "nulls", chart, &["-f", null.to_str().unwrap()]);
    assert!(done, "{said}");
    let release = format!("{}/nulls", scene.namespace);
    scene
        .import(&["--release", &release, "--out", "nulls.toml"])
        .expect(64)
        .complains("podAnnotations is null");
    let parent = scene.path("parent");
    std::fs::create_dir_all(parent.join("charts")).unwrap();
    std::fs::write(
        parent.join("Chart.yaml"),
        "apiVersion: v2\nname: parent\nversion: 1.0.0\ndependencies: [{ name: web, version: 1.0.0, repository: '' }]\n",
    )
    .unwrap();
    let (copied, _) = (
        std::process::Command::new("cp").args(["-r", chart]).arg(parent.join("charts")).status().unwrap(),
        (),
    );
    assert!(copied.success());
    let (done, said) = scene.helm("helm4", &["install"], "nested", parent.to_str().unwrap(), &[]);
    assert!(done, "{said}");

    let output = scene.import(&["-n", &scene.namespace, "--out", "shop.yaml"]).expect(4);
    let line = |name: &str| {
        let key = format!("{}/{name} ", scene.namespace);
        output
            .stderr
            .lines()
            .find(|line| line.contains(&key))
            .unwrap_or_else(|| panic!("{name}: {}", output.stderr))
    };
    assert!(line("good").starts_with("proven"), "{}", line("good"));
    assert!(
        line("edited").contains("not proven") && line("edited").contains("upgrade"),
        "{}",
        line("edited")
    );
    assert!(line("nulls").starts_with("proven"), "{}", line("nulls"));
    assert!(line("failing").contains("not proven"), "{}", line("failing"));
    assert!(line("nested").contains("--chart parent="), "{}", line("nested"));
    // With the chart it is proven.
    let named = format!("parent={}", parent.display());
    let release = format!("{}/nested", scene.namespace);
    let arguments = ["--release", &release, "--chart", &named, "--out", "nested.toml"];
    let output = scene.import(&arguments).expect(0);
    assert!(output.stderr.starts_with("proven"), "{}", output.stderr);

    // Nothing is written over what is there, and a release that is not there is told.
    scene.import(&["-n", &scene.namespace, "--out", "shop.yaml"]).expect(64).complains("exists already");
    scene.import(&["--out", "x.yaml"]).expect(64).complains("-n NAMESPACE");
    scene.import(&["--release", "nowhere/nothing"]).expect(3).complains("nowhere/nothing");
}

/// A chart that a repository has is written as that, and a context is kept if it has no other releases.
#[test]
fn charts_of_repositories_and_contexts_are_recognised() {
    let scene = Scene::new("import-repo");
    let packed = scene.path("packed");
    std::fs::create_dir_all(&packed).unwrap();
    let chart = repository("examples/charts/web");
    let to = packed.to_str().unwrap();
    scene.cluster.tool("helm4", &["package", chart.to_str().unwrap(), "-d", to]);
    scene.cluster.tool("helm4", &["repo", "index", to]);
    let folder = packed.clone();
    let web = Web::start(move |asked: &Asked| {
        let name = asked.path.split('?').next().unwrap().trim_start_matches("/charts/");
        std::fs::read(folder.join(name)).map_or_else(|_| Answer::status(404), Answer::ok)
    });
    let archive = packed.join("web-1.0.0.tgz");
    for name in ["web", "api"] {
        scene.helm("helm4", &["install"], name, archive.to_str().unwrap(), &[]);
    }
    let label = |context: &str, name: &str| {
        let which = format!("owner=helm,name={name}");
        let mark = format!("HELMSMAN_CONTEXT={context}");
        let arguments =
            ["label", "secret", "-n", &scene.namespace, "-l", &which, &mark, "MANAGED-BY=HELMSMAN"];
        scene.cluster.tool("kubectl", &arguments);
    };
    let context = format!("{}-ctx", scene.namespace);
    label(&context, "web");
    label(&context, "api");
    let repo = format!("shop={}", web.url("/charts"));
    let cache = scene.path("cache");
    let run = |arguments: &[&str]| {
        let mut command = crate::support::statectl::command(arguments);
        command
            .env("KUBECONFIG", scene.cluster.kubeconfig())
            .env("STATECTL_CACHE", &cache)
            .current_dir(scene.folder.path());
        crate::support::statectl::finish(&mut command)
    };
    let all = ["import", "-n", &scene.namespace, "--repo", &repo, "--out", "all.toml"];
    let output = run(&all).expect(0);
    let text = scene.read("all.toml");
    for part in [
        "[helmRepos]\nshop = ",
        "chart = \"shop/web\"\nversion = \"1.0.0\"",
        &format!("context = \"{context}\""),
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!output.stderr.contains("adopt"), "{}", output.stderr);
    run(&["plan", "all.toml", "--detailed-exit-code"]).expect(0).says("no changes");
    // A part of a context must not get its name: the rest would count as having left the file.
    let release = format!("{}/web", scene.namespace);
    let output = run(&["import", "--release", &release, "--repo", &repo, "--out", "part.toml"]).expect(0);
    assert!(output.stderr.contains(&format!("{}/api", scene.namespace)), "{}", output.stderr);
    assert!(!scene.read("part.toml").contains(&context), "{}", scene.read("part.toml"));
}

/// Leaves the records of one test in a list of all namespaces: the others of the cluster come and go.
fn of_this_test(list: &mut Json) {
    let items = list["items"].as_array_mut().unwrap();
    items.retain(|item| item["metadata"]["namespace"].as_str().unwrap().starts_with("import-all-"));
}

#[test]
fn all_namespaces_are_imported_and_equal_names_told_apart() {
    let scene = Scene::new("import-all-one");
    let second = scene.cluster.namespace("import-all-two");
    let chart = repository("examples/charts/web");
    for namespace in [&scene.namespace, &second] {
        scene.cluster.tool("helm3", &["install", "web", chart.to_str().unwrap(), "-n", namespace]);
    }
    let proxy = Proxy::start(scene.cluster);
    proxy.rule(Rule::on("GET", "/api/v1/secrets?").fault(Fault::Change(of_this_test)));
    let named = format!("web={}", chart.display());
    let arguments = ["import", "-A", "--chart", &named, "--allow-outside-paths"];
    let output = proxy.cluster().statectl_in(scene.folder.path(), arguments).expect(0);
    for namespace in [&scene.namespace, &second] {
        let entry = format!("  {namespace}-web:\n    name: web\n    namespace: {namespace}\n");
        assert!(output.stdout.contains(&entry), "{}", output.stdout);
        assert!(output.stderr.contains(&format!("{namespace}/web")), "{}", output.stderr);
    }
    assert_eq!(output.stderr.matches("its plan says no changes").count(), 2, "{}", output.stderr);
    assert!(output.stdout.contains("context: imported"), "{}", output.stdout);

    // Without the right to see them all, that is said.
    let rules = [("", "secrets", "get,list")];
    let user = scene.cluster.as_user_with(&scene.namespace, "one", scene.folder.path(), &rules);
    user.statectl(["import", "-A"]).expect(1).complains("-n NAMESPACE");
}
