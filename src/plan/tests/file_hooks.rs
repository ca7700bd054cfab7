//! Hooks of the file: which ones run, and what a broken plan of them looks like.

use super::app_hooks::{HOOK_MARK, HookAnswer, HookInput, HookStepWork, ManifestStep, SeenObject};
use super::*;
use crate::dsf::state::Moment;

const HOOKS: &str = "[apps.web.hooks]\npreInstall = \"job.yaml\"\npreUpgrade = \"job.yaml\"\npostUpgrade = \"./x.sh\"\n\
    preDelete = \"./y.sh\"\nsuccessCondition = \"Complete\"\ndeleteOnSuccess = true\n";

fn job(live: Option<Json>) -> SeenObject {
    let key = ObjectKey {
        gvk: GroupVersionKind::new("batch/v1", "Job"),
        namespace: Some("shop".to_owned()),
        name: "job".to_owned(),
    };
    let body = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job"}});
    SeenObject { key, body, live, answer: HookAnswer::Accepted, has_status: true }
}

fn with_hooks(history: History, objects: Vec<ObservedObject>, allow_exec: bool) -> PlanInput {
    let mut input = Case { more: HOOKS, ..Case::new(history, objects) }.input();
    let seen = || Ok(vec![job(None)]);
    let manifests = [Moment::PreInstall, Moment::PreUpgrade].map(|moment| ((key("web"), moment), seen()));
    input.hooks = HookInput { allow_exec, manifests: manifests.into() };
    input
}

fn drifted() -> ObservedObject {
    observed(Some(config_map("9", Some("web"))), accepted(config_map("1", Some("web"))))
}

#[test]
fn hooks_of_the_file_stand_around_those_of_the_chart() {
    let events = |input: &PlanInput| {
        let plan = plan(input);
        assert_eq!(check(&plan), [""; 0]);
        let release = &plan.releases[0];
        let hooks: Vec<String> = release.hooks.iter().map(|hook| hook.event.clone()).collect();
        (release.action.name(), release.reasons[0].code(), hooks.join(" "))
    };
    let unchanged = with_hooks(deployed(), vec![as_desired()], false);
    assert_eq!(events(&unchanged), ("none", "unchanged", String::new()));
    // Only a program has to be allowed.
    let install = with_hooks(none(), vec![missing()], false);
    assert_eq!(events(&install), ("install", "not-installed", "preInstall".to_owned()));
    let refused = with_hooks(deployed(), vec![drifted()], false);
    assert_eq!(events(&refused), ("blocked", "exec-not-allowed", String::new()));
    let mut upgrade = with_hooks(deployed(), vec![drifted()], true);
    if let Some(Ok(content)) = &mut upgrade.wanted[0].content {
        content.hooks = vec![history::Hook {
            name: "c".to_owned(),
            kind: "Job".to_owned(),
            events: vec!["pre-upgrade".to_owned(), "post-upgrade".to_owned()],
            ..history::Hook::default()
        }];
    }
    let (action, _, hooks) = events(&upgrade);
    assert_eq!((action, hooks.as_str()), ("upgrade", "preUpgrade pre-upgrade post-upgrade postUpgrade"));
    let mut destroy = with_hooks(deployed(), vec![as_desired()], true);
    destroy.operation = Operation::Destroy;
    assert_eq!(events(&destroy), ("uninstall", "destroy-asked", "preDelete".to_owned()));
    // Protection withholds it, whether or not programs are allowed.
    for allowed in [false, true] {
        let mut protected = with_hooks(deployed(), vec![drifted()], allowed);
        protected.wanted[0].protected_by = Some("app `web`".to_owned());
        assert_eq!(
            events(&protected),
            ("none", "protected", if allowed { "preUpgrade postUpgrade" } else { "" }.to_owned())
        );
    }
}

#[test]
fn a_manifest_that_was_not_looked_at_is_asked_for() {
    let mut input = with_hooks(deployed(), vec![drifted()], true);
    input.hooks.manifests.clear();
    let first = plan(&input);
    assert!(check(&first).iter().any(|found| found.contains("was not looked at")), "{:?}", check(&first));
    let due = app_hooks::unseen(&input, &first);
    assert_eq!(due.iter().map(|(_, hook)| hook.moment).collect::<Vec<_>>(), [Moment::PreUpgrade]);
}

#[test]
fn a_broken_hook_of_the_file_is_found() {
    fn manifest(plan: &mut Plan) -> &mut ManifestStep {
        let Work::Deploy(deploy) = &mut plan.releases[0].work else { panic!("it is deployed") };
        match deploy.file_hooks.before.as_mut().map(|step| &mut step.work) {
            Some(HookStepWork::Manifest(manifest)) => manifest,
            _ => panic!("it applies a manifest"),
        }
    }
    type Break = fn(&mut Plan);
    let broken: [(Break, &str); 7] = [
        (|plan| manifest(plan).objects.as_mut().unwrap()[0].is_ours = false, "changes hands"),
        (
            |plan| {
                let object = &mut manifest(plan).objects.as_mut().unwrap()[0];
                object.is_ours = false;
                object.body["metadata"]["annotations"][HOOK_MARK] = Json::Null;
            },
            "may not have made it",
        ),
        (
            |plan| {
                let object = &mut manifest(plan).objects.as_mut().unwrap()[0];
                object.renews = true;
                object.key.gvk.kind = "Secret".to_owned();
            },
            "is made anew by the hook",
        ),
        (|plan| manifest(plan).objects.as_mut().unwrap()[0].found = Some(String::new()), "no uid"),
        (
            |plan| manifest(plan).objects.as_mut().unwrap()[0].key = object_key("ConfigMap"),
            "is an object of a release",
        ),
        (|plan| plan.releases[0].hooks.clear(), "does not show it"),
        (
            |plan| {
                let Work::Deploy(deploy) = &mut plan.releases[0].work else { panic!("it is deployed") };
                std::mem::swap(&mut deploy.file_hooks.before, &mut deploy.file_hooks.after);
            },
            "another hook of the file runs",
        ),
    ];
    for (mutate, finding) in broken {
        let mut plan = plan(&with_hooks(deployed(), vec![drifted()], true));
        assert_eq!(check(&plan), [""; 0]);
        mutate(&mut plan);
        assert!(check(&plan).iter().any(|found| found.contains(finding)), "{finding}: {:?}", check(&plan));
    }
}
