//! Faults that pass, and answers that are lost, while statectl plans and applies.
//!
//! Reading and dry runs are tried again. A write is tried again only where the server says that it did nothing;
//! whatever else happens, the outcome is true, and the next run finishes what is left.

use serde_json::Value as Json;

use crate::support::proxy::{Fault, Proxy, Rule};
use crate::support::scene::Scene;

/// A write whose outcome is not known leaves its locks to end by silence.
const APPS: &str = "[settings]\nleaseDuration = \"3s\"\n[apps.web]\nenabled = true\nnamespace = \"NS\"\nchart = \"CHARTS/web\"\n";

fn state(report: &Json) -> (String, String) {
    let release = &report["releases"][0];
    let text = |key: &str| release[key].as_str().unwrap_or_default().to_owned();
    (text("state"), text("message"))
}

#[test]
fn what_passes_is_asked_again_while_planning() {
    let scene = Scene::new("faults-plan");
    let file = scene.write(APPS);
    let path = file.to_str().unwrap();
    let proxy = Proxy::start(scene.cluster);
    let webhook =
        Fault::status(500, "InternalError", "Internal error occurred: failed calling webhook \"w\"");
    for (method, part, fault) in [
        ("GET", "/apis", Fault::too_many_requests(0)),
        ("GET", "/secrets", Fault::Drop),
        ("GET", "/secrets", Fault::answer(503, "service unavailable")),
        ("GET", "/secrets", Fault::CutReply(10)),
        ("PATCH", "dryRun=All", Fault::too_many_requests(0)),
        ("PATCH", "dryRun=All", Fault::DropReply),
        ("PATCH", "dryRun=All", Fault::Drop),
        ("PATCH", "dryRun=All", webhook),
    ] {
        proxy.clear();
        proxy.rule(Rule::on(method, part).times(2).fault(fault));
        let plan = proxy.cluster().statectl(["plan", path, "-o", "json"]).expect(0).json();
        assert_eq!(plan["releases"][0]["action"], "install", "{plan}");
        assert_eq!(proxy.faults(), 2);
        assert_eq!(proxy.writes(), [""; 0]);
    }
    proxy.clear();
    // What the typed merge refuses is a 500 too, and never passes.
    let typed =
        Fault::answer(500, r#"{"kind":"Status","message":"failed to create typed patch object (a): x"}"#);
    proxy.rule(Rule::on("PATCH", "/configmaps/").fault(typed));
    let plan = proxy.cluster().statectl(["plan", path, "-o", "json"]).expect(4).json();
    assert_eq!(plan["releases"][0]["action"], "blocked", "{plan}");
    assert_eq!(proxy.faults(), 1);
}

#[test]
fn a_write_is_sent_again_only_where_nothing_happened() {
    let scene = Scene::new("faults-apply");
    let file = scene.write(APPS);
    let path = file.to_str().unwrap();
    let proxy = Proxy::start(scene.cluster);
    let real = |fault: Fault| Rule::on("PATCH", "/configmaps/").unless("dryRun").times(1).fault(fault);
    proxy.rule(real(Fault::too_many_requests(0)));
    let report = proxy.cluster().statectl(["apply", path, "--yes", "-o", "json"]).expect(0).json();
    assert_eq!(state(&report).0, "deployed");
    assert_eq!(proxy.faults(), 1);
    let greeting = |value: &str| scene.write(&format!("{APPS}set = {{ greeting = \"{value}\" }}\n"));
    for (value, fault, said) in [
        ("a", Fault::answer(503, "service unavailable"), "service unavailable"),
        ("b", Fault::status(409, "Conflict", "the object has been modified"), "has been modified"),
        ("c", Fault::Drop, "no answer"),
        ("d", Fault::DropReply, "no answer"),
        ("e", Fault::status(504, "Timeout", "request did not complete"), "did not complete"),
    ] {
        proxy.clear();
        proxy.rule(real(fault.clone()));
        let file = greeting(value);
        let path = file.to_str().unwrap();
        let report = proxy.cluster().statectl(["apply", path, "--yes", "-o", "json"]).expect(1).json();
        let (state, message) = state(&report);
        assert_eq!(state, "failed", "{report}");
        assert!(message.contains(said), "{said:?} is not said: {message}");
        assert_eq!(proxy.faults(), 1, "an unknown outcome is not followed by a second write");
        let sent = proxy.writes().iter().filter(|write| write.contains("/configmaps/")).count();
        assert_eq!(sent, 1);
        assert_eq!(scene.helm_status("web").0, "failed");
        proxy.clear();
        proxy.cluster().statectl(["apply", path, "--yes"]).expect(0);
        let map = scene.cluster.get(&scene.namespace, "configmap", "web-config").unwrap();
        assert_eq!(map["data"]["greeting"], value);
        assert_eq!(scene.helm_status("web").0, "deployed");
        proxy.cluster().statectl(["plan", path, "--detailed-exit-code"]).expect(0).says("no changes");
    }
}

/// The record is the first and the last that is written: its lost answer must not leave the release pending.
#[test]
fn a_record_whose_answer_is_lost_is_read_back() {
    let scene = Scene::new("faults-record");
    let file = scene.write(APPS);
    let path = file.to_str().unwrap();
    let proxy = Proxy::start(scene.cluster);
    for (value, method) in [("one", "POST"), ("two", "PUT")] {
        for fault in [Fault::DropReply, Fault::Drop, Fault::answer(503, "service unavailable")] {
            proxy.clear();
            let file = scene.write(&format!("{APPS}set = {{ greeting = \"{value}\" }}\n"));
            proxy.rule(Rule::on(method, "/secrets").times(1).fault(fault));
            let output = proxy.cluster().statectl(["apply", file.to_str().unwrap(), "--yes", "-o", "json"]);
            assert_eq!(output.code, 0, "{method} {value}: {}{}", output.stdout, output.stderr);
            assert_eq!(proxy.faults(), 1);
            assert_eq!(scene.helm_status("web").0, "deployed");
            let plan = scene.plan(&file);
            assert_eq!(plan["releases"][0]["action"], "none", "{plan}");
            scene.cluster.statectl(["destroy", path, "--yes"]).expect(0);
        }
    }
}
