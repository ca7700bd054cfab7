//! Faults that pass, and answers that are lost, while statectl plans and applies.
//!
//! Reading and dry runs are tried again, and so is what can be sent twice without harm: applies, removals with a uid,
//! records with a version. Each a bounded number of times; whatever else happens, the outcome is true, and the next run
//! finishes what is left.

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
    proxy.rule(Rule::on("PATCH", "/configmaps/web-config").fault(typed));
    let plan = proxy.cluster().statectl(["plan", path, "-o", "json"]).expect(4).json();
    assert_eq!(plan["releases"][0]["action"], "blocked", "{plan}");
    assert_eq!(proxy.faults(), 1);
}

#[test]
fn an_object_is_sent_again_until_it_is_known_what_became_of_it() {
    let scene = Scene::new("faults-apply");
    let file = scene.write(APPS);
    let path = file.to_str().unwrap();
    let proxy = Proxy::start(scene.cluster);
    let real = |fault: Fault| Rule::on("PATCH", "/configmaps/web-config").unless("dryRun").fault(fault);
    let sent = || proxy.writes().iter().filter(|write| write.contains("/configmaps/web-config")).count();
    let apply = |code: i32| {
        let output = proxy.cluster().statectl(["apply", path, "--yes", "-o", "json"]).expect(code);
        (state(&output.json()), output.stderr)
    };
    let webhook = "Internal error occurred: failed calling webhook \"w.example.org\": connection refused";
    let passing = [
        (Fault::too_many_requests(0), ""),
        (Fault::answer(503, "service unavailable"), ""),
        (Fault::status(409, "Conflict", "the object has been modified; please apply your changes"), ""),
        (Fault::Drop, ""),
        (Fault::DropReply, ""),
        (Fault::CutReply(20), ""),
        (Fault::status(504, "Timeout", "request did not complete"), ""),
        (Fault::status(500, "InternalError", webhook), "failed calling webhook"),
    ];
    for (number, (fault, noted)) in passing.iter().enumerate() {
        // First the object is created, then it is changed.
        for greeting in ["hello", "goodbye"] {
            proxy.clear();
            scene.write(&format!("{APPS}set = {{ greeting = \"{greeting}\" }}\n"));
            // The object of a conflict was there before.
            let is_conflict = number == 2 && greeting == "hello";
            if !is_conflict {
                proxy.rule(real(fault.clone()).times(1));
            }
            let ((state, message), stderr) = apply(0);
            assert_eq!(state, "deployed", "{number} {greeting}: {message}");
            assert!(stderr.contains(noted), "{number}: {stderr}");
            assert_eq!(sent(), 2 - usize::from(is_conflict), "{number} {greeting}");
            let map = scene.cluster.get(&scene.namespace, "configmap", "web-config").unwrap();
            assert_eq!(map["data"]["greeting"], greeting);
            proxy.cluster().statectl(["plan", path, "--detailed-exit-code"]).expect(0).says("no changes");
        }
        // So does a removal whose answer is lost.
        proxy.clear();
        proxy.rule(Rule::on("DELETE", "/configmaps/web-config").times(1).fault(Fault::DropReply));
        proxy.cluster().statectl(["destroy", path, "--yes"]).expect(0);
        assert!(scene.cluster.get(&scene.namespace, "configmap", "web-config").is_none());
    }
    // Nothing is sent for ever, and what never passes is sent once.
    for (fault, said, times) in [
        (Fault::answer(503, "service unavailable"), "service unavailable", 5),
        (Fault::DropReply, "no answer", 5),
        (
            Fault::status(409, "Conflict", "the object has been modified; please apply"),
            "has been modified",
            5,
        ),
        (Fault::status(500, "", "failed to create typed patch object"), "typed patch", 1),
        (Fault::status(403, "Forbidden", "denied the request"), "denied", 1),
    ] {
        proxy.clear();
        scene.write(&format!("{APPS}set = {{ greeting = \"start\" }}\n"));
        apply(0);
        scene.write(&format!("{APPS}set = {{ greeting = \"{said}\" }}\n"));
        proxy.clear();
        proxy.rule(real(fault));
        let ((state, message), _) = apply(1);
        assert_eq!(state, "failed", "{said}");
        assert!(message.contains(said), "{said:?} is not said: {message}");
        assert_eq!(sent(), times, "{said}");
        assert_eq!(scene.helm_status("web").0, "failed");
        proxy.clear();
        apply(0);
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
