//! The roles that `statectl rbac` prints, and what is asked before the first write, on the real API server.

use std::time::{Duration, Instant};

use serde_json::Value as Json;

use crate::support::cluster::Cluster;
use crate::support::proxy::Proxy;
use crate::support::scene::{Scene, chart};
use crate::support::statectl::offline;

const CONFIG_MAP: &str =
    "{{ if .Values.map }}\napiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\n{{ end }}\n";
const DEPLOYMENT: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: { name: a }
spec:
  replicas: 1
  selector: { matchLabels: { app: a } }
  template:
    metadata: { labels: { app: a } }
    spec: { containers: [{ name: a, image: registry.k8s.io/pause:3.9 }] }
"#;
const ROLES: &str = r#"
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: reader }
rules: [{ apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [get] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: reader }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader }
subjects: [{ kind: ServiceAccount, name: default, namespace: {{ .Release.Namespace }} }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: viewer }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view }
subjects: [{ kind: ServiceAccount, name: default, namespace: {{ .Release.Namespace }} }]
"#;
const HOOK: &str = r#"
apiVersion: batch/v1
kind: Job
metadata: { name: hook, annotations: { helm.sh/hook: pre-install } }
spec:
  backoffLimit: 0
  template:
    spec: { restartPolicy: Never, containers: [{ name: a, image: registry.k8s.io/pause:3.9 }] }
"#;
const CLASS: &str = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: { name: {{ .Release.Namespace }} }\nvalue: 1\n";

/// A chart with objects of a namespace and of the whole cluster, roles and a hook, and a namespace with marks.
fn scene(name: &str) -> (Scene, String) {
    let scene = Scene::new(name);
    let files = [
        ("templates/a.yaml", CONFIG_MAP),
        ("templates/b.yaml", DEPLOYMENT),
        ("templates/c.yaml", ROLES),
        ("templates/d.yaml", HOOK),
        ("templates/e.yaml", CLASS),
        ("values.yaml", "map: true\n"),
    ];
    chart(scene.folder.path(), &files);
    let path = write(&scene, "");
    (scene, path)
}

fn write(scene: &Scene, more: &str) -> String {
    let apps = format!(
        "labels = {{ team = \"shop\" }}\nquotas = {{ pods = \"90\" }}\n[settings]\nleaseDuration = \"30s\"\n[apps.web]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\n{more}"
    );
    scene.write(&apps).to_str().unwrap().to_owned()
}

/// Makes an account of this name, with these manifests, and waits until the server knows its rights.
fn user(scene: &Scene, name: &str, printed: &Json, without: Option<(usize, usize)>) -> Cluster {
    let folder = scene.folder.path();
    let user = scene.cluster.as_user_with(&scene.namespace, name, folder, &[]);
    let mut items = Vec::new();
    let mut expected = Vec::new();
    for (at, scope) in printed["scopes"].as_array().unwrap().iter().enumerate() {
        let all = scope["rules"].as_array().unwrap();
        let rules = all.iter().enumerate().filter(|(number, _)| without != Some((at, *number)));
        let rules: Vec<Json> = rules.map(|(_, rule)| rule["rule"].clone()).collect();
        let mut role = printed["manifests"][2 * at].clone();
        let mut binding = printed["manifests"][2 * at + 1].clone();
        let called = format!("{}-{}-{name}", scene.namespace, role["metadata"]["name"].as_str().unwrap());
        role["rules"] = Json::from(rules.clone());
        role["metadata"]["name"] = Json::from(called.as_str());
        binding["metadata"]["name"] = Json::from(called.as_str());
        binding["roleRef"]["name"] = Json::from(called.as_str());
        binding["subjects"][0]["name"] = Json::from(name);
        items.extend([role, binding]);
        expected.extend(rules.last().cloned().map(|rule| (scope["namespace"].clone(), rule)));
    }
    let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": items});
    let file = folder.join(format!("{name}-roles.json"));
    std::fs::write(&file, list.to_string()).unwrap();
    scene.cluster.tool("kubectl", &["apply", "-f", file.to_str().unwrap()]);
    let began = Instant::now();
    for (_, rule) in expected {
        let verb = rule["verbs"][0].as_str().unwrap();
        let (resource, group) =
            (rule["resources"][0].as_str().unwrap(), rule["apiGroups"][0].as_str().unwrap());
        let named = rule["resourceNames"][0].as_str().map(|name| format!("/{name}")).unwrap_or_default();
        let dot = if group.is_empty() { "" } else { "." };
        let what = format!("{resource}{dot}{group}{named}");
        let mut arguments = vec!["auth", "can-i", verb, &what, "-n", &scene.namespace];
        if let Some((_, sub)) = resource.split_once('/') {
            arguments = vec!["auth", "can-i", verb, "pods", "--subresource", sub, "-n", &scene.namespace];
        }
        while !user.try_tool("kubectl", &arguments).0 {
            assert!(began.elapsed() < Duration::from_secs(20), "{arguments:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    user
}

/// Returns what an account sent since `mark`: method, path and answer.
fn sent(scene: &Scene, name: &str, mark: u64) -> Vec<(String, String, u64)> {
    let account = format!("system:serviceaccount:{}:{name}", scene.namespace);
    let entries = scene.cluster.requests_since(mark);
    let own = entries.iter().filter(|entry| entry["user"]["username"] == account.as_str());
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    own.map(|entry| {
        let code = entry["responseStatus"]["code"].as_u64().unwrap_or_default();
        (text(&entry["verb"]), text(&entry["requestURI"]), code)
    })
    .collect()
}

fn writes(sent: &[(String, String, u64)]) -> Vec<&(String, String, u64)> {
    let reads = ["get", "list", "watch"];
    let is_write = |(verb, uri, _): &&(String, String, u64)| {
        !reads.contains(&verb.as_str()) && !uri.contains("dryRun=All") && !uri.contains("/selfsubject")
    };
    sent.iter().filter(is_write).collect()
}

#[test]
fn the_printed_roles_are_enough_and_each_rule_of_them_is_needed() {
    let (scene, path) = scene("rbac");
    let subject = format!("serviceaccount:{}/full", scene.namespace);
    // No cluster is asked.
    let printed = offline(["rbac", &path, "--subject", &subject, "-o", "json"]).expect(0).json();
    assert_eq!(printed["format"], "statectl.rbac/v1");
    let rules = |scope: usize| printed["scopes"][scope]["rules"].as_array().unwrap().clone();
    let mut number = 0;
    for scope in 0..printed["scopes"].as_array().unwrap().len() {
        for (at, rule) in rules(scope).iter().enumerate().filter(|(_, rule)| rule["optional"] == false) {
            number += 1;
            let name = format!("less-{number}");
            let less = user(&scene, &name, &printed, Some((scope, at)));
            let mark = scene.cluster.audit_mark();
            let refused = less.statectl(["apply", &path, "--yes"]);
            let told = format!("without {rule}: {}{}", refused.stdout, refused.stderr);
            assert!([1, 4].contains(&refused.code), "{told}");
            assert!(refused.stderr.contains(&format!("statectl rbac {path} --ask-server")), "{told}");
            let sent = sent(&scene, &name, mark);
            assert!(!sent.is_empty(), "{told}");
            assert!(writes(&sent).is_empty(), "{told}: {:#?}", writes(&sent));
        }
    }
    assert!(number > 8, "{printed}");

    let full = user(&scene, "full", &printed, None);
    let mark = scene.cluster.audit_mark();
    full.statectl(["apply", &path, "--yes"]).expect(0);
    full.statectl(["plan", &path, "--detailed-exit-code"]).expect(0);
    let path = write(&scene, "set = { map = \"false\" }");
    full.statectl(["apply", &path, "--yes"]).expect(0);
    assert!(scene.cluster.get(&scene.namespace, "configmap", "a").is_none());
    full.statectl(["destroy", &path, "--yes"]).expect(0);
    // What it asked for and did not get is only what it may do without.
    let denied: Vec<_> = sent(&scene, "full", mark).into_iter().filter(|(_, _, code)| *code == 403).collect();
    let optional = |uri: &str| uri.starts_with("/api/v1/secrets?") || uri == "/api/v1/namespaces/kube-system";
    assert!(denied.iter().all(|(_, uri, _)| optional(uri)), "{denied:#?}");
}

#[test]
fn a_user_is_told_every_missing_right_at_once_before_anything_is_written() {
    let all = [
        ("", "secrets,configmaps,services,serviceaccounts,pods", "get,list,watch,create,update,patch,delete"),
        ("apps", "deployments,replicasets", "get,list,watch,create,update,patch,delete"),
        ("coordination.k8s.io", "leases", "get,create,update,delete"),
    ];
    let scene = Scene::new("rbac-users");
    let file = |set: &str, settings: &str| {
        let apps = format!(
            "[settings]\n{settings}\n[apps.web]\nenabled = true\nnamespace = \"NS\"\nchart = \"CHARTS/web\"\n{set}\n"
        );
        scene.write(&apps).to_str().unwrap().to_owned()
    };
    let path = file("", "");
    let (namespace, folder) = (scene.namespace.as_str(), scene.folder.path());
    let nothing_written = |name: &str, mark: u64| {
        let sent = sent(&scene, name, mark);
        assert!(writes(&sent).is_empty(), "{name}: {sent:#?}");
    };
    let no_update = [
        ("", "secrets", "get,list,create"),
        ("", "configmaps,services", "get,list,create,patch"),
        ("apps", "deployments", "get,list"),
        all[2],
    ];
    let user = scene.cluster.as_user_with(namespace, "no-update", folder, &no_update);
    let mark = scene.cluster.audit_mark();
    user.statectl(["apply", &path, "--yes"])
        .expect(4)
        .complains("patch, update secrets (Secret/web-key, records of")
        .complains("create, patch deployments.apps (Deployment/web)")
        .complains("nothing was written");
    let told = user.statectl(["doctor", &path]).expect(1);
    told.says("fail  rights").says("patch, update secrets (Secret/web-key, records of");
    nothing_written("no-update", mark);

    let no_leases = [all[0], all[1]];
    let user = scene.cluster.as_user_with(namespace, "no-leases", folder, &no_leases);
    let mark = scene.cluster.audit_mark();
    user.statectl(["apply", &path, "--yes"]).expect(4).complains("leases").complains("lock = \"secret\"");
    nothing_written("no-leases", mark);

    // Without the right to delete everything goes, as long as nothing has to.
    let no_delete = [
        ("", "secrets,configmaps,services,serviceaccounts,pods", "get,list,watch,create,update,patch"),
        ("apps", "deployments,replicasets", "get,list,watch,create,update,patch"),
        ("coordination.k8s.io", "leases", "get,create,update"),
    ];
    let user = scene.cluster.as_user_with(namespace, "no-delete", folder, &no_delete);
    user.statectl(["apply", &path, "--yes"]).expect(0);
    let mark = scene.cluster.audit_mark();
    user.statectl(["destroy", &path, "--yes"])
        .expect(4)
        .complains("delete deployments.apps (Deployment/web)")
        .complains("delete secrets (Secret/web-key, records of");
    nothing_written("no-delete", mark);

    // Somebody who may do everything is asked about once for each namespace.
    let path = file("set = { greeting = \"other\" }", "");
    let proxy = Proxy::start(scene.cluster);
    proxy.cluster().statectl(["apply", &path, "--yes"]).expect(0);
    let asked = |proxy: &Proxy| proxy.seen().iter().filter(|seen| seen.uri.contains("/selfsubject")).count();
    assert_eq!(asked(&proxy), 1);
    proxy.clear();
    proxy.cluster().statectl(["apply", &path, "--yes"]).expect(0);
    assert_eq!(asked(&proxy), 0, "where nothing is written, nobody is asked");
}

#[test]
fn a_kind_that_only_the_cluster_knows_is_asked_for() {
    let scene = Scene::new("rbac-kinds");
    let thing = "apiVersion: x.example.com/v1\nkind: Thing\nmetadata: { name: a }\n";
    chart(scene.folder.path(), &[("templates/a.yaml", thing)]);
    let path = scene.write("[apps.web]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\n");
    let path = path.to_str().unwrap();
    offline(["rbac", path]).expect(1).complains("x.example.com/v1/Thing").complains("--ask-server");
    scene
        .cluster
        .statectl(["rbac", path, "--ask-server"])
        .expect(1)
        .complains("CustomResourceDefinitions first");
    // With its definition in the chart nobody has to be asked.
    let definition = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: things.x.example.com }
spec:
  group: x.example.com
  names: { kind: Thing, plural: things }
  scope: Namespaced
  versions: [{ name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object } } }]
"#;
    chart(scene.folder.path(), &[("crds/a.yaml", definition)]);
    let text = offline(["rbac", path]).expect(0).says("- things\n").says("kind: ClusterRole\n").stdout;
    assert!(text.contains("- customresourcedefinitions\n"), "{text}");
    let wide = offline(["rbac", path, "--cluster-wide"]).expect(0).says("- namespaces\n").stdout;
    assert!(!wide.contains("kind: Role\n"), "{wide}");
}

/// Everything is asked in the name of the other user: its rights count, and the audit log has it.
#[test]
fn a_run_as_another_user_has_the_rights_of_that_user() {
    let scene = Scene::new("as-other");
    chart(scene.folder.path(), &[("templates/a.yaml", CONFIG_MAP), ("values.yaml", "map: true\n")]);
    let file = scene.write("[apps.web]\nenabled = true\nnamespace = \"NS\"\nchart = \"chart\"\n");
    let path = file.to_str().unwrap();
    let nobody = format!("{}-nobody", scene.namespace);
    scene.cluster.statectl(["apply", path, "--yes", "--as", &nobody]).expect(1).complains("forbidden");
    let somebody = format!("{}-somebody", scene.namespace);
    let mark = scene.cluster.audit_mark();
    let arguments = ["apply", path, "--yes", "--as", &somebody, "--as-group", "system:masters"];
    scene.cluster.statectl(arguments).expect(0);
    let entries = scene.cluster.requests_since(mark);
    let writes = entries.iter().filter(|entry| {
        entry["objectRef"]["namespace"] == scene.namespace.as_str()
            && entry["user"]["username"] == "admin"
            && ["create", "update", "patch"].contains(&entry["verb"].as_str().unwrap_or_default())
    });
    let users: Vec<&Json> = writes.map(|entry| &entry["impersonatedUser"]["username"]).collect();
    assert!(users.len() > 2 && users.iter().all(|user| **user == somebody.as_str()), "{users:?}");
    scene.cluster.statectl(["plan", path, "--as-group", "x"]).expect(64);
}
