//! Records of real Helm, and what both Helm versions do with records that others wrote.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;
use crate::chart::coalesce::{Merger, NullRules};
use crate::chart::dependencies;
use crate::model::ReleaseKey;
use crate::value::json::{Numbers, from_slice};

const NOW: i64 = 1_800_000_000;

fn now() -> Timestamp {
    Timestamp::from_second(NOW).unwrap()
}

#[expect(clippy::disallowed_methods, reason = "test cases are files")]
fn golden(helm: &str) -> Vec<(String, Storage, Json)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/records").join(helm);
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 10);
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let object = crate::yaml::read(&std::fs::read(path).unwrap()).unwrap();
        let object = crate::value::json::to_string(&object, crate::value::json::Escape::Raw).unwrap();
        let object: Json = serde_json::from_str(&object).unwrap();
        let storage = if object["kind"] == "Secret" { Storage::Secret } else { Storage::ConfigMap };
        (name, storage, object)
    };
    files.into_iter().map(read).collect()
}

fn record(object: &Json) -> Record {
    decode(Storage::Secret, object).unwrap().unwrap()
}

/// The JSON inside a record, as text.
fn payload_of(storage: Storage, object: &Json) -> String {
    let stored = object["data"]["release"].as_str().unwrap();
    let inner = match storage {
        Storage::ConfigMap => stored.to_owned(),
        Storage::Secret => String::from_utf8(super::payload::decode_base64(stored).unwrap()).unwrap(),
    };
    String::from_utf8(super::payload::unpack(&inner).unwrap()).unwrap()
}

/// A Secret with `payload` as the JSON of revision 2 of release `r`.
fn secret(payload: &str) -> Json {
    let inner = super::payload::pack(payload.as_bytes());
    json!({
        "metadata": {
            "name": "sh.helm.release.v1.r.v2",
            "namespace": "ns",
            "labels": {"name": "r", "owner": "helm", "status": "deployed", "version": "2"},
            "resourceVersion": "7",
            "uid": "u",
        },
        "type": "helm.sh/release.v1",
        "data": {"release": super::payload::encode_base64(inner.as_bytes())},
    })
}

const SMALL: &str = r#"{"name":"r","info":{"status":"deployed"},"version":2,"namespace":"ns"}"#;

#[test]
fn a_record_of_helm_4_is_written_back_byte_for_byte() {
    for (name, storage, object) in golden("helm4") {
        let record = decode(storage, &object).unwrap().unwrap();
        let written = encode_release(&record.release).unwrap();
        assert_eq!(written, payload_of(storage, &object), "{name}");
    }
}

#[test]
fn a_record_of_either_helm_survives_a_round_trip() {
    for (name, storage, object) in [golden("helm3"), golden("helm4")].concat() {
        let before = decode(storage, &object).unwrap().unwrap();
        let body = updated_object(&before, now()).unwrap();
        let mut after = decode(storage, &body).unwrap().unwrap();
        assert_eq!(after.labels.remove("modifiedAt").as_deref(), Some("1800000000"), "{name}");
        let mut expected = before.clone();
        expected.labels.remove("modifiedAt");
        expected.labels.remove("createdAt");
        // The server's own, whatever is sent.
        expected.created.clear();
        (expected.written_at, expected.manager) = (None, String::new());
        assert_eq!(after, expected, "{name}");
        assert_eq!(body["metadata"]["resourceVersion"], object["metadata"]["resourceVersion"]);
        assert_eq!(body["metadata"]["uid"], object["metadata"]["uid"]);
        assert_eq!(body["type"], object["type"]);
    }
}

#[test]
fn what_helm_recorded_is_understood() {
    for (helm, method) in [("helm3", ""), ("helm4", "ssa")] {
        let records: BTreeMap<String, Record> = golden(helm)
            .into_iter()
            .map(|(name, storage, object)| (name, decode(storage, &object).unwrap().unwrap()))
            .collect();
        let of = |case: &str| &records[&format!("{case}.secret.yaml")];
        let install = &of("install").release;
        assert_eq!((install.version, install.info.status.clone()), (1, Status::Deployed));
        assert_eq!(install.info.description, "Install complete");
        assert_eq!(install.apply_method, method);
        let chart = install.chart.as_ref().unwrap();
        assert_eq!((chart.name(), chart.version(), chart.app_version()), ("rich", "1.2.3", "4.5"));
        assert_eq!(
            chart.files.iter().find(|file| file.name == "files/bin.dat").unwrap().data,
            b"\0\x01\xff\xfe"
        );
        assert_eq!(install.config["text"].as_str(), Some("hi"));
        let hook = install.hooks.iter().find(|hook| hook.name == "r-post-install").unwrap();
        assert_eq!((hook.weight, hook.last_run.phase.clone()), (5, Phase::Succeeded));
        assert!(install.manifest.starts_with("---\n# Source: rich/templates/all.yaml\n"));
        assert_eq!(of("failed-upgrade-apply").release.info.status, Status::Failed);
        assert!(of("pending-upgrade-killed").release.info.status.is_pending());
        assert_eq!(of("uninstalled-keep-history").release.info.status, Status::Uninstalled);
        assert!(of("uninstalled-keep-history").release.info.deleted.is_some());
        let labelled = of("upgrade-description-labels");
        assert_eq!(labelled.release.info.description, "my <text> & é");
        assert_eq!(
            user_labels(&labelled.labels),
            [("team", "a"), ("env", "prod")].map(|(key, value)| (key.into(), value.into())).into()
        );
    }
}

#[test]
fn a_new_record_has_the_shape_of_helms() {
    let (_, _, theirs) =
        golden("helm4").into_iter().find(|(name, ..)| name == "install.secret.yaml").unwrap();
    let release = record(&theirs).release;
    let ours = new_object(Storage::Secret, &release, &labels_for("shop", "ns"), now()).unwrap();
    assert_eq!(ours["metadata"]["name"], "sh.helm.release.v1.r.v1");
    assert_eq!(ours["type"], "helm.sh/release.v1");
    assert_eq!(
        ours["metadata"]["labels"],
        json!({
            "name": "r", "owner": "helm", "status": "deployed", "version": "1", "createdAt": "1800000000",
            "HELMSMAN_CONTEXT": "shop", "MANAGED-BY": "HELMSMAN", "NAMESPACE": "ns",
        })
    );
    let read = record(&ours);
    assert_eq!((&read.release, read.context()), (&release, Some("shop")));
    let map = new_object(Storage::ConfigMap, &release, &BTreeMap::new(), now()).unwrap();
    assert_eq!(map.get("type"), None);
    assert_eq!(decode(Storage::ConfigMap, &map).unwrap().unwrap().release, release);
}

#[test]
fn unknown_members_survive_at_every_level() {
    let payload = concat!(
        r#"{"name":"r","info":{"description":"","status":"deployed","i":[1]},"#,
        r#""chart":{"metadata":{"name":"c","m":{"z":1,"a":2},"dependencies":[{"name":"d","repository":"","dx":1}]},"#,
        r#""lock":{"generated":"x","lx":1},"templates":[{"name":"t","data":"YQ==","f":true}],"values":{},"#,
        r#""schema":null,"files":null,"c":1.5},"hooks":[{"name":"h","last_run":{"phase":"","lr":null},"h":"<"}],"#,
        r#""version":2,"namespace":"ns","top":{"b":1,"a":[{}]}}"#
    );
    let record = record(&secret(payload));
    let written: Json = serde_json::from_str(&encode_release(&record.release).unwrap()).unwrap();
    assert_eq!(written, serde_json::from_str::<Json>(payload).unwrap());
}

/// Decodes and tells the state, or the error and its causes.
fn check(object: &Json, expected: &str) {
    let found = match decode(Storage::Secret, object).unwrap() {
        Ok(record) => format!(
            "{} v{} {} in {}",
            record.key(),
            record.release.version,
            record.release.info.status,
            record.release.namespace
        ),
        Err(undecodable) => {
            assert_eq!((undecodable.key.to_string().as_str(), undecodable.revision), ("ns/r", 2));
            crate::failure::chain("", Some(&undecodable.why)).join(": ")
        }
    };
    assert_eq!(found, expected);
}

#[test]
fn what_helm_reads_of_others_is_read() {
    let ok = "ns/r v2 deployed in ns";
    check(&secret(SMALL), ok);
    for payload in [
        r#"{"NAME":"r","Info":{"Status":"deployed","last_deployed":"2020-01-01T00:00:00+02:00"},"Version":2}"#,
        r#"{"info":{"status":"deployed","deleted":"","first_deployed":null},"version":2,"chart":null,"hooks":null}"#,
        r#"{"info":{"status":"deployed"},"version":2,"chart":{"metadata":null,"files":null,"schema":null}}"#,
        r#"{"info":{"status":"deployed","resources":{}},"version":2,"hooks":[],"config":null,"manifest":null}"#,
    ] {
        check(&secret(payload), ok);
    }
    check(&secret(r#"{"info":{"status":"weird"},"version":9}"#), "ns/r v9 weird in ns");
    check(&secret(r#"{"name":"other","info":{},"version":2}"#), "ns/r v2 unknown in ns");

    let mut plain = secret(SMALL);
    let inner = super::payload::encode_base64(SMALL.as_bytes());
    plain["data"]["release"] = super::payload::encode_base64(inner.as_bytes()).into();
    check(&plain, ok);

    let mut labels = secret(SMALL);
    labels["metadata"]["labels"] = json!({"name": "r", "owner": "helm", "status": "failed", "x": "y"});
    check(&labels, ok);
}

#[test]
fn what_helm_cannot_read_blocks_its_revision() {
    let set = |pointer: &str, value: Json| {
        let mut object = secret(SMALL);
        *object.pointer_mut(pointer).unwrap() = value;
        object
    };
    let packed = |text: &str| Json::from(super::payload::encode_base64(text.as_bytes()));
    for (object, expected) in [
        (set("/metadata/labels/owner", json!("me")), "its label `owner` is `me`, so Helm does not find it"),
        (set("/metadata/labels/name", json!("s")), "its label `name` is `s`, so Helm does not find it"),
        (set("/metadata/labels", json!({})), "its label `owner` is missing, so Helm does not find it"),
        (set("/data", Json::Null), "it has no text under data.release"),
        (set("/data/release", json!("")), "it has no text under data.release"),
        (set("/data/release", packed(SMALL)), "its payload cannot be unpacked: the payload is not base64: "),
        (set("/data/release", packed("bm9uc2Vuc2U=")), "its payload is not JSON: "),
        (secret("null"), "its payload has no `info`, on which helm crashes"),
        (secret(r#"{"version":2}"#), "its payload has no `info`, on which helm crashes"),
        (secret(r#"{"info":{"status":1}}"#), "its payload is not a release: `info.status` is not text"),
        (
            secret(r#"{"info":{"last_deployed":"soon"}}"#),
            "its payload is not a release: `info.last_deployed` is not a time",
        ),
        (
            secret(r#"{"info":{},"chart":{"templates":[{"name":"a"},{"data":"?"}]}}"#),
            "its payload is not a release: `chart.templates[1].data` is not base64",
        ),
        (
            secret(r#"{"info":{},"version":-1}"#),
            "its payload is not a release: `version` is not a revision number",
        ),
        (secret("[]"), "its payload is not a release: `` is not an object"),
    ] {
        let Err(undecodable) = decode(Storage::Secret, &object).unwrap() else { panic!("{expected}") };
        let found = crate::failure::chain("", Some(&undecodable.why)).join(": ");
        assert!(found.starts_with(expected), "{found:?} instead of {expected:?}");
        let histories = group(Storage::Secret, [&object]);
        let history = &histories[&ReleaseKey::new("ns", "r")];
        assert_eq!((history.next_revision(), history.latest()), (3, None), "{expected}");
    }
}

#[test]
fn an_object_that_cannot_be_changed_says_so() {
    for (pointer, value, frozen) in [
        ("/type", json!("helm.sh/release.v1"), None),
        ("/type", json!("Opaque"), Some("the Secret is not of type helm.sh/release.v1")),
        ("/immutable", json!(true), Some("the object is marked immutable")),
    ] {
        let mut object = secret(SMALL);
        object["immutable"] = json!(false);
        *object.pointer_mut(pointer).unwrap() = value;
        assert_eq!(record(&object).frozen, frozen);
    }
}

#[test]
fn other_objects_are_skipped() {
    for name in [
        "web",
        "sh.helm.release.v1.r",
        "sh.helm.release.v1.r.v",
        "sh.helm.release.v1.r.vx",
        "sh.helm.release.v1..v1",
    ] {
        assert!(decode(Storage::Secret, &json!({"metadata": {"name": name}})).is_none(), "{name}");
    }
    assert_eq!(parse_object_name("sh.helm.release.v1.a.v1.v12"), Some(("a.v1", 12)));
    assert_eq!(parse_object_name(&object_name("a.b", 3)), Some(("a.b", 3)));
}

#[test]
fn a_record_that_does_not_fit_says_what_is_large() {
    // Text that does not compress.
    let mut state = 1_u64;
    let noise: String = (0..1_200_000)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            char::from(33 + (state % 90) as u8)
        })
        .collect();
    let release = Release { name: "r".into(), version: 3, manifest: noise, ..Release::default() };
    let error = new_object(Storage::Secret, &release, &BTreeMap::new(), now()).err().unwrap();
    assert!(matches!(error, EncodeError::TooLarge { revision: 3, size: RECORD_LIMIT.., .. }));
    assert!(error.to_string().contains("(before compression: manifest 1200000, "), "{error}");
}

/// Builds a history of release `ns/r` from `status` words, oldest first, starting at revision 1.
fn history(statuses: &str) -> History {
    let objects: Vec<Json> = statuses
        .split_whitespace()
        .zip(1..)
        .filter(|(status, _)| *status != "-")
        .map(|(status, revision)| {
            let payload =
                json!({"name": "r", "info": {"status": status}, "version": revision, "namespace": "ns"});
            let mut object = secret(&payload.to_string());
            object["metadata"]["name"] = object_name("r", revision).into();
            object
        })
        .collect();
    // The API's order: by name, v10 before v2.
    let mut objects = objects;
    objects.sort_by_key(|object| object["metadata"]["name"].to_string());
    group(Storage::Secret, &objects).remove(&ReleaseKey::new("ns", "r")).unwrap()
}

#[test]
fn the_baseline_is_helms() {
    for (statuses, latest, deployed, baseline) in [
        ("deployed", 1, Some(1), Some(1)),
        ("superseded deployed failed", 3, Some(2), Some(2)),
        ("superseded deployed pending-upgrade", 3, Some(2), Some(2)),
        ("failed", 1, None, Some(1)),
        ("superseded superseded", 2, None, Some(2)),
        ("superseded uninstalled", 2, None, None),
        ("pending-install", 1, None, None),
        ("uninstalling", 1, None, None),
        ("deployed superseded deployed", 3, Some(3), Some(3)),
        ("deployed deployed failed", 3, Some(2), Some(2)),
        (
            "superseded - superseded superseded superseded superseded superseded superseded superseded deployed failed",
            11,
            Some(10),
            Some(10),
        ),
    ] {
        let history = history(statuses);
        let revision = |record: Option<&Record>| record.map(|record| record.release.version);
        assert_eq!(revision(history.latest()), Some(latest), "{statuses}");
        assert_eq!(revision(history.deployed()), deployed, "{statuses}");
        assert_eq!(revision(history.baseline()), baseline, "{statuses}");
        assert_eq!(history.next_revision(), latest + 1, "{statuses}");
        assert!(history.revision(1).is_some());
    }
}

#[test]
fn pruning_keeps_the_limit_and_the_last_deployed() {
    for (statuses, limit, incoming, expected) in [
        ("superseded superseded deployed", 3, 1, vec![1]),
        ("superseded superseded deployed", 3, 0, vec![]),
        ("superseded superseded deployed", 0, 1, vec![]),
        ("superseded superseded deployed", 10, 1, vec![]),
        ("deployed failed failed failed", 3, 1, vec![2, 3]),
        ("superseded deployed", 1, 1, vec![1]),
        ("deployed", 1, 1, vec![]),
        ("failed failed", 1, 1, vec![1, 2]),
        ("deployed deployed failed", 2, 0, vec![1]),
    ] {
        let history = history(statuses);
        let revisions: Vec<u64> = history
            .prune_candidates(limit, incoming)
            .into_iter()
            .map(|record| record.release.version)
            .collect();
        assert_eq!(revisions, expected, "{statuses}, {limit}, {incoming}");
    }
}

#[test]
fn a_number_that_only_an_objects_name_holds_is_not_used_again() {
    let mut renumbered = secret(r#"{"info":{"status":"deployed"},"version":1}"#);
    renumbered["metadata"]["name"] = "sh.helm.release.v1.r.v8".into();
    let histories = group(Storage::Secret, [&renumbered]);
    assert_eq!(histories[&ReleaseKey::new("ns", "r")].next_revision(), 9);
}

#[test]
fn releases_of_one_list_are_kept_apart() {
    let mut other = secret(SMALL);
    other["metadata"]["name"] = "sh.helm.release.v1.s.v2".into();
    other["metadata"]["labels"]["name"] = "s".into();
    let list = [secret(SMALL), other, json!({"metadata": {"name": "unrelated"}})];
    let histories = group(Storage::Secret, &list);
    let keys: Vec<String> = histories.keys().map(ToString::to_string).collect();
    assert_eq!(keys, ["ns/r", "ns/s"]);
}

/// The JSON of a stored chart without the times of files, which an archive keeps in whole seconds only.
fn without_times(mut chart: Json) -> Json {
    fn strip(json: &mut Json) {
        match json {
            Json::Object(members) => {
                members.retain(|key, _| key != "modtime" && key != "schemamodtime");
                members.values_mut().for_each(strip);
            }
            Json::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut chart);
    chart
}

#[test]
#[expect(clippy::disallowed_methods, reason = "test cases are files")]
fn a_loaded_chart_is_stored_as_helm_stores_it() {
    let archive =
        std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/records/rich-1.2.3.tgz")).unwrap();
    let chart = crate::chart::load::from_archive(&archive).unwrap();
    let mut merger = Merger::new(NullRules::default());
    let chart = dependencies::process(&chart, &crate::template::value::Map::default(), &mut merger).unwrap();
    let release = Release { chart: Some(stored_chart(&chart)), ..Release::default() };
    let text = encode_release(&release).unwrap();
    let ours: Json = serde_json::from_str(&text).unwrap();
    let (_, storage, object) =
        golden("helm4").into_iter().find(|(name, ..)| name == "install.secret.yaml").unwrap();
    let theirs: Json = serde_json::from_str(&payload_of(storage, &object)).unwrap();
    assert_eq!(without_times(ours["chart"].clone()), without_times(theirs["chart"].clone()));
    assert!(ours["chart"]["templates"][0]["modtime"].is_string());
    // Member order: what is written is read and written back the same.
    let (read, _) = decode_release(from_slice(text.as_bytes(), Numbers::Typed).unwrap()).unwrap();
    assert_eq!(encode_release(&read).unwrap(), text);
}

proptest! {
    #[test]
    fn any_payload_is_read_or_refused(payload in "\\PC{0,40}", stored in "[A-Za-z0-9+/=]{0,40}") {
        let _ = decode(Storage::Secret, &secret(&payload));
        let mut object = secret(SMALL);
        object["data"]["release"] = stored.into();
        prop_assert!(decode(Storage::Secret, &object).unwrap().is_err());
    }
}
