//! What locks cost, counted from the server's audit log.

use serde_json::Value as Json;

use crate::support::cluster::Cluster;
use crate::support::proxy::{Fault, Proxy, Rule};
use crate::support::scene::Scene;
use crate::support::signal::{self, Sent};
use crate::support::statectl::wait;

/// The requests of one user since a mark: about leases, by verb, and removals of anything else.
struct Cost {
    user: Cluster,
    name: String,
}

impl Cost {
    /// Returns gets, creates, updates and deletes of leases, and deletes of other objects, of one run.
    fn of(&self, code: i32, arguments: &[&str]) -> [usize; 5] {
        let mark = self.user.audit_mark();
        drop(self.user.statectl(arguments).expect(code));
        let entries = self.user.requests_since(mark);
        let own: Vec<&Json> = entries
            .iter()
            .filter(|entry| entry["impersonatedUser"]["username"] == self.name.as_str())
            .collect();
        assert!(!own.is_empty(), "the audit log tells of this run");
        let count = |leases: bool, verb: &str| {
            let fits = |entry: &&&Json| {
                entry["verb"] == verb && (entry["objectRef"]["resource"] == "leases") == leases
            };
            own.iter().filter(fits).count()
        };
        assert_eq!(count(true, "list") + count(true, "watch") + count(true, "patch"), 0);
        ["get", "create", "update", "delete"]
            .map(|verb| count(true, verb))
            .into_iter()
            .chain([count(false, "delete")])
            .collect::<Vec<_>>()
            .try_into()
            .unwrap()
    }
}

/// Two requests for the run and two for each release, and one before each write that destroys something. No renewal is due:
/// the locks are long.
#[test]
fn locks_cost_what_is_promised() {
    let scene = Scene::new("lock-audit");
    let name = format!("{}-cost", scene.namespace);
    let cost = Cost { user: scene.cluster.as_user(&name, scene.folder.path()), name };
    let file = |value: &str, two: &str| {
        let app = |name: &str, more: &str| {
            format!(
                "[apps.{name}]\nenabled = true\nnamespace = \"NS\"\nchart = \"./chart\"\nset = {{ a = \"{value}\" }}\n{more}\n"
            )
        };
        let text = format!(
            "[settings]\nleaseDuration = \"300s\"\n{}{}",
            app("one", "force = [\"replace\"]"),
            app("two", two)
        );
        scene.write(&text).to_str().unwrap().to_owned()
    };
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Release.Name }}-{{ .Values.a }} }\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Release.Name }}-fixed }\nimmutable: true\ndata: { a: {{ ternary .Values.a \"x\" (eq .Release.Name \"one\") | quote }} }\n";
    crate::support::scene::chart(scene.folder.path(), &[("templates/a.yaml", template)]);
    let path = file("a", "");
    let (plan, apply, destroy) = (["plan", &path], ["apply", &path, "--yes"], ["destroy", &path, "--yes"]);
    // A plan, and nothing else, costs nothing.
    assert_eq!(cost.of(0, &plan), [0, 0, 0, 0, 0]);
    assert_eq!(cost.of(0, &apply), [0, 3, 0, 3, 0], "two releases are installed");
    // Looks whether a run that died left the lock of the file.
    assert_eq!(cost.of(0, &apply), [1, 0, 0, 0, 0], "nothing is to be done");
    assert_eq!(cost.of(0, &plan), [0, 0, 0, 0, 0]);
    file("b", "");
    // One object of each goes, and one of the first is replaced.
    assert_eq!(cost.of(0, &apply), [0, 3, 3, 3, 3], "three objects are removed");
    assert_eq!(cost.of(0, &destroy), [0, 3, 8, 3, 8], "four objects and four records are removed");
}

/// Whoever waits looks at the locks of the releases when it begins to, and their holder goes on renewing them. When that one
/// dies, its silence on the lock of the file is enough: none of the others is watched anew.
#[test]
fn a_takeover_waits_once_although_the_holder_was_alive_when_the_waiting_began() {
    let scene = Scene::new("lock-once");
    let app = "[settings]\nleaseDuration = \"5s\"\n[apps.web]\nenabled = true\nnamespace = \"NS\"\nchart = \"CHARTS/web\"\n";
    let path = scene.write(app).to_str().unwrap().to_owned();
    let proxy = Proxy::start(scene.cluster);
    proxy.rule(Rule::on("PATCH", "/configmaps").unless("dryRun").times(1).fault(Fault::Hang));
    let holder = proxy.cluster().start_statectl(["apply", &path, "--yes"]);
    signal::until("it is in the middle", || proxy.hung() == 1);
    let mark = scene.cluster.audit_mark();
    let name = format!("{}-waits", scene.namespace);
    let user = scene.cluster.as_user(&name, scene.folder.path());
    let waits = user.start_statectl(["apply", &path, "--yes", "--lock-wait", "60s"]);
    let own = || -> Vec<Json> {
        let entries = user.requests_since(mark).into_iter();
        entries.filter(|entry| entry["impersonatedUser"]["username"] == name.as_str()).collect()
    };
    let is_about =
        |entry: &Json, verb: &str, lock: &str| entry["verb"] == verb && entry["objectRef"]["name"] == lock;
    signal::until("it waits", || own().iter().any(|entry| is_about(entry, "get", "statectl.web")));
    let renewed =
        |proxy: &Proxy| proxy.seen().iter().filter(|seen| seen.uri.contains("/statectl.web?")).count();
    let before = renewed(&proxy);
    signal::until("the holder renews", || renewed(&proxy) >= before + 3);
    signal::send(&holder, Sent::Kill);
    drop(wait(holder));
    drop(wait(waits).expect(0));
    let own = own();
    let context = format!("statectl-context.{}", scene.namespace);
    let taken = own.iter().position(|entry| is_about(entry, "update", &context)).unwrap();
    let looks = own[taken..].iter().filter(|entry| is_about(entry, "get", "statectl.web")).count();
    // For the plan, which names the holder; to take it; and at the end, whether it is gone. Watching it anew would be a look
    // every 0.7 seconds, for five.
    assert!(looks <= 3, "it is read and taken: {looks}");
}
