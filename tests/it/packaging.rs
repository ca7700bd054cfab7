//! What is given along to run it by a schedule, on the real API server.

use crate::support::repository;
use crate::support::scene::Scene;

/// The manifests are taken as they are, and the pod of a run is admitted where only restricted ones are.
#[test]
fn the_scheduled_job_is_admitted_where_only_restricted_pods_are() {
    let scene = Scene::new("packaged");
    let space = scene.namespace.as_str();
    let text = std::fs::read_to_string(repository("packaging/cronjob.yaml")).unwrap();
    let own = text.replace("namespace: statectl", &format!("namespace: {space}")).replace(
        "kind: Namespace\nmetadata:\n  name: statectl",
        &format!("kind: Namespace\nmetadata:\n  name: {space}"),
    );
    assert_eq!(own.matches(space).count(), 3, "{own}");
    let file = scene.folder.path().join("all.yaml");
    std::fs::write(&file, own).unwrap();
    scene.cluster.tool("kubectl", &["apply", "--server-side", "-f", file.to_str().unwrap()]);
    scene
        .cluster
        .tool("kubectl", &["create", "configmap", "statectl", "-n", space, "--from-literal=statectl.toml=x"]);
    scene.cluster.tool("kubectl", &["create", "job", "run", "--from=cronjob/statectl", "-n", space]);
    let arguments = ["wait", "--for=condition=complete", "job/run", "-n", space, "--timeout=60s"];
    scene.cluster.tool("kubectl", &arguments);
    let pods = scene.cluster.tool("kubectl", &["get", "pods", "-n", space, "-o", "name"]);
    assert_eq!(pods.lines().count(), 1, "{pods}");
    // A pod that asks for more is refused there: the label does what it says.
    let bad = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: bad, namespace: {space}}}\n\
         spec: {{containers: [{{name: c, image: x, securityContext: {{privileged: true}}}}]}}\n"
    );
    std::fs::write(&file, bad).unwrap();
    let (taken, said) = scene.cluster.try_tool("kubectl", &["apply", "-f", file.to_str().unwrap()]);
    assert!(!taken && said.contains("violates PodSecurity"), "{said}");
}

/// The arguments in the manifest are such as the program takes.
#[test]
fn the_arguments_of_the_scheduled_job_are_known() {
    let text = std::fs::read_to_string(repository("packaging/cronjob.yaml")).unwrap();
    let line = text.lines().find_map(|line| line.trim().strip_prefix("args: [")).unwrap();
    let arguments: Vec<&str> = line.trim_end_matches(']').split(", ").collect();
    // The file is not there: it is named, and nothing else is wrong.
    crate::support::statectl::offline(arguments).expect(64).complains("/file/statectl.toml");
}
