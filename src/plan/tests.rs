//! Decisions, case by case: a small input, the action and the codes of its reasons.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use serde_json::{Value as Json, json};

use super::check::check;
use super::*;
use crate::diff::{Former, Verdict};
use crate::dsf::{self, state::DesiredState};
use crate::history::{self, History, Info, Status, Storage};
use crate::model::GroupVersionKind;
use crate::value::{Map, Value};

mod file_hooks;
mod held;
mod interrupted;
mod leaving;
mod rights;
mod taking_over;

struct EveryFile;

impl dsf::Files for EveryFile {
    fn kind(&self, path: &Path) -> dsf::PathKind {
        let is_file = path.extension().is_some_and(|ending| ending == "yaml" || ending == "sh");
        if is_file { dsf::PathKind::File } else { dsf::PathKind::Folder }
    }
}

/// A desired state with context `ours`, namespace `shop` and these apps.
fn state(apps: &str) -> DesiredState {
    let text = format!("context = \"ours\"\n[namespaces.shop]\n{apps}");
    let source = dsf::Source { name: "state.toml".to_owned(), bytes: text.into_bytes(), dir: ".".into() };
    match dsf::load(&[source], &BTreeMap::new(), &EveryFile, &dsf::Options::default()) {
        Ok(loaded) => loaded.state,
        Err(problems) => panic!("{problems}"),
    }
}

fn app(name: &str, more: &str) -> String {
    format!("[apps.{name}]\nenabled = true\nnamespace = \"shop\"\nchart = \"./chart\"\n{more}\n")
}

fn key(name: &str) -> ReleaseKey {
    ReleaseKey::new("shop", name)
}

/// A history of these states, the oldest first, each made of the chart in that version.
fn history_of(states: &[(Status, &str)]) -> History {
    let objects: Vec<Json> = states
        .iter()
        .zip(1..)
        .map(|((status, version), number)| {
            let release = history::Release {
                name: "web".to_owned(),
                namespace: "shop".to_owned(),
                version: number,
                info: Info { status: status.clone(), ..Info::default() },
                chart: Some(chart(version)),
                manifest: MANIFEST.to_owned(),
                apply_method: "ssa".to_owned(),
                ..history::Release::default()
            };
            let labels = history::labels_for("ours", "shop");
            let mut object =
                history::new_object(Storage::Secret, &release, &labels, Timestamp::UNIX_EPOCH).unwrap();
            object["metadata"]["uid"] = json!(format!("record-{number}"));
            object["metadata"]["resourceVersion"] = json!("7");
            object
        })
        .collect();
    history::group(Storage::Secret, &objects).remove(&key("web")).unwrap()
}

fn chart(version: &str) -> history::Chart {
    let metadata =
        [("name", "web"), ("version", version)].map(|(key, text)| (key.to_owned(), Value::from(text)));
    history::Chart { metadata: Some(metadata.into()), ..history::Chart::default() }
}

const MANIFEST: &str = "---\n# Source: web/templates/a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: \"1\"\n";

/// A history whose newest record has this status and the labels of `context`.
fn recorded(name: &str, status: Status, context: Option<&str>) -> History {
    let release = history::Release {
        name: name.to_owned(),
        namespace: "shop".to_owned(),
        version: 1,
        info: Info { status, description: "as it was".to_owned(), ..Info::default() },
        chart: Some(chart("1.0.0")),
        manifest: MANIFEST.to_owned(),
        apply_method: "ssa".to_owned(),
        ..history::Release::default()
    };
    let labels = context.map(|context| history::labels_for(context, "shop")).unwrap_or_default();
    let mut object = history::new_object(Storage::Secret, &release, &labels, Timestamp::UNIX_EPOCH).unwrap();
    object["metadata"]["uid"] = json!("record-uid");
    object["metadata"]["resourceVersion"] = json!("7");
    history::group(Storage::Secret, [&object]).remove(&key(name)).unwrap()
}

fn config_map(x: &str, owner: Option<&str>) -> Json {
    let mut object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "a", "namespace": "shop", "uid": "live-uid", "resourceVersion": "3"},
        "data": {"x": x},
    });
    if let Some(owner) = owner {
        object = body::stamped(object, &key(owner));
        object["metadata"]["managedFields"] = json!([{"manager": "helm", "operation": "Apply", "apiVersion": "v1",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:x": {}}}}]);
    }
    object
}

fn object_key(kind: &str) -> ObjectKey {
    ObjectKey {
        gvk: GroupVersionKind::new("v1", kind),
        namespace: Some("shop".to_owned()),
        name: "a".to_owned(),
    }
}

/// What the server holds, and what it says to `x: "1"`.
fn observed(live: Option<Json>, answer: ServerAnswer) -> ObservedObject {
    observed_with("", live, answer)
}

/// As [`observed`], with rules of the app.
fn observed_with(more: &str, live: Option<Json>, answer: ServerAnswer) -> ObservedObject {
    let mut body = body::stamped(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "1"}}),
        &key("web"),
    );
    let release = state(&app("web", more)).releases.remove(0);
    let rules = FieldRules::new(&release, release.adopt, false);
    let key = object_key("ConfigMap");
    let settled = settle(&key, &mut body, live.as_ref(), &rules, false);
    let around = Around { probe: Some(Probe::Accepted), ..Around::default() };
    ObservedObject { key, body, live, answer, around, settled }
}

fn accepted(result: Json) -> ServerAnswer {
    ServerAnswer::Accepted { result, warnings: Vec::new() }
}

fn as_desired() -> ObservedObject {
    observed(Some(config_map("1", Some("web"))), accepted(config_map("1", Some("web"))))
}

fn content(version: &str, objects: Vec<ObservedObject>) -> Content {
    Content {
        back_to: None,
        chart: chart(version),
        config: Map::new(),
        manifest: MANIFEST.to_owned(),
        notes: String::new(),
        hooks: Vec::new(),
        crds: Vec::new(),
        objects,
    }
}

/// An input with the one app `web`.
struct Case {
    more: &'static str,
    history: Result<History, Reason>,
    content: Option<Result<Content, Reason>>,
    remnants: Vec<Remnant>,
    operation: Operation,
    protected_by: Option<&'static str>,
}

impl Case {
    fn new(history: History, objects: Vec<ObservedObject>) -> Self {
        Self {
            more: "",
            history: Ok(history),
            content: Some(Ok(content("1.0.0", objects))),
            remnants: Vec::new(),
            operation: Operation::Reconcile,
            protected_by: None,
        }
    }

    fn input(self) -> PlanInput {
        let release = state(&app("web", self.more)).releases.remove(0);
        let wanted = Wanted {
            moved_from: None,
            release,
            protected_by: self.protected_by.map(str::to_owned),
            history: self.history,
            content: self.content,
            remnants: Ok(self.remnants),
        };
        input(vec![wanted], Vec::new(), self.operation)
    }

    /// Checks action and reason codes, and that the plan is sound and the same when it is made again.
    #[track_caller]
    fn check(self, action: &str, codes: &[&str]) -> Plan {
        let input = self.input();
        let plan = plan(&input);
        let release = plan.release(&key("web")).expect("it is planned");
        let found: Vec<&str> = release.reasons.iter().map(Reason::code).collect();
        assert_eq!((release.action.name(), found.as_slice()), (action, codes), "{:?}", release.reasons);
        assert_eq!(check(&plan), [""; 0]);
        assert_eq!(
            format!("{plan:?}"),
            format!("{:?}", super::plan(&input)),
            "the same input gives the same plan"
        );
        plan
    }
}

fn input(wanted: Vec<Wanted>, strays: Vec<Stray>, operation: Operation) -> PlanInput {
    PlanInput {
        adopts_from: None,
        really_new: false,
        partial: false,
        cluster: ClusterIdentity::default(),
        context: "ours".to_owned(),
        operation,
        removal_withheld: None,
        most_removals: None,
        reverse_removals: true,
        now: Timestamp::UNIX_EPOCH,
        salt: [0; 16],
        recovery: RecoveryInput::default(),
        hooks: app_hooks::HookInput::default(),
        skip_pending: false,
        scheduled: false,
        policy: None,
        checkout: None,
        namespaces: Vec::new(),
        quotas: Vec::new(),
        wanted,
        strays,
        notes: Vec::new(),
    }
}

fn none() -> History {
    History::new(key("web"))
}

fn deployed() -> History {
    recorded("web", Status::Deployed, Some("ours"))
}

fn missing() -> ObservedObject {
    observed(None, accepted(config_map("1", Some("web"))))
}

/// As [`missing`], with another name.
fn named(name: &str) -> ObservedObject {
    let mut object = missing();
    object.key.name = name.to_owned();
    object.body["metadata"]["name"] = json!(name);
    object
}

#[test]
fn an_object_has_one_release() {
    let releases = state(&[app("one", ""), app("two", "")].concat()).releases;
    let wanted = releases.into_iter().map(|release| Wanted {
        moved_from: None,
        history: Ok(History::new(release.key.clone())),
        release,
        protected_by: None,
        content: Some(Ok(content("1.0.0", vec![missing()]))),
        remnants: Ok(Vec::new()),
    });
    let decided = plan(&input(wanted.collect(), Vec::new(), Operation::Reconcile));
    let actions: Vec<&str> = decided.releases.iter().map(|release| release.action.name()).collect();
    assert_eq!(actions, ["install", "blocked"]);
    assert_eq!(
        decided.releases[1].reasons[0].to_string(),
        "ConfigMap shop/a is also applied by release shop/one"
    );
    assert_eq!(check(&decided), [""; 0]);
    Case::new(none(), vec![missing(), missing()]).check("blocked", &["applied-twice"]);
}

#[test]
fn an_object_on_its_way_out_is_not_as_desired() {
    let mut live = config_map("1", Some("web"));
    live["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let object = observed(Some(live), accepted(config_map("1", Some("web"))));
    Case::new(deployed(), vec![object]).check("blocked", &["being-deleted"]);
}

#[test]
fn claims_never_go_with_their_set() {
    let mut set = config_map("1", Some("web"));
    set["kind"] = json!("StatefulSet");
    set["spec"] = json!({"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"}});
    let mut case = Case::new(deployed(), vec![as_desired()]);
    case.remnants = vec![remnant("StatefulSet", Some(set))];
    case.check("blocked", &["data-would-go"]);
}

#[test]
fn what_client_side_helm_owns_and_the_chart_dropped_is_shown_to_go() {
    let fields = |paths: Json| {
        json!([{"manager": "helm", "operation": "Update", "apiVersion": "v1",
        "fieldsType": "FieldsV1", "fieldsV1": paths}])
    };
    let mut live = config_map("1", Some("web"));
    live["data"]["old"] = json!("x");
    live["metadata"]["managedFields"] = fields(json!({"f:data": {"f:x": {}, "f:old": {}}}));
    let with_old = MANIFEST.replace("x: \"1\"\n", "x: \"1\"\n  old: x\n");
    let mut history = deployed();
    let mut record = history.latest().unwrap().release.clone();
    record.manifest = with_old;
    let labels = history::labels_for("ours", "shop");
    let object = history::new_object(Storage::Secret, &record, &labels, Timestamp::UNIX_EPOCH).unwrap();
    history = history::group(Storage::Secret, [&object]).remove(&key("web")).unwrap();
    // The dry run keeps what another entry owns.
    let object = observed(Some(live.clone()), accepted(live));
    let decided = Case::new(history, vec![object]).check("upgrade", &["manifest-changed"]);
    let shown = &decided.releases[0].objects[0];
    assert_eq!(shown.action, ObjectAction::Update);
    assert_eq!(shown.diff.as_ref().unwrap().paths(), ["data.old"]);
}

/// A live object of which `manager` wrote `data.x`.
fn written_by(manager: &str) -> Json {
    let mut live = config_map("9", Some("web"));
    live["metadata"]["managedFields"] = json!([{"manager": manager, "operation": "Update", "apiVersion": "v1",
        "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:x": {}}}}]);
    live
}

#[test]
fn a_field_of_another_deployer_blocks_and_names_the_line_to_write() {
    let object = observed(Some(written_by("argocd-controller")), accepted(config_map("1", Some("web"))));
    let plan = Case::new(deployed(), vec![object]).check("blocked", &["field-conflict"]);
    let reason = &plan.releases[0].reasons[0];
    assert_eq!(
        reason.to_string(),
        "ConfigMap shop/a: field data.x is owned by `argocd-controller`: 9 there, 1 here"
    );
    let remedy = reason.remedy().unwrap();
    assert!(
        remedy.contains(
            "fieldConflicts = [{ path = \"data.x\", manager = \"argocd-controller\", action = \"take\" }]"
        ),
        "{remedy}"
    );
    let rule = "fieldConflicts = [{ manager = \"argocd*\", action = \"take\" }]";
    let taken =
        observed_with(rule, Some(written_by("argocd-controller")), accepted(config_map("1", Some("web"))));
    let plan = Case { more: rule, ..Case::new(deployed(), vec![taken]) }.check("upgrade", &["drifted"]);
    let codes: Vec<&str> = plan.releases[0].objects[0].reasons.iter().map(Reason::code).collect();
    assert_eq!(codes, ["changed", "fields-taken"]);
}

#[test]
fn a_field_of_a_controller_is_no_change() {
    let live = written_by("my-operator");
    let object = observed(Some(live.clone()), accepted(live));
    assert_eq!(object.body.get("data"), None, "what becomes empty is left out as well");
    let plan = Case::new(deployed(), vec![object]).check("none", &["unchanged"]);
    let codes: Vec<&str> = plan.releases[0].objects[0].reasons.iter().map(Reason::code).collect();
    assert_eq!(codes, ["unchanged", "fields-left"]);
}

#[test]
fn an_object_that_is_made_once_is_no_change_however_it_renders() {
    let more = "createOnly = [{ kind = \"ConfigMap\", name = \"a\" }]";
    let object =
        || observed_with(more, Some(config_map("9", Some("web"))), accepted(config_map("9", Some("web"))));
    let mut case = Case { more, ..Case::new(deployed(), vec![object()]) };
    case.content = Some(Ok(Content {
        manifest: MANIFEST.replace("\"1\"", "\"3\""),
        ..content("1.0.0", vec![object()])
    }));
    case.check("none", &["unchanged"]);
    let new = observed_with(more, None, accepted(config_map("1", Some("web"))));
    Case { more, ..Case::new(none(), vec![new]) }.check("install", &["not-installed"]);
}

#[test]
fn a_field_that_is_ignored_is_no_change_however_it_renders() {
    let more = "ignore = [{ kind = \"ConfigMap\", path = \"data.x\" }]";
    let live = || config_map("9", Some("web"));
    let object = || observed_with(more, Some(live()), accepted(live()));
    let mut case = Case { more, ..Case::new(deployed(), vec![object()]) };
    case.content = Some(Ok(Content {
        manifest: MANIFEST.replace("\"1\"", "\"3\""),
        ..content("1.0.0", vec![object()])
    }));
    case.check("none", &["unchanged"]);
}

/// `adopt` counts until the first success, and is inert then.
#[test]
fn adoption_happens_once() {
    let more = "adopt = \"unowned\"";
    let unowned = || observed_with(more, Some(config_map("9", None)), accepted(config_map("1", Some("web"))));
    let with_labels = |label: Option<(&str, &str)>| {
        let record = deployed().latest().unwrap().release.clone();
        let mut labels = history::labels_for("ours", "shop");
        labels.extend(label.map(|(key, value)| (key.to_owned(), value.to_owned())));
        let object = history::new_object(Storage::Secret, &record, &labels, Timestamp::UNIX_EPOCH).unwrap();
        history::group(Storage::Secret, [&object]).remove(&key("web")).unwrap()
    };
    let case = |history, more| Case { more, ..Case::new(history, vec![unowned()]) };
    let plan = case(with_labels(None), more).check("upgrade", &["manifest-changed"]);
    let Work::Deploy(work) = &plan.releases[0].work else { panic!("it is deployed") };
    assert_eq!(work.labels["statectl.io/adopted-unowned"], "ours");
    assert_eq!(plan.releases[0].objects[0].action, ObjectAction::Adopt);

    let spent = || with_labels(Some(("statectl.io/adopted-unowned", "ours")));
    let plan = case(spent(), more).check("blocked", &["adoption-spent"]);
    assert!(plan.notes[0].contains("takes nothing over any more"), "{:?}", plan.notes);
    assert!(plan.releases[0].reasons[0].remedy().unwrap().contains("kubectl annotate configmap a -n shop"));
    // Another level, or another context, is another consent.
    case(spent(), "adopt = \"any\"").check("upgrade", &["manifest-changed"]);
    case(with_labels(Some(("statectl.io/adopted-unowned", "theirs"))), more)
        .check("upgrade", &["manifest-changed"]);
    // Without the line the mark goes.
    let mut case = Case::new(spent(), vec![as_desired()]);
    case.content = Some(Ok(content("1.1.0", vec![as_desired()])));
    let plan = case.check("upgrade", &["version-changed"]);
    let Work::Deploy(work) = &plan.releases[0].work else { panic!("it is deployed") };
    assert!(!work.labels.contains_key("statectl.io/adopted-unowned"));
}

#[test]
fn what_another_release_has_now_is_not_removed() {
    let mut releases = state(&[app("web", ""), app("old", "")].concat()).releases;
    let (web, old) = (releases.remove(0), releases.remove(0));
    let of = |release, history, content, remnants| Wanted {
        release,
        protected_by: None,
        history: Ok(history),
        content: Some(Ok(content)),
        remnants: Ok(remnants),
        moved_from: None,
    };
    let mut elsewhere = as_desired();
    elsewhere.key.name = "b".to_owned();
    let wanted = vec![
        of(web, none(), content("1.0.0", vec![missing()]), Vec::new()),
        of(
            old,
            recorded("old", Status::Deployed, Some("ours")),
            content("1.1.0", vec![elsewhere]),
            vec![remnant("ConfigMap", Some(config_map("1", Some("old"))))],
        ),
    ];
    let plan = plan(&input(wanted, Vec::new(), Operation::Reconcile));
    let kept = &plan.release(&key("old")).unwrap().objects.last().unwrap();
    assert_eq!((kept.action, kept.reasons[0].code()), (ObjectAction::Keep, "moves-to"));
    assert_eq!(check(&plan), [""; 0]);
}

#[test]
fn nothing_recorded_is_an_install() {
    let plan = Case::new(none(), vec![missing()]).check("install", &["not-installed"]);
    let Work::Deploy(work) = &plan.releases[0].work else { panic!("it is deployed") };
    assert_eq!((work.record.version, work.record.info.status.as_str()), (1, "pending-install"));
    assert_eq!(work.labels["HELMSMAN_CONTEXT"], "ours");
    assert!(matches!(work.applies[0].mode, ApplyMode::Create));
}

#[test]
fn what_is_as_desired_needs_nothing() {
    Case::new(deployed(), vec![as_desired()]).check("none", &["unchanged"]);
}

#[test]
fn each_difference_has_its_reason() {
    let drifted = || observed(Some(config_map("2", Some("web"))), accepted(config_map("1", Some("web"))));
    Case::new(deployed(), vec![drifted()]).check("upgrade", &["drifted"]);
    Case::new(deployed(), vec![missing()]).check("upgrade", &["object-missing"]);
    let mut case = Case::new(deployed(), vec![as_desired()]);
    case.content = Some(Ok(content("1.1.0", vec![as_desired()])));
    case.check("upgrade", &["version-changed"]);
    let failed = recorded("web", Status::Failed, Some("ours"));
    Case::new(failed, vec![as_desired()]).check("upgrade", &["last-failed"]);
    let uninstalled = recorded("web", Status::Uninstalled, Some("ours"));
    Case::new(uninstalled, vec![missing()]).check("install", &["only-history"]);
    let mut case = Case::new(deployed(), vec![drifted()]);
    let other = Content { manifest: MANIFEST.replace('1', "3"), ..content("1.0.0", vec![drifted()]) };
    case.content = Some(Ok(other));
    case.check("upgrade", &["manifest-changed"]);
}

#[test]
fn a_new_revision_supersedes_the_deployed_one() {
    let plan = Case::new(deployed(), vec![missing()]).check("upgrade", &["object-missing"]);
    let Work::Deploy(work) = &plan.releases[0].work else { panic!("it is deployed") };
    assert_eq!((work.record.version, work.superseded.len()), (2, 1));
    assert_eq!(work.record.info.status.as_str(), "pending-upgrade");
}

#[test]
fn what_somebody_else_does_or_owns_is_not_touched() {
    for status in
        [Status::PendingInstall, Status::PendingUpgrade, Status::PendingRollback, Status::Uninstalling]
    {
        let history = recorded("web", status, Some("ours"));
        Case::new(history, vec![as_desired()]).check("blocked", &["pending"]);
    }
    let of = |context| recorded("web", Status::Deployed, context);
    Case::new(of(Some("theirs")), vec![as_desired()]).check("blocked", &["other-context"]);
    Case::new(of(None), vec![as_desired()]).check("blocked", &["nobodys-release"]);
    let adopting = |context, adopt| Case { more: adopt, ..Case::new(of(context), vec![as_desired()]) };
    adopting(None, "adopt = \"unowned\"").check("adopt", &["adopted"]);
    adopting(Some("theirs"), "adopt = \"unowned\"").check("blocked", &["other-context"]);
    adopting(Some("theirs"), "adopt = \"any\"").check("adopt", &["adopted"]);
    for owner in [None, Some("other")] {
        let object = observed(Some(config_map("1", owner)), accepted(config_map("1", Some("web"))));
        Case::new(none(), vec![object]).check("blocked", &["not-ours"]);
    }
}

#[test]
fn an_immutable_field_blocks_unless_this_release_says_force() {
    let refused = || {
        let answer =
            ServerAnswer::Refused { verdict: Verdict::Immutable { fields: vec!["data.x".to_owned()] } };
        observed(Some(config_map("0", Some("web"))), answer)
    };
    let plan = Case::new(deployed(), vec![refused()]).check("blocked", &["immutable"]);
    let text = plan.releases[0].reasons[0].to_string();
    assert_eq!(text, "ConfigMap shop/a: field data.x is immutable: 0 → 1");
    let forced = Case { more: "force = true", ..Case::new(deployed(), vec![refused()]) };
    let plan = forced.check("reinstall", &["replace-forced"]);
    assert_eq!(plan.releases[0].objects[0].action, ObjectAction::Replace);
}

#[test]
fn what_holds_data_is_never_replaced() {
    let mut claim = observed(
        Some(config_map("0", Some("web"))),
        ServerAnswer::Refused { verdict: Verdict::Immutable { fields: vec!["spec".to_owned()] } },
    );
    claim.key = object_key("PersistentVolumeClaim");
    let case = Case { more: "force = true", ..Case::new(deployed(), vec![claim]) };
    case.check("blocked", &["immutable", "data-would-go"]);
}

/// A claim whose change the server refuses, and one that the chart no longer has.
fn claim_case(more: &'static str) -> Case {
    let live = |name: &str| {
        let mut claim = config_map("0", Some("web"));
        claim["metadata"]["name"] = json!(name);
        claim["spec"] = json!({"resources": {"requests": {"storage": "2Gi"}}});
        claim
    };
    let mut changed = observed(
        Some(live("a")),
        ServerAnswer::Refused { verdict: Verdict::Immutable { fields: vec!["spec".to_owned()] } },
    );
    changed.key = object_key("PersistentVolumeClaim");
    let mut gone = remnant("PersistentVolumeClaim", Some(live("old")));
    gone.key.name = "old".to_owned();
    Case { more, remnants: vec![gone], ..Case::new(deployed(), vec![changed]) }
}

#[test]
fn data_goes_only_with_both_keys_and_is_named() {
    claim_case("allowDataLoss = [\"PersistentVolumeClaim/a\"]")
        .check("blocked", &["immutable", "data-would-go"]);
    let plan = claim_case("force = true\nallowDataLoss = [\"PersistentVolumeClaim/a\", \"Namespace/x\"]")
        .check("reinstall", &["replace-forced"]);
    let objects = &plan.releases[0].objects;
    assert_eq!((objects[0].action, objects[1].action), (ObjectAction::Replace, ObjectAction::Keep));
    assert!(objects[0].reasons[1].to_string().ends_with("claim a (2Gi)"), "{:?}", objects[0].reasons);
    let remedy = objects[1].reasons[0].remedy().unwrap();
    assert!(remedy.contains("allowDataLoss = [\"PersistentVolumeClaim/old\"]"), "{remedy}");
    assert_eq!(plan.notes, ["apps.web.allowDataLoss: `Namespace/x` names no object of shop/web"]);
    let both = "force = true\nallowDataLoss = [\"PersistentVolumeClaim/a\", \"PersistentVolumeClaim/old\"]";
    let plan = claim_case(both).check("reinstall", &["replace-forced", "manifest-changed"]);
    assert_eq!(plan.releases[0].objects[1].action, ObjectAction::Delete);
}

#[test]
fn what_cannot_be_counted_or_created_again_is_not_deleted() {
    let both = "force = true\nallowDataLoss = [\"PersistentVolumeClaim/a\"]";
    let with = |around: Around| {
        let mut case = claim_case(both);
        if let Some(Ok(content)) = &mut case.content {
            content.objects[0].around = around;
        }
        case
    };
    let accepted = Some(Probe::Accepted);
    with(Around { lost: Err("403".to_owned()), probe: accepted, ..Around::default() })
        .check("blocked", &["unreadable"]);
    with(Around::default()).check("blocked", &["invalid"]);
    let refused = Some(Probe::Refused { message: "no".to_owned() });
    with(Around { probe: refused, ..Around::default() }).check("blocked", &["invalid"]);
    let untold = Some(Probe::Untold { why: "no".to_owned() });
    with(Around { probe: untold, ..Around::default() }).check("blocked", &["invalid"]);
}

/// A hook of these events and policies whose object is ConfigMap `a`.
fn hook(events: &[&str], policies: &[&str]) -> history::Hook {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    history::Hook {
        name: "a".to_owned(),
        kind: "ConfigMap".to_owned(),
        manifest: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n".to_owned(),
        events: texts(events),
        delete_policies: texts(policies),
        ..history::Hook::default()
    }
}

#[test]
fn an_object_that_is_a_hook_too_is_told_apart() {
    let with = |history: History, object: ObservedObject, hook: history::Hook| {
        let mut case = Case::new(history, vec![object]);
        let Some(Ok(content)) = &mut case.content else { panic!("there is content") };
        content.hooks = vec![hook];
        case
    };
    let (pre, post) = (&["pre-install", "pre-upgrade"], &["post-upgrade"]);
    with(deployed(), as_desired(), hook(pre, &[])).check("blocked", &["hook-meets"]);
    with(deployed(), as_desired(), hook(pre, &["hook-succeeded"])).check("blocked", &["hook-meets"]);
    with(deployed(), as_desired(), hook(post, &["hook-succeeded"])).check("blocked", &["hook-meets"]);
    // Events that do not come with this revision.
    with(deployed(), as_desired(), hook(&["pre-install", "test"], &[])).check("upgrade", &["hooks-changed"]);
    with(none(), missing(), hook(pre, &["hook-succeeded"])).check("install", &["not-installed"]);
    with(none(), missing(), hook(pre, &[])).check("blocked", &["hook-meets"]);

    // It left the manifest.
    let remnant = |kind: &str| {
        let mut live = config_map("1", Some("web"));
        live["kind"] = json!(kind);
        Remnant { key: object_key(kind), live: Some(live), keep_in_manifest: false, lost: Ok(Vec::new()) }
    };
    let other = || {
        let mut object = as_desired();
        object.key.name = "other".to_owned();
        object.body["metadata"]["name"] = json!("other");
        object
    };
    let mut case = with(deployed(), other(), hook(pre, &[]));
    case.remnants = vec![remnant("ConfigMap")];
    let plan = case.check("upgrade", &["hooks-changed", "manifest-changed"]);
    let Work::Deploy(work) = &plan.releases[0].work else { panic!("it is deployed") };
    assert_eq!((work.prunes.len(), work.handed.len(), work.handed[0].uid.as_str()), (0, 1, "live-uid"));
    let shown = plan.releases[0].objects.last().unwrap();
    assert_eq!((shown.action, shown.reasons[0].code()), (ObjectAction::Delete, "becomes-hook"));
    // What holds data stays, whatever the keys say.
    let keys = "force = true\nallowDataLoss = [\"PersistentVolumeClaim/a\"]";
    let mut claim = hook(pre, &[]);
    claim.kind = "PersistentVolumeClaim".to_owned();
    claim.manifest = claim.manifest.replace("ConfigMap", "PersistentVolumeClaim");
    let mut case = Case { more: keys, ..with(deployed(), other(), claim) };
    case.remnants = vec![remnant("PersistentVolumeClaim")];
    let plan = case.check("upgrade", &["hooks-changed", "manifest-changed"]);
    let Work::Deploy(work) = &plan.releases[0].work else { panic!("it is deployed") };
    assert_eq!((work.prunes.len(), work.handed.len()), (0, 0));
}

/// A StatefulSet whose `change` the server refuses.
fn set_case(more: &'static str, change: fn(&mut Json), claims: Vec<SetClaim>) -> Case {
    let mut live = config_map("0", Some("web"));
    live["kind"] = json!("StatefulSet");
    live["spec"] = json!({"selector": {"matchLabels": {"a": "1"}}, "serviceName": "s",
        "template": {"metadata": {"labels": {"a": "1"}}, "spec": {"containers": [{"name": "c"}]}},
        "volumeClaimTemplates": [{"metadata": {"name": "data"}}]});
    let mut desired = live.clone();
    change(&mut desired);
    let verdict = Verdict::Immutable { fields: vec!["spec.serviceName".to_owned()] };
    let mut object = observed(Some(live), ServerAnswer::Refused { verdict });
    object.key = ObjectKey { gvk: GroupVersionKind::new("apps/v1", "StatefulSet"), ..object_key("") };
    object.body = desired;
    object.around.claims = claims;
    Case { more, ..Case::new(deployed(), vec![object]) }
}

fn growing(refused: Option<&str>) -> Vec<SetClaim> {
    let growth = Growth { to: "2Gi".to_owned(), refused: refused.map(str::to_owned) };
    let key = ObjectKey { name: "data-a-0".to_owned(), ..object_key("PersistentVolumeClaim") };
    vec![SetClaim { key, uid: "claim-uid".to_owned(), size: "1Gi".to_owned(), growth: Some(growth) }]
}

#[test]
fn a_set_is_re_created_around_its_pods_where_they_can_be_adopted() {
    fn replaced(plan: &Plan) -> (&Replace, Vec<&'static str>) {
        let Work::Deploy(work) = &plan.releases[0].work else { panic!("it is deployed") };
        let ApplyMode::Replace(replace) = &work.applies[0].mode else { panic!("it is replaced") };
        (replace, plan.releases[0].objects[0].reasons.iter().map(Reason::code).collect())
    }
    let service: fn(&mut Json) = |set| set["spec"]["serviceName"] = json!("t");
    let plan = set_case("", service, Vec::new()).check("blocked", &["immutable"]);
    let remedy = plan.releases[0].reasons[0].remedy().unwrap();
    assert!(remedy.starts_with("to re-create it around its pods and claims"), "{remedy}");
    let forced = "force = [\"replace\"]";
    let plan = set_case(forced, service, growing(None)).check("reinstall", &["replace-forced"]);
    let (replace, codes) = replaced(&plan);
    assert_eq!((replace.dependents, replace.replace_pods), (Dependents::Orphan, false));
    assert_eq!(codes, ["replace-forced", "claims-grow"]);
    set_case(forced, service, growing(Some("no"))).check("blocked", &["invalid"]);
    let mounted: fn(&mut Json) = |set| {
        set["spec"]["volumeClaimTemplates"] =
            json!([{"metadata": {"name": "data"}}, {"metadata": {"name": "new"}}]);
        set["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] = json!([{"name": "new"}]);
    };
    let plan = set_case(forced, mounted, Vec::new()).check("reinstall", &["replace-forced"]);
    let (replace, codes) = replaced(&plan);
    assert_eq!((replace.dependents, replace.replace_pods), (Dependents::Orphan, true));
    assert_eq!(codes, ["replace-forced", "pods-replaced"]);
    let selector: fn(&mut Json) = |set| set["spec"]["selector"] = json!({"matchLabels": {"a": "2"}});
    let plan = set_case(forced, selector, growing(None)).check("reinstall", &["replace-forced"]);
    let (replace, codes) = replaced(&plan);
    assert_eq!((replace.dependents, replace.grow.len()), (Dependents::Background, 0));
    assert_eq!(codes, ["replace-forced"]);
}

#[test]
fn what_is_left_over_is_removed_and_nothing_is_replaced() {
    let mut live = config_map("0", Some("web"));
    live["kind"] = json!("Deployment");
    live["spec"] = json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}});
    let mut replaced = live.clone();
    replaced["spec"] = json!({"strategy": {"type": "Recreate"}});
    let verdict = Verdict::Leftover { fields: vec!["spec.strategy.rollingUpdate".to_owned()] };
    let mut object = observed(Some(live), ServerAnswer::Refused { verdict });
    object.body["spec"] = json!({"strategy": {"type": "Recreate"}});
    let unseen = observed(object.live.clone(), object.answer.clone());
    Case::new(deployed(), vec![unseen]).check("blocked", &["leftover"]);
    object.around.replaced = Some(replaced);
    let plan = Case::new(deployed(), vec![object]).check("upgrade", &["drifted"]);
    let codes: Vec<&str> = plan.releases[0].objects[0].reasons.iter().map(Reason::code).collect();
    assert_eq!(codes, ["changed", "leftovers-go"]);
    let Work::Deploy(work) = &plan.releases[0].work else { panic!("it is deployed") };
    let ApplyMode::Update { fold: Some(fold), .. } = &work.applies[0].mode else { panic!("it is updated") };
    assert_eq!(fold.claims[0].to_string(), "spec.strategy.rollingUpdate");
}

#[test]
fn a_proof_is_the_reason_for_leaving_an_object_alone_and_hides_no_owner() {
    let proven = |owner: &str| {
        let proof = crate::diff::Proof { fields: 4 };
        observed(Some(config_map("1", Some(owner))), ServerAnswer::Unasked { proof })
    };
    let plan = Case::new(deployed(), vec![proven("web")]).check("none", &["unchanged"]);
    let object = &plan.releases[0].objects[0];
    assert_eq!((object.action, object.reasons[0].code()), (ObjectAction::None, "proven"));
    Case::new(none(), vec![proven("other")]).check("blocked", &["not-ours"]);
}

#[test]
fn an_unknown_answer_is_never_taken_for_a_good_one() {
    let unknown = observed(None, ServerAnswer::Unknown { message: "no answer".to_owned() });
    Case::new(none(), vec![unknown]).check("blocked", &["unreadable"]);
    let unreadable = Reason::Unreadable { what: "the records".to_owned(), message: "403".to_owned() };
    Case { history: Err(unreadable), ..Case::new(none(), vec![missing()]) }.check("blocked", &["unreadable"]);
    let later = observed(None, ServerAnswer::Later { arrives: "namespace shop".to_owned() });
    let plan = Case::new(none(), vec![later]).check("install", &["not-installed"]);
    assert_eq!(plan.releases[0].objects[0].reasons[0].code(), "known-after-apply");
}

#[test]
fn a_chart_that_does_not_render_blocks_only_its_release() {
    let reason = Reason::NotRendered { message: "web/templates/a.yaml:1: no".to_owned() };
    let bad = Case { content: Some(Err(reason)), ..Case::new(none(), Vec::new()) };
    bad.check("blocked", &["not-rendered"]);
}

fn remnant(kind: &str, live: Option<Json>) -> Remnant {
    Remnant { key: object_key(kind), live, keep_in_manifest: false, lost: Ok(Vec::new()) }
}

#[test]
fn a_disabled_release_goes_with_what_is_its_own() {
    let ours = config_map("1", Some("web"));
    let mut kept = ours.clone();
    kept["metadata"]["annotations"]["helm.sh/resource-policy"] = json!("keep");
    for (live, action) in [
        (Some(ours.clone()), ObjectAction::Delete),
        (Some(kept), ObjectAction::Keep),
        (Some(config_map("1", None)), ObjectAction::Keep),
        (Some(config_map("1", Some("other"))), ObjectAction::Keep),
        (None, ObjectAction::None),
    ] {
        let mut case = Case::new(deployed(), Vec::new());
        case.content = None;
        case.more = "";
        case.remnants = vec![remnant("ConfigMap", live)];
        case.operation = Operation::Destroy;
        let plan = case.check("uninstall", &["destroy-asked"]);
        assert_eq!(plan.releases[0].objects[0].action, action);
    }
    let mut case = Case::new(deployed(), Vec::new());
    case.content = None;
    case.operation = Operation::Destroy;
    case.remnants = vec![remnant("PersistentVolumeClaim", Some(ours))];
    let plan = case.check("uninstall", &["destroy-asked"]);
    assert_eq!(plan.releases[0].objects[0].reasons[0].code(), "data-kept");
}

#[test]
fn protection_withholds_and_shows_what_it_withholds() {
    let case = Case { protected_by: Some("app `web`"), ..Case::new(deployed(), vec![missing()]) };
    let plan = case.check("none", &["protected"]);
    assert!(plan.releases[0].reasons[0].to_string().contains("withheld: upgrade"));
    assert_eq!(plan.releases[0].objects.len(), 1, "the withheld change is still shown");
    let first = Case { protected_by: Some("app `web`"), ..Case::new(none(), vec![missing()]) };
    first.check("install", &["not-installed"]);
    let refused = observed(
        Some(config_map("0", Some("web"))),
        ServerAnswer::Refused { verdict: Verdict::Immutable { fields: vec!["data.x".to_owned()] } },
    );
    let guarded = Case { protected_by: Some("app `web`"), ..Case::new(deployed(), vec![refused]) };
    guarded.check("none", &["protected"]);
}

#[test]
fn a_release_that_left_the_file_goes_unless_that_is_uncertain() {
    let stray = || Stray {
        key: key("old"),
        protected_by: None,
        history: recorded("old", Status::Deployed, Some("ours")),
        remnants: Ok(vec![remnant("ConfigMap", Some(config_map("1", Some("old"))))]),
    };
    let mut given = input(Vec::new(), vec![stray()], Operation::Reconcile);
    let decided = plan(&given);
    assert_eq!(
        (decided.releases[0].action.name(), decided.releases[0].reasons[0].code()),
        ("uninstall", "left-file")
    );
    assert_eq!(check(&decided), [""; 0]);
    given.strays[0].protected_by = Some("namespace `shop`".to_owned());
    assert_eq!(
        plan(&given).releases[0].action.name(),
        "none",
        "a protected namespace protects what left the file"
    );
    given.strays[0].protected_by = None;
    given.removal_withheld = Some("the file has no app left".to_owned());
    let withheld = plan(&given);
    assert_eq!(
        (withheld.releases[0].action.name(), withheld.releases[0].reasons[0].code()),
        ("none", "removal-withheld")
    );
}

#[test]
fn more_removals_than_allowed_are_all_refused() {
    let stray = |name: &str| Stray {
        key: key(name),
        protected_by: None,
        history: recorded(name, Status::Deployed, Some("ours")),
        remnants: Ok(Vec::new()),
    };
    let strays = || vec![stray("a"), stray("b")];
    for (limit, action) in [(Some(1), "blocked"), (Some(2), "uninstall"), (None, "uninstall")] {
        let given = PlanInput { most_removals: limit, ..input(Vec::new(), strays(), Operation::Reconcile) };
        let decided = plan(&given);
        assert!(decided.releases.iter().all(|release| release.action.name() == action), "{limit:?}");
        assert_eq!(check(&decided), [""; 0]);
    }
}

/// A plan with an install, an upgrade, replacements, prunes (one of data) and a removal, to be broken.
fn rich_plan() -> Plan {
    let refused = observed(
        Some(config_map("0", Some("web"))),
        ServerAnswer::Refused { verdict: Verdict::Immutable { fields: vec!["data.x".to_owned()] } },
    );
    let keys = "force = true\nallowDataLoss = [\"PersistentVolumeClaim/data\"]";
    let mut set = set_case(keys, |set| set["spec"]["serviceName"] = json!("t"), growing(None));
    let Some(Ok(content_of_set)) = set.content.take() else { panic!("it renders") };
    let set = content_of_set.objects.into_iter().next().unwrap();
    let mut data = remnant("PersistentVolumeClaim", Some(config_map("1", Some("web"))));
    data.key.name = "data".to_owned();
    let releases = state(&[app("web", keys), app("new", "needs = [\"shop/web\"]")].concat()).releases;
    let [web, new]: [crate::dsf::state::Release; 2] = releases.try_into().unwrap();
    let of = |release, history: History, content, remnants| Wanted {
        moved_from: None,
        release,
        protected_by: None,
        history: Ok(history),
        content: Some(Ok(content)),
        remnants: Ok(remnants),
    };
    let mut gone = remnant("ConfigMap", Some(config_map("1", Some("web"))));
    gone.key.name = "gone".to_owned();
    let wanted = vec![
        of(web, deployed(), content("1.1.0", vec![refused, set]), vec![gone, data]),
        of(new, History::new(key("new")), content("1.0.0", vec![named("n")]), Vec::new()),
    ];
    let stray = Stray {
        key: key("old"),
        protected_by: None,
        history: recorded("old", Status::Deployed, Some("ours")),
        remnants: Ok(vec![remnant("ConfigMap", Some(config_map("1", Some("old"))))]),
    };
    plan(&input(wanted, vec![stray], Operation::Reconcile))
}

/// The checker has to find each way in which a plan can be broken.
#[test]
fn a_broken_plan_is_found() {
    type Break = fn(&mut Plan);
    fn release<'a>(plan: &'a mut Plan, name: &str) -> &'a mut ReleasePlan {
        plan.releases.iter_mut().find(|release| release.key.name == name).unwrap()
    }
    fn deploy<'a>(plan: &'a mut Plan, name: &str) -> &'a mut Deploy {
        match &mut release(plan, name).work {
            Work::Deploy(deploy) => deploy,
            _ => panic!("{name} is deployed"),
        }
    }
    fn replace(plan: &mut Plan, at: usize) -> &mut Replace {
        match &mut deploy(plan, "web").applies[at].mode {
            ApplyMode::Replace(replace) => replace,
            _ => panic!("it is replaced"),
        }
    }
    /// Where the data object stands among the prunes.
    const DATA: usize = 1;
    assert_eq!(check(&rich_plan()), [""; 0]);
    let breaks: &[(&str, Break)] = &[
        ("no reason is given", |plan| release(plan, "web").reasons.clear()),
        ("no reason is given for", |plan| release(plan, "web").objects[0].reasons.clear()),
        ("is in no batch", |plan| plan.batches.clear()),
        ("is in two batches", |plan| plan.batches.push(vec![key("web")])),
        ("nothing to do", |plan| plan.batches.push(vec![key("stranger")])),
        ("wrong order", |plan| plan.batches.swap(0, 1)),
        ("removal comes before", |plan| plan.batches.reverse()),
        ("which it waits for", |plan| {
            let key = deploy(plan, "web").applies[0].key.clone();
            deploy(plan, "web").after.insert(key.clone(), vec![key]);
        }),
        ("which it waits for", |plan| {
            let key = deploy(plan, "web").applies[0].key.clone();
            let Work::Uninstall(work) = &mut release(plan, "old").work else { panic!("it goes") };
            work.after.insert(key.clone(), vec![key]);
        }),
        ("not those of the batches", |plan| plan.turns.swap(0, 1)),
        ("waits for something after it", |plan| plan.turns[0].gate = 2),
        ("before everything else", |plan| plan.turns.iter_mut().for_each(|turn| turn.gate = 0)),
        ("which it needs", |plan| plan.turns.iter_mut().for_each(|turn| turn.after.clear())),
        ("not that of the action", |plan| release(plan, "web").action = Action::None),
        ("not that of the action", |plan| release(plan, "old").work = Work::Nothing),
        ("not that of the action", |plan| release(plan, "web").action = Action::Blocked),
        ("are counted", |plan| release(plan, "web").action = Action::Upgrade),
        ("does not show it", |plan| release(plan, "web").objects[0].action = ObjectAction::Update),
        ("no uid", |plan| deploy(plan, "web").prunes[0].uid.clear()),
        ("applied and removed", |plan| {
            let key = deploy(plan, "web").applies[0].key.clone();
            deploy(plan, "web").prunes[0].key = key;
        }),
        ("and the plan does not show it", |plan| release(plan, "web").objects.truncate(1)),
        ("permit of another object", |plan| deploy(plan, "web").applies[0].key.name = "b".to_owned()),
        ("body is that of another", |plan| {
            deploy(plan, "new").applies[0].body["metadata"]["name"] = json!("b")
        }),
        ("record is that of another", |plan| deploy(plan, "new").record.name = "other".to_owned()),
        ("does not come after", |plan| deploy(plan, "web").record.version = 1),
        ("of another release is removed", |plan| {
            deploy(plan, "new")
                .retired
                .push(recorded("old", Status::Deployed, Some("ours")).latest().unwrap().clone());
        }),
        ("of the file loses its owner", |plan| {
            let latest = deployed().latest().unwrap().clone();
            release(plan, "web").work = Work::Disown(Box::new(Disown { key: key("web"), latest }));
        }),
        ("does not last is made once more", |plan| {
            let reason = Reason::Flapping {
                object: object_key("ConfigMap"),
                field: "data.x".to_owned(),
                manager: "kubectl".to_owned(),
                times: 3,
                app: "new".to_owned(),
            };
            release(plan, "new").reasons.push(reason);
        }),
        ("and it is applied", |plan| {
            let reason = Reason::FieldConflict {
                object: object_key("ConfigMap"),
                field: "data.x".to_owned(),
                manager: "argocd-controller".to_owned(),
                live: "1".to_owned(),
                desired: "2".to_owned(),
                app: "new".to_owned(),
            };
            release(plan, "new").objects[0].reasons.push(reason);
        }),
        ("owners change, and the plan does not show it", |plan| {
            let from = vec![Former::updates_of("helm")];
            deploy(plan, "new").applies[0].mode = ApplyMode::Update {
                uid: "u".to_owned(),
                fold: Some(Fold { content: json!({}), from, claims: Vec::new() }),
            };
        }),
        ("is removed by one release and applied by another", |plan| {
            let key = deploy(plan, "new").applies[0].key.clone();
            deploy(plan, "web").prunes[0].key = key;
        }),
        ("to a hook that does not run", |plan| {
            let step = deploy(plan, "web").prunes.remove(0);
            deploy(plan, "web").handed.push(step);
        }),
        ("does not start as pending", |plan| deploy(plan, "new").record.info.status = Status::Deployed),
        ("no uid", |plan| replace(plan, 0).uid.clear()),
        ("could not be created again", |plan| {
            replace(plan, 0).probe = Probe::Refused { message: "no".to_owned() };
        }),
        ("nobody knows", |plan| replace(plan, 0).probe = Probe::Untold { why: "no".to_owned() }),
        ("leaves what it made behind", |plan| replace(plan, 0).dependents = Dependents::Orphan),
        ("leaves what it made behind", |plan| {
            deploy(plan, "web").applies[1].key.gvk.kind = "DaemonSet".to_owned();
        }),
        ("although they go with it", |plan| {
            let set = replace(plan, 1);
            set.dependents = Dependents::Background;
            set.replace_pods = true;
        }),
        ("data would go with it", |plan| {
            replace(plan, 1).lost = vec![Lost::Claim { name: "c".to_owned(), size: String::new() }];
        }),
        ("does not say so", |plan| {
            replace(plan, 1).lost = vec![Lost::Claim { name: "c".to_owned(), size: String::new() }];
        }),
        ("data would go with it", |plan| {
            deploy(plan, "web").applies[0].key.gvk = GroupVersionKind::new("v1", "PersistentVolumeClaim");
        }),
        ("data would go with it", |plan| {
            deploy(plan, "web").applies[0].key.gvk = GroupVersionKind::new("example.org/v1", "Vault");
        }),
        ("no uid", |plan| replace(plan, 1).grow[0].uid.clear()),
        ("no claim that grows", |plan| replace(plan, 1).grow[0].claim.gvk.kind = "Secret".to_owned()),
        ("does not say so", |plan| {
            release(plan, "web").objects[1].reasons.retain(|reason| reason.code() != "claims-grow");
        }),
        ("data would go with it", |plan| deploy(plan, "web").prunes[DATA].permit = None),
        ("does not say so", |plan| {
            let shown = release(plan, "web").objects.last_mut().unwrap();
            shown.reasons.retain(|reason| reason.code() != "data-goes");
        }),
        ("permit of another object", |plan| deploy(plan, "web").prunes[DATA].key.name = "x".to_owned()),
        ("leaves what it made behind", |plan| {
            deploy(plan, "web").prunes[0].dependents = Dependents::Orphan;
        }),
    ];
    for (expected, break_it) in breaks {
        let mut plan = rich_plan();
        break_it(&mut plan);
        let findings = check(&plan);
        assert!(findings.iter().any(|finding| finding.contains(expected)), "{expected}: {findings:?}");
    }
    let mut plan = rich_plan();
    let double = ReleasePlan { work: Work::Nothing, action: Action::None, ..rich_plan().releases.remove(0) };
    plan.releases.push(double);
    assert!(check(&plan).iter().any(|finding| finding.contains("planned twice")));
}
