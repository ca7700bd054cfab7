//! Several versions at once: what a newer statectl, a newer Helm or another tool left is refused or finished, and never
//! written over as if it was known.

use std::io::Write as _;

use base64::Engine as _;
use serde_json::{Value as Json, json};

use crate::kill::{End, forget_definition, identities, look, scene, write};
use crate::support::points;
use crate::support::proxy::{Fault, Proxy, Rule};
use crate::support::scene::Scene;
use crate::support::stored::Stored;

const TWO: &str = "set = { a = \"two\" }";
const RECORD: &str = "sh.helm.release.v1.r.v1";

/// Leaves a first install that was killed in the middle, and returns the file.
fn interrupted(scene: &Scene) -> String {
    let path = write(scene, TWO);
    let proxy = Proxy::start(scene.cluster);
    proxy.rule(Rule::on("PATCH", "/statefulsets/r?").unless("dryRun").times(1).fault(Fault::Hang));
    points::kill(&proxy, proxy.cluster().start_statectl(["apply", &path, "--yes"])).unwrap();
    assert_eq!(scene.helm_status("r"), ("pending-install".to_owned(), 1));
    path
}

/// Writes the file so that what another tool left is taken up after a second.
fn patient(path: &str) {
    let text = std::fs::read_to_string(path).unwrap();
    std::fs::write(path, text.replace("[settings]\n", "[settings]\nforeignPendingAfter = \"1s\"\n")).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2100));
}

#[track_caller]
fn converges(scene: &Scene, path: &str, before: &[String]) {
    scene.cluster.statectl(["apply", path, "--yes"]).expect(0);
    let mut wrong = Vec::new();
    look(scene, End::Desired, before, &mut wrong);
    assert_eq!(wrong, [""; 0]);
    forget_definition(scene);
}

fn version(scene: &Scene, kind: &str, name: &str) -> Json {
    let object = scene.cluster.get(&scene.namespace, kind, name).unwrap();
    object["metadata"]["resourceVersion"].clone()
}

/// Creates an object as another tool would.
fn create(scene: &Scene, manager: &str, object: &Json) {
    let file = scene.folder.path().join("object.json");
    std::fs::write(&file, object.to_string()).unwrap();
    let manager = format!("--field-manager={manager}");
    scene
        .cluster
        .tool("kubectl", &["create", "-n", &scene.namespace, "-f", file.to_str().unwrap(), &manager]);
}

#[test]
fn a_lock_of_a_newer_version_is_never_taken_over() {
    for number in [0, 1] {
        let scene = scene(&format!("versions-lock-{number}"));
        let path = write(&scene, TWO);
        let name = ["statectl.r".to_owned(), format!("statectl-context.{}", scene.namespace)][number].clone();
        let info = json!({"format": "statectl.lock/v2", "who": "ann@ci", "version": "9.0.0"}).to_string();
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": name, "annotations": {"statectl.io/lock-info": info}},
            // Silent for longer than this, it would be taken over if it was of a version that is known.
            "spec": {"holderIdentity": "x", "leaseDurationSeconds": 1},
        });
        create(&scene, "statectl", &lease);
        let before = version(&scene, "lease", &name);
        let end = scene.cluster.statectl(["apply", &path, "--yes", "--lock-wait", "4s"]).expect(75);
        let said = format!("{}{}", end.stdout, end.stderr);
        assert!(said.contains("locked by ann@ci") && said.contains("statectl 9.0.0"), "{said}");
        assert_eq!(version(&scene, "lease", &name), before);
        assert!(scene.cluster.get(&scene.namespace, "configmap", "r").is_none());
        assert!(scene.cluster.get(&scene.namespace, "secret", RECORD).is_none());
        // Whoever knows that nobody is there removes it.
        scene.cluster.tool("kubectl", &["delete", "lease", &name, "-n", &scene.namespace]);
        converges(&scene, &path, &[]);
    }
}

#[test]
fn an_operation_of_a_newer_version_counts_as_one_of_another_tool() {
    let scene = scene("versions-operation");
    let path = interrupted(&scene);
    let before = identities(&scene);
    let note = r#"statectl.io/operation={"format":"statectl.operation/v2","id":"x"}"#;
    scene
        .cluster
        .tool("kubectl", &["annotate", "secret", RECORD, note, "--overwrite", "-n", &scene.namespace]);
    let left = version(&scene, "secret", RECORD);
    drop(scene.cluster.statectl(["apply", &path, "--yes"]).expect(4).says("statectl unlock"));
    assert_eq!(version(&scene, "secret", RECORD), left);
    patient(&path);
    converges(&scene, &path, &before);
}

/// What is not known in a record stays in it when it is marked.
#[test]
fn what_a_newer_helm_adds_to_a_record_survives_recovery() {
    let scene = scene("versions-record");
    let path = interrupted(&scene);
    let before = identities(&scene);
    let mut record = Stored::read(scene.cluster, &scene.namespace, "r", 1).json;
    record["future"] = json!({"a": [1, "x"]});
    record["info"]["future"] = json!("kept");
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(record.to_string().as_bytes()).unwrap();
    let base64 = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
    let data = base64(base64(&packed.finish().unwrap()).as_bytes());
    let patch =
        json!({"data": {"release": data}, "metadata": {"labels": {"example.org/future": "yes"}}}).to_string();
    scene
        .cluster
        .tool("kubectl", &["patch", "secret", RECORD, "--type=merge", "-p", &patch, "-n", &scene.namespace]);
    converges(&scene, &path, &before);
    let marked = Stored::read(scene.cluster, &scene.namespace, "r", 1);
    assert_eq!(marked.json["info"]["status"], "failed");
    assert_eq!((&marked.json["future"], &marked.json["info"]["future"]), (&record["future"], &json!("kept")));
    assert_eq!(marked.label("example.org/future"), "yes");
}

/// What nelm leaves has no owner that could be asked, as what Helm leaves; what Flux leaves has one, and belongs to it.
#[test]
fn what_nelm_left_is_recovered_from_and_what_flux_left_is_named() {
    for manager in ["nelm", "helm-controller"] {
        let scene = scene(&format!("versions-{manager}"));
        let path = interrupted(&scene);
        let before = identities(&scene);
        // The same record, written by somebody else: no annotations of ours, and another writer.
        let mut record = scene.cluster.get(&scene.namespace, "secret", RECORD).unwrap();
        let metadata = record["metadata"].as_object_mut().unwrap();
        metadata.retain(|key, _| matches!(key.as_str(), "name" | "namespace" | "labels"));
        scene.cluster.tool("kubectl", &["delete", "secret", RECORD, "-n", &scene.namespace]);
        create(&scene, manager, &record);
        let left = version(&scene, "secret", RECORD);
        let refused = scene.cluster.statectl(["apply", &path, "--yes"]).expect(4);
        drop(refused.says(&format!("by {manager})")));
        assert_eq!(version(&scene, "secret", RECORD), left);
        patient(&path);
        if manager == "nelm" {
            converges(&scene, &path, &before);
            continue;
        }
        // However old it is; and where objects tell which HelmRelease it is, that is said.
        let label = ["label", "configmap", "r", "helm.toolkit.fluxcd.io/name=shop", "-n", &scene.namespace];
        scene.cluster.tool("kubectl", &label);
        let refused = scene.cluster.statectl(["apply", &path, "--yes"]).expect(4);
        drop(refused.says("managed by HelmRelease shop"));
        assert_eq!(version(&scene, "secret", RECORD), left);
        assert_eq!(identities(&scene), before);
        forget_definition(&scene);
    }
}
