//! Fields that others own, case by case: what is taken, left and refused.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

use super::*;
use crate::dsf;
use crate::model::GroupVersionKind;

struct EveryFile;

impl dsf::Files for EveryFile {
    fn kind(&self, path: &Path) -> dsf::PathKind {
        if path.ends_with("Chart.yaml") { dsf::PathKind::File } else { dsf::PathKind::Folder }
    }
}

fn rules(more: &str, adopt: Adopt) -> FieldRules {
    let text = format!(
        "[namespaces.shop]\n[apps.web]\nenabled = true\nnamespace = \"shop\"\nchart = \"./chart\"\n{more}\n"
    );
    let source = dsf::Source { name: "a.toml".to_owned(), bytes: text.into_bytes(), dir: ".".into() };
    let loaded = dsf::load(&[source], &BTreeMap::new(), &EveryFile, &dsf::Options::default()).unwrap();
    FieldRules::new(&loaded.state.releases[0], adopt, false)
}

fn key() -> ObjectKey {
    ObjectKey {
        gvk: GroupVersionKind::new("apps/v1", "Deployment"),
        namespace: Some("shop".to_owned()),
        name: "web".to_owned(),
    }
}

fn entry(manager: &str, operation: &str, subresource: &str, fields: Json) -> Json {
    json!({"manager": manager, "operation": operation, "subresource": subresource, "apiVersion": "apps/v1",
        "fieldsV1": fields, "time": "2026-02-01T00:00:00Z"})
}

fn body() -> Json {
    json!({"metadata": {"name": "web"}, "spec": {"replicas": 2, "template": {"spec": {"containers": [
        {"name": "web", "image": "app:2", "env": [{"name": "A", "value": "1"}]}]}}}})
}

/// The live object: ours, with `spec.replicas` and the image as given, and these entries besides ours.
fn live(replicas: u64, image: &str, others: &[Json]) -> Json {
    let mut live = body();
    live["spec"]["replicas"] = json!(replicas);
    live["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
    live["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
    live["metadata"]["annotations"] =
        json!({"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "shop"});
    live["metadata"]["managedFields"] = Json::from(others);
    live
}

fn image_of(manager: &str, operation: &str) -> Json {
    let element = json!({"k:{\"name\":\"web\"}": {"f:image": {}}});
    entry(manager, operation, "", json!({"f:spec": {"f:template": {"f:spec": {"f:containers": element}}}}))
}

fn scale_of(manager: &str) -> Json {
    entry(manager, "Update", "scale", json!({"f:spec": {"f:replicas": {}}}))
}

const REPLICAS: &str = "spec.replicas";
const IMAGE: &str = "spec.template.spec.containers[name=web].image";

/// What is done with the fields, as words, and the body.
fn told(settled: &Settled) -> Vec<String> {
    let words = |word: &str, fields: &[Contested]| {
        fields.iter().map(|field| format!("{word} {} {}", field.path, field.manager)).collect::<Vec<_>>()
    };
    let kept = settled.kept.iter().map(|(path, to)| match to {
        LeftTo::Manager(manager) => format!("keep {path} {manager}"),
        LeftTo::Autoscaler => format!("keep {path} autoscaler"),
    });
    let mut all = [words("take", &settled.taken), words("fail", &settled.refused)].concat();
    all.extend(kept);
    all
}

#[test]
fn the_class_of_a_manager_decides_where_no_rule_does() {
    for (others, expected) in [
        (vec![image_of("kubectl-edit", "Update")], vec![format!("take {IMAGE} kubectl-edit")]),
        (vec![image_of("my-operator", "Update")], vec![format!("keep {IMAGE} my-operator")]),
        (vec![image_of("argocd-controller", "Apply")], vec![format!("fail {IMAGE} argocd-controller")]),
        (
            vec![scale_of("kube-controller-manager")],
            vec![format!("keep {REPLICAS} kube-controller-manager (by scale)")],
        ),
        (vec![scale_of("kubectl")], vec![format!("take {REPLICAS} kubectl (by scale)")]),
        (
            vec![image_of("kubectl-edit", "Update"), image_of("my-operator", "Apply")],
            vec![format!("keep {IMAGE} my-operator")],
        ),
        (
            vec![image_of("my-operator", "Apply"), image_of("pulumi-kubernetes", "Apply")],
            vec![format!("fail {IMAGE} pulumi-kubernetes")],
        ),
        (vec![], vec![]),
    ] {
        let live = live(5, "app:1", &others);
        let mut sent = body();
        let settled = settle(&key(), &mut sent, Some(&live), &rules("", Adopt::Never), false);
        assert_eq!(told(&settled), expected);
        let is_kept = |path: &str| expected.iter().any(|told| told.starts_with(&format!("keep {path} ")));
        for path in [REPLICAS, IMAGE] {
            let left_out = FieldPath::parse(path).find(&sent).is_none();
            assert_eq!(left_out, is_kept(path), "{path}: {sent}");
        }
        assert_eq!(sent["spec"]["template"]["spec"]["containers"][0]["name"], "web");
    }
}

#[test]
fn rules_of_the_file_come_first_and_the_first_that_fits_counts() {
    let others = [image_of("argocd-controller", "Apply"), scale_of("kubectl")];
    let live = live(5, "app:1", &others);
    for (more, expected) in [
        (
            "fieldConflicts = [{ manager = \"argocd*\", action = \"take\" }, { action = \"keep\" }]",
            vec![format!("take {IMAGE} argocd-controller"), format!("keep {REPLICAS} kubectl (by scale)")],
        ),
        (
            "fieldConflicts = [{ path = \"spec.replicas\", action = \"fail\" }, { path = \"spec\", action = \"take\" }]",
            vec![format!("take {IMAGE} argocd-controller"), format!("fail {REPLICAS} kubectl (by scale)")],
        ),
        (
            "fieldConflicts = [{ path = \"spec.template.spec.containers[name=web].image\", manager = \"*\", action = \"keep\" }]",
            vec![format!("take {REPLICAS} kubectl (by scale)"), format!("keep {IMAGE} argocd-controller")],
        ),
        (
            "fieldConflicts = [{ path = \"spec.template.spec.containers[name=db].image\", action = \"keep\" }]",
            vec![format!("take {REPLICAS} kubectl (by scale)"), format!("fail {IMAGE} argocd-controller")],
        ),
        (
            "ignore = [{ kind = \"Deployment\", path = \"spec.template.spec.containers[*].image\" }]",
            vec![format!("take {REPLICAS} kubectl (by scale)")],
        ),
    ] {
        let settled = settle(&key(), &mut body(), Some(&live), &rules(more, Adopt::Never), false);
        assert_eq!(told(&settled), expected, "{more}");
    }
}

#[test]
fn equal_values_are_shared_and_only_counted() {
    let live = live(2, "app:2", &[image_of("argocd-controller", "Apply"), scale_of("kubectl")]);
    let mut sent = body();
    let settled = settle(&key(), &mut sent, Some(&live), &rules("", Adopt::Never), false);
    assert_eq!((told(&settled), settled.shared), (vec![], 2));
    assert_eq!(sent, body());
}

/// Dropping a field that only we own would reset it.
#[test]
fn what_an_autoscaler_scales_keeps_its_number() {
    let ours = entry("helm", "Apply", "", json!({"f:spec": {"f:replicas": {}}}));
    for (others, more, sent_replicas) in [
        (vec![ours.clone()], "", Some(5)),
        (vec![scale_of("kube-controller-manager")], "", None),
        (vec![scale_of("kubectl")], "", None),
        (vec![ours.clone()], "fieldConflicts = [{ path = \"spec.replicas\", action = \"take\" }]", Some(2)),
        (
            vec![scale_of("kubectl")],
            "fieldConflicts = [{ path = \"spec.replicas\", action = \"take\" }]",
            Some(2),
        ),
    ] {
        let live = live(5, "app:2", &others);
        let mut sent = body();
        settle(&key(), &mut sent, Some(&live), &rules(more, Adopt::Never), true);
        assert_eq!(sent["spec"].get("replicas").and_then(Json::as_u64), sent_replicas, "{others:?} {more}");
        let autoscaler = json!({"kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"},
            "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}}});
        let rules = rules(more, Adopt::Never).with_autoscalers([&autoscaler]);
        let mut again = body();
        settle(&key(), &mut again, Some(&live), &rules, false);
        assert_eq!(again, sent, "an autoscaler of the chart counts like one of the cluster");
    }
    let mut created = body();
    settle(&key(), &mut created, None, &rules("", Adopt::Never), true);
    assert_eq!(created, body(), "what is created starts with the chart's number");
}

#[test]
fn ignored_fields_stay_as_they_are() {
    let more = "ignore = [{ kind = \"Deployment\", path = \"spec.replicas\" }, { kind = \"Deployment\", name = \"other\", path = \"spec.template\" }]";
    for (others, sent_replicas) in
        [(vec![], Some(5)), (vec![entry("x", "Update", "", json!({"f:spec": {"f:replicas": {}}}))], None)]
    {
        let live = live(5, "app:1", &others);
        let mut sent = body();
        let settled = settle(&key(), &mut sent, Some(&live), &rules(more, Adopt::Never), false);
        assert_eq!(sent["spec"].get("replicas").and_then(Json::as_u64), sent_replicas);
        assert_eq!(sent["spec"]["template"], body()["spec"]["template"]);
        assert_eq!(told(&settled), [""; 0]);
    }
    let rules = rules(more, Adopt::Never);
    assert_eq!(rules.without_ignored(&key(), &body())["spec"].get("replicas"), None);
}

#[test]
fn an_object_that_is_made_once_is_left_alone() {
    let rules = rules("createOnly = [{ kind = \"Deployment.apps\", name = \"web\" }]", Adopt::Never);
    let live = live(5, "app:1", &[image_of("argocd-controller", "Apply")]);
    assert!(settle(&key(), &mut body(), Some(&live), &rules, false).left_alone);
    assert!(!settle(&key(), &mut body(), None, &rules, false).left_alone);
}

#[test]
fn who_made_an_object_has_no_say_once_it_is_taken_over() {
    let others = [
        image_of("argocd-controller", "Apply"),
        entry(
            "kubectl-client-side-apply",
            "Update",
            "",
            json!({"f:spec": {"f:replicas": {}, "f:paused": {}}}),
        ),
        entry("my-operator", "Update", "", json!({"f:spec": {"f:extra": {}}})),
        entry("helm", "Update", "", json!({"f:spec": {"f:old": {}}})),
    ];
    let mut live = live(5, "app:1", &others);
    live["spec"]["extra"] = json!(1);
    let managers = |settled: &Settled| {
        let all: Vec<String> = settled.from.iter().map(|former| former.manager.clone()).collect();
        all
    };
    let ours = settle(&key(), &mut body(), Some(&live), &rules("", Adopt::Any), false);
    assert_eq!(managers(&ours), ["helm"]);
    assert_eq!(told(&ours).len(), 2);
    live["metadata"].as_object_mut().unwrap().remove("annotations");
    for (adopt, expected) in [
        (Adopt::Never, vec!["helm"]),
        (Adopt::Unowned, vec!["argocd-controller", "kubectl-client-side-apply", "helm"]),
    ] {
        let settled = settle(&key(), &mut body(), Some(&live), &rules("", adopt), false);
        assert_eq!(managers(&settled), expected, "{adopt:?}");
        assert_eq!(settled.refused.is_empty(), adopt == Adopt::Unowned);
        let stays: Vec<String> = settled.stays.iter().map(|field| field.path.to_string()).collect();
        assert_eq!(stays, if adopt == Adopt::Unowned { vec!["spec.extra"] } else { vec![] });
    }
}

/// A plain POST by anything: who wrote when the object was made, and is the only one, made it.
#[test]
fn an_unknown_maker_is_told_by_the_time() {
    let at = |manager: &str, time: &str| {
        let mut entry = entry(manager, "Update", "", json!({"f:spec": {"f:paused": {}}}));
        entry["time"] = time.into();
        entry
    };
    let (made, later) = ("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z");
    for (others, expected) in [
        (vec![at("script", made)], vec!["script"]),
        (vec![at("script", later)], vec![]),
        (vec![at("script", made), at("operator", later)], vec!["script"]),
        (vec![at("script", made), at("operator", made)], vec![]),
        (vec![at("script", made), at("kubectl-create", made)], vec!["kubectl-create"]),
        (vec![at("kubectl-label", made), at("script", made)], vec!["script"]),
        (vec![at("kube-controller-manager", made)], vec![]),
    ] {
        let mut live = live(2, "app:2", &others);
        live["metadata"].as_object_mut().unwrap().remove("annotations");
        let settled = settle(&key(), &mut body(), Some(&live), &rules("", Adopt::Unowned), false);
        let from: Vec<&str> = settled.from.iter().map(|former| former.manager.as_str()).collect();
        assert_eq!(from, expected, "{others:?}");
    }
}
