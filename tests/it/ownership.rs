//! Whose field is whose, on the real API server: what people, controllers and other deployers write, and what
//! becomes of it.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use crate::support::scan;
use crate::support::scene::Scene;

const WEB: &str = "[apps.web]\nenabled = true\nnamespace = \"NS\"\nchart = \"CHARTS/web\"\n";

fn codes(of: &Json) -> Vec<&str> {
    of["reasons"].as_array().unwrap().iter().map(|reason| reason["code"].as_str().unwrap()).collect()
}

fn object<'a>(release: &'a Json, kind: &str) -> &'a Json {
    let objects = release["objects"].as_array().unwrap();
    objects.iter().find(|object| object["kind"] == kind).unwrap_or_else(|| panic!("{kind}: {release}"))
}

impl Scene {
    fn kubectl(&self, arguments: &[&str]) -> String {
        self.cluster.tool("kubectl", &[arguments, &["-n", &self.namespace]].concat())
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Applies a manifest with kubectl as `flags` say.
    fn kubectl_apply(&self, text: &str, flags: &[&str]) {
        let path = self.file("applied.yaml", text);
        self.kubectl(&[&["apply", "-f", path.to_str().unwrap()], flags].concat());
    }

    fn live(&self, kind: &str, name: &str) -> Json {
        self.cluster.get(&self.namespace, kind, name).unwrap_or_else(|| panic!("{kind} {name} is there"))
    }

    fn applied(&self, apps: &str) -> PathBuf {
        let file = self.write(apps);
        self.cluster.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(0);
        file
    }

    #[track_caller]
    fn settled(&self, file: &std::path::Path) {
        self.cluster
            .statectl(["plan", file.to_str().unwrap(), "--detailed-exit-code"])
            .expect(0)
            .says("no changes");
    }
}

fn greeting(text: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web-config\ndata:\n  greeting: {text}\n")
}

/// What a person changed is taken back, by whichever tool, and named.
#[test]
fn what_people_changed_is_taken_back() {
    let scene = Scene::new("people");
    let file = scene.applied(WEB);
    type Change = fn(&Scene);
    let changes: [(&str, &str, Change); 4] = [
        ("kubectl-edit", "ConfigMap", |scene| {
            let patch = r#"{"data":{"greeting":"edited"}}"#;
            let arguments = ["patch", "configmap", "web-config", "--type=merge", "-p", patch];
            scene.kubectl(&[&arguments[..], &["--field-manager=kubectl-edit"]].concat());
        }),
        ("kubectl-client-side-apply", "ConfigMap", |scene| scene.kubectl_apply(&greeting("applied"), &[])),
        ("kubectl", "ConfigMap", |scene| {
            scene.kubectl_apply(&greeting("server-side"), &["--server-side", "--force-conflicts"]);
        }),
        ("kubectl", "Deployment", |scene| {
            scene.kubectl(&["scale", "deployment", "web", "--replicas=4"]);
        }),
    ];
    for (manager, kind, change) in changes {
        change(&scene);
        let plan = scene.plan(&file);
        let web = scene.release(&plan, "web");
        assert_eq!(
            (web["action"].as_str(), codes(web)),
            (Some("upgrade"), vec!["drifted"]),
            "{manager}: {web}"
        );
        let reasons = object(web, kind)["reasons"].as_array().unwrap();
        let taken = reasons.iter().find(|reason| reason["code"] == "fields-taken");
        let named = taken.unwrap_or_else(|| panic!("{manager}: {web}"))["manager"].as_str().unwrap();
        assert!(named.starts_with(manager), "{named}");
        scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(0);
        assert_eq!(scene.live("configmap", "web-config")["data"]["greeting"], "hello", "{manager}");
        assert_eq!(scene.live("deployment", "web")["spec"]["replicas"], 2, "{manager}");
        scene.settled(&file);
    }
}

#[test]
fn another_deployer_blocks_until_the_file_decides() {
    let scene = Scene::new("deployer");
    let file = scene.applied(WEB);
    let path = file.to_str().unwrap();
    let by_argo = |text: &str| {
        scene.kubectl_apply(
            &greeting(text),
            &["--server-side", "--force-conflicts", "--field-manager=argocd-controller"],
        );
    };
    by_argo("hello");
    scene.settled(&file);
    by_argo("from argo");
    let output = scene.cluster.statectl(["plan", path, "-o", "json"]).expect(4);
    let plan = output.json();
    let web = scene.release(&plan, "web");
    assert_eq!((web["action"].as_str(), codes(web)), (Some("blocked"), vec!["field-conflict"]), "{web}");
    let reason = &web["reasons"][0];
    assert_eq!(
        ["field", "manager", "from", "to"].map(|key| reason[key].as_str().unwrap()),
        ["data.greeting", "argocd-controller", "from argo", "hello"]
    );
    scene.cluster.statectl(["apply", path, "--yes"]).expect(4);
    assert_eq!(scene.live("configmap", "web-config")["data"]["greeting"], "from argo");

    // Kept: no change, and what else changes is applied without the field.
    let rule = |action: &str| {
        format!(
            "{WEB}fieldConflicts = [{{ path = \"data.greeting\", manager = \"argocd*\", action = \"{action}\" }}]\n"
        )
    };
    scene.write(&rule("keep"));
    scene.settled(&file);
    scene.write(&format!("{}values = {{ replicas = 3 }}\n", rule("keep")));
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    assert_eq!(scene.live("configmap", "web-config")["data"]["greeting"], "from argo");
    assert_eq!(scene.live("deployment", "web")["spec"]["replicas"], 3);
    scene.settled(&file);
    // The record says what Helm would have rendered.
    let manifest = scene.cluster.tool("helm4", &["get", "manifest", "web", "-n", &scene.namespace]);
    assert!(manifest.contains("greeting: \"hello\""), "{manifest}");

    // Taken: as the file says, and named.
    let file = scene.applied(&rule("take"));
    assert_eq!(scene.live("configmap", "web-config")["data"]["greeting"], "hello");
    scene.settled(&file);
}

#[test]
fn what_a_controller_writes_is_left_to_it() {
    let scene = Scene::new("controller");
    let file = scene.applied(WEB);
    scene.kubectl_apply(
        &greeting("by the operator"),
        &["--server-side", "--force-conflicts", "--field-manager=greeting-operator"],
    );
    scene.settled(&file);
    let plan = scene.plan(&file);
    let map = object(scene.release(&plan, "web"), "ConfigMap");
    assert_eq!((map["action"].as_str(), codes(map)), (Some("none"), vec!["proven", "fields-left"]), "{map}");
    let text = scene.cluster.statectl(["plan", file.to_str().unwrap()]).expect(0).stdout;
    assert!(text.contains("leaves data.greeting") && text.contains("`greeting-operator`"), "{text}");
}

#[test]
fn an_autoscaler_keeps_the_number_of_replicas() {
    let scene = Scene::new("autoscaler");
    let file = scene.applied(WEB);
    let path = file.to_str().unwrap();
    scene.kubectl(&["autoscale", "deployment", "web", "--min=3", "--max=5", "--cpu-percent=80"]);
    let deadline = Instant::now() + Duration::from_secs(60);
    while scene.live("deployment", "web")["spec"]["replicas"] != 3 {
        assert!(Instant::now() < deadline, "the autoscaler scales");
        std::thread::sleep(Duration::from_millis(500));
    }
    scene.settled(&file);
    // An upgrade that says another number, and changes something else.
    scene.write(&format!("{WEB}values = {{ replicas = 1, greeting = \"two\" }}\n"));
    let plan = scene.plan(&file);
    let deployment = object(scene.release(&plan, "web"), "Deployment");
    assert!(codes(deployment).contains(&"left-to-autoscaler"), "{deployment}");
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    assert_eq!(scene.live("deployment", "web")["spec"]["replicas"], 3, "not reset, and not fought over");
    scene.settled(&file);
    // A person's scale is the autoscaler's business too.
    scene.kubectl(&["scale", "deployment", "web", "--replicas=5"]);
    scene.settled(&file);
}

/// Secrets are masked in conflicts as everywhere.
#[test]
fn a_conflict_over_a_secret_shows_no_value() {
    let scene = Scene::new("secret-conflict");
    let file =
        scene.applied(&format!("{WEB}values = {{ apiKey = \"{}\" }}\n", scan::secret("our-hush-hush")));
    scan::secret("their-hush-hush");
    let secret =
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: web-key\nstringData:\n  apiKey: their-hush-hush\n";
    let plain =
        secret.replace("stringData:\n  apiKey: their-hush-hush", "data:\n  apiKey: dGhlaXItaHVzaC1odXNo");
    scene.kubectl_apply(&plain, &["--server-side", "--force-conflicts", "--field-manager=pulumi-kubernetes"]);
    for arguments in [vec!["plan"], vec!["plan", "-o", "json"]] {
        let mut arguments = arguments;
        arguments.push(file.to_str().unwrap());
        let output = scene.cluster.statectl(arguments).expect(4);
        assert!(output.stdout.contains("data.apiKey"), "{}", output.stdout);
    }
}

/// `ignore` and `createOnly`.
#[test]
fn what_the_file_leaves_alone_stays() {
    let scene = Scene::new("left-alone");
    let apps = format!(
        "{WEB}values = {{ apiKey = \"one\" }}\ncreateOnly = [{{ kind = \"Secret\", name = \"web-key\" }}]\n\
         ignore = [{{ kind = \"ConfigMap\", path = \"data.greeting\" }}]\n"
    );
    let file = scene.applied(&apps);
    let key = || scene.live("secret", "web-key")["data"]["apiKey"].clone();
    let first = key();
    scene.write(&apps.replace("\"one\"", "\"two\""));
    scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(0);
    assert_eq!(key(), first, "made once");
    let patch = r#"{"data":{"greeting":"by hand"}}"#;
    scene.kubectl(&["patch", "configmap", "web-config", "--type=merge", "-p", patch]);
    scene.settled(&file);
    scene.write(&apps.replace("\"one\"", "\"two\", greeting = \"new\", replicas = 1"));
    scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(0);
    assert_eq!(scene.live("configmap", "web-config")["data"]["greeting"], "by hand");
    scene.settled(&file);
    scene.kubectl(&["delete", "secret", "web-key"]);
    scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(0);
    assert_ne!(key(), first, "made again when it is gone");
}

/// Entries of client-side Helm are moved first, so that what the chart drops or swaps goes.
#[test]
fn a_release_of_client_side_helm_swaps_and_drops_fields() {
    let scene = Scene::new("swap");
    let chart = scene.folder.path().join("chart");
    std::fs::create_dir_all(chart.join("templates")).unwrap();
    std::fs::write(chart.join("Chart.yaml"), "apiVersion: v2\nname: swap\nversion: 1.0.0\n").unwrap();
    let template = |env: &str, strategy: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: swap\nspec:\n{strategy}  selector:\n    matchLabels: {{ a: swap }}\n  \
             template:\n    metadata:\n      labels: {{ a: swap }}\n    spec:\n      containers:\n        - name: c\n          \
             image: registry.k8s.io/pause:3.10\n          env:\n{env}"
        )
    };
    let write = |text: String| std::fs::write(chart.join("templates/d.yaml"), text).unwrap();
    write(template("            - { name: A, value: one }\n            - { name: B, value: two }\n", ""));
    scene.cluster.tool("helm3", &["install", "swap", chart.to_str().unwrap(), "-n", &scene.namespace]);
    let apps = "[apps.swap]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\nadopt = \"unowned\"\n";
    let before = scene.cluster.uid(&scene.namespace, "deployment", "swap");
    write(template(
        "            - name: A\n              valueFrom: { fieldRef: { fieldPath: metadata.name } }\n",
        "  strategy: { type: Recreate }\n",
    ));
    let file = scene.write(apps);
    let plan = scene.plan(&file);
    let deployment = object(scene.release(&plan, "swap"), "Deployment");
    let folded =
        deployment["reasons"].as_array().unwrap().iter().find(|reason| reason["code"] == "ownership-folded");
    let told = folded.unwrap_or_else(|| panic!("{plan}"))["message"].as_str().unwrap();
    assert!(told.contains("client-side Helm"), "{told}");
    let fields: Vec<&str> = deployment["fields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|field| field["path"].as_str().unwrap())
        .collect();
    assert!(fields.iter().any(|field| field.ends_with("env[name=B]")), "{fields:?}");
    scene.cluster.statectl(["apply", file.to_str().unwrap(), "--yes"]).expect(0);
    let live = scene.live("deployment", "swap");
    let env = &live["spec"]["template"]["spec"]["containers"][0]["env"];
    assert_eq!(env.as_array().unwrap().len(), 1, "{env}");
    assert!(env[0]["valueFrom"].is_object() && env[0].get("value").is_none(), "{env}");
    assert_eq!(live["spec"]["strategy"], serde_json::json!({"type": "Recreate"}));
    assert_eq!(live["metadata"]["uid"], before);
    scene.settled(&file);
}

/// A user who may not list autoscalers: the plan says what it cannot know.
#[test]
fn autoscalers_that_may_not_be_listed_are_told() {
    let scene = Scene::new("unlisted");
    let file = scene.applied(WEB);
    let name = format!("{}-most", scene.namespace);
    scene.kubectl(&["create", "serviceaccount", "most"]);
    let role = format!("--clusterrole={name}");
    let account = format!("--serviceaccount={}:most", scene.namespace);
    let groups = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: ROLE}\nrules:\n  \
                  - {apiGroups: [\"\", apps, policy, networking.k8s.io, apiextensions.k8s.io], resources: [\"*\"], verbs: [\"*\"]}\n";
    scene.kubectl_apply(&groups.replace("ROLE", &name), &[]);
    scene.kubectl(&["create", "clusterrolebinding", &name, &role, &account]);
    let token = scene.kubectl(&["create", "token", "most"]);
    scan::secret(token.trim());
    let text = std::fs::read_to_string(&scene.cluster.kubeconfig).unwrap();
    let mut config: Json = serde_yaml::from_str(&text).unwrap();
    config["users"][0]["user"] = serde_json::json!({"token": token.trim()});
    let kubeconfig = scene.file("most.kubeconfig", &config.to_string());
    let user = crate::support::cluster::Cluster { kubeconfig, audit_log: scene.cluster.audit_log.clone() };
    scene.write(&format!("{WEB}values = {{ replicas = 3 }}\n"));
    let path = file.to_str().unwrap();
    let told = format!("the HorizontalPodAutoscalers of namespace {} may not be listed", scene.namespace);
    user.statectl(["plan", path]).expect(0).says(&told);
    let notes = user.statectl(["plan", path, "-o", "json"]).expect(0).json()["notes"].to_string();
    assert!(notes.contains(&told), "{notes}");
    let plan = scene.plan(&file);
    assert!(!plan["notes"].to_string().contains("may not be listed"), "{plan}");
}

/// What a certificate injector writes into a webhook configuration stays, through upgrades and with `--verify=all`.
#[test]
fn an_injected_bundle_stays() {
    let scene = Scene::new("injected");
    let chart = scene.folder.path().join("chart");
    std::fs::create_dir_all(chart.join("templates")).unwrap();
    std::fs::write(chart.join("Chart.yaml"), "apiVersion: v2\nname: hook\nversion: 1.0.0\n").unwrap();
    let write = |client: &str, operations: &str| {
        let text = format!(
            "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {{ name: {} }}\n\
             webhooks:\n  - name: w.example.org\n    admissionReviewVersions: [v1]\n    sideEffects: None\n    \
             clientConfig: {{ {client}service: {{ namespace: none, name: none }} }}\n    \
             rules: [{{ apiGroups: [none.example.org], apiVersions: [v1], operations: [{operations}], resources: [x] }}]\n",
            scene.namespace
        );
        std::fs::write(chart.join("templates/w.yaml"), text).unwrap();
    };
    let live = || {
        let kind = "validatingwebhookconfiguration";
        scene.cluster.get(&scene.namespace, kind, &scene.namespace).unwrap()["webhooks"][0].clone()
    };
    let apps = "[apps.web]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\n";
    // Without a bundle, with an empty one, and with one that only holds the place.
    for (at, client) in ["", "caBundle: \"\", ", "caBundle: Cg==, "].into_iter().enumerate() {
        write(client, "CREATE");
        let file = scene.applied(apps);
        let bundle = ["YnVuZGxlIDA=", "YnVuZGxlIDE=", "YnVuZGxlIDI="][at];
        let patch =
            format!(r#"[{{"op":"add","path":"/webhooks/0/clientConfig/caBundle","value":"{bundle}"}}]"#);
        let manager = "--field-manager=cert-manager-cainjector";
        let kind = "validatingwebhookconfiguration";
        let (_, refused) = scene
            .cluster
            .try_tool("kubectl", &["patch", kind, &scene.namespace, "--type=json", "-p", &patch, manager]);
        assert!(refused.contains("patched"), "{refused}");
        scene.settled(&file);
        let path = file.to_str().unwrap();
        scene.cluster.statectl(["plan", path, "--verify=all", "--detailed-exit-code"]).expect(0);
        scene.cluster.statectl(["drift", path, "--detailed-exit-code"]).expect(0);
        write(client, "CREATE, UPDATE");
        scene.applied(apps);
        assert_eq!(live()["clientConfig"]["caBundle"], bundle, "{client}");
        assert_eq!(live()["rules"][0]["operations"], serde_json::json!(["CREATE", "UPDATE"]));
        scene.settled(&file);
        scene.cluster.statectl(["destroy", path, "--yes"]).expect(0);
    }
}
