//! Each row of the table of what can change: decision, reason and uids on the real API server.
//!
//! `tests/cases/immutable/rows/` holds one file for each row: what is installed, what is wanted then, and what happens
//! without and with the keys. All rows are releases of one desired-state file, so that a handful of runs serves them
//! all. `NS` is the namespace of the test, also in names of objects that live in none.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value as Json;

use crate::support::repository;
use crate::support::scene::Scene;

/// A row.
struct Row {
    /// The name of its file, of its release and of its chart.
    name: String,
    head: BTreeMap<String, String>,
    before: String,
    after: String,
}

impl Row {
    fn read(path: &Path, namespace: &str) -> Self {
        // Runs on one cluster must not get into each other's way.
        let port = (30_000 + std::process::id() % 2_700).to_string();
        let text = std::fs::read_to_string(path).unwrap().replace("NS", namespace).replace("PORT", &port);
        let (head, manifests) = text.split_once("--- before\n").expect("a part `before`");
        let (before, after) = manifests.split_once("--- after\n").expect("a part `after`");
        let head = head.lines().map(|line| {
            let line = line.strip_prefix("#: ").unwrap_or_else(|| panic!("{}: {line}", path.display()));
            let (key, value) = line.split_once(": ").unwrap();
            (key.to_owned(), value.to_owned())
        });
        Self {
            name: path.file_stem().unwrap().to_str().unwrap().to_owned(),
            head: head.collect(),
            before: before.to_owned(),
            after: after.to_owned(),
        }
    }

    fn get(&self, key: &str) -> &str {
        self.head.get(key).map(String::as_str).unwrap_or_default()
    }

    /// Writes its chart with one of its manifests.
    fn chart(&self, folder: &Path, manifest: &str) {
        let chart = folder.join(&self.name);
        std::fs::create_dir_all(chart.join("templates")).unwrap();
        std::fs::write(chart.join("Chart.yaml"), "apiVersion: v2\nname: row\nversion: 1.0.0\n").unwrap();
        std::fs::write(chart.join("templates/row.yaml"), manifest).unwrap();
    }

    /// Compares what a plan says about the object with the first of `expected`: action, reason codes, field.
    fn wrong(&self, plan: &Json, scene: &Scene, expected: &str) -> Option<String> {
        let (kind, name) = self.get("object").split_once('/').unwrap();
        let mut words = expected.split(' ');
        let (action, codes) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let rest: Vec<&str> = words.collect();
        let release = scene.release(plan, &self.name);
        let objects = release["objects"].as_array().into_iter().flatten();
        let Some(object) =
            objects.into_iter().find(|object| object["kind"] == kind && object["name"] == name)
        else {
            return Some(format!("{kind} {name} is not planned: {release}"));
        };
        let reasons = object["reasons"].as_array().unwrap();
        let found: Vec<&str> = reasons.iter().map(|reason| reason["code"].as_str().unwrap()).collect();
        let mut wanted: Vec<&str> = codes.split('+').collect();
        // More codes, or a field behind an `@`.
        let (fields, more): (Vec<&str>, Vec<&str>) = rest.iter().partition(|word| word.starts_with('@'));
        wanted.extend(more);
        let all = reasons.iter().map(Json::to_string).collect::<Vec<_>>().join(" ");
        let named = fields.iter().all(|field| all.replace("\\\"", "\"").contains(&field[1..]));
        let codes_fit =
            wanted.iter().all(|code| found.contains(code) || all.contains(&format!("\"{code}\"")));
        let refused = matches!(found.first(), Some(&"immutable")) == (wanted.first() == Some(&"immutable"));
        let fits = object["action"] == action && codes_fit && named && refused;
        (!fits).then(|| format!("expected {expected}, found {} {all}", object["action"]))
    }
}

fn state(rows: &[Row], with_keys: bool) -> String {
    let mut text = "[settings]\nparallel = 8\ntimeout = \"2m\"\n".to_owned();
    for row in rows {
        let name = &row.name;
        let keys = match (with_keys, row.get("keys")) {
            (false, _) => String::new(),
            (true, "") => "force = true".to_owned(),
            (true, keys) => keys.replace("; ", "\n"),
        };
        let wait = row.get("wait") != "false";
        writeln!(
            text,
            "[apps.{name}]\nenabled = true\nnamespace = \"NS\"\nchart = \"./{name}\"\nwait = {wait}\n{keys}"
        )
        .unwrap();
    }
    text
}

/// The uids of everything that a row is about, by `kind/name`; empty for what is not there.
type Uids = BTreeMap<String, String>;

/// Every object that the rows name, read by few calls.
fn everything(scene: &Scene, rows: &[Row]) -> BTreeMap<String, Json> {
    let mut names: BTreeMap<String, ()> = BTreeMap::new();
    for row in rows {
        let words = [row.get("object"), row.get("keeps"), row.get("changes")].join(" ");
        let also = row.get("also").split(' ').next().unwrap_or_default();
        names.extend(
            words.split(' ').chain([also]).filter(|word| !word.is_empty()).map(|word| (word.to_owned(), ())),
        );
    }
    let mut arguments = vec!["get", "-n", scene.namespace.as_str(), "-o", "json", "--ignore-not-found"];
    arguments.extend(names.keys().map(String::as_str));
    let text = scene.cluster.tool("kubectl", &arguments);
    let list: Json = serde_json::from_str(&text).unwrap();
    let mut found = BTreeMap::new();
    for object in list["items"].as_array().unwrap() {
        let kind = match object["kind"].as_str().unwrap() {
            "Pod"
                if !names.contains_key(&format!("Pod/{}", object["metadata"]["name"].as_str().unwrap())) =>
            {
                "pod"
            }
            "PersistentVolumeClaim"
                if !names.contains_key(&format!(
                    "PersistentVolumeClaim/{}",
                    object["metadata"]["name"].as_str().unwrap()
                )) =>
            {
                "pvc"
            }
            other => other,
        };
        found.insert(format!("{kind}/{}", object["metadata"]["name"].as_str().unwrap()), object.clone());
    }
    found
}

fn uids(objects: &BTreeMap<String, Json>) -> Uids {
    let uid = |object: &Json| object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    objects.iter().map(|(name, object)| (name.clone(), uid(object))).collect()
}

#[test]
fn each_row_of_the_table_is_decided_as_the_server_needs_it() {
    let scene = Scene::new("rows");
    let mut paths: Vec<_> = std::fs::read_dir(repository("tests/cases/immutable/rows"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let only = std::env::var("STATECTL_TEST_ROW").unwrap_or_default();
    paths.retain(|path| path.to_str().unwrap().contains(&only));
    let mut rows: Vec<Row> = paths.iter().map(|path| Row::read(path, &scene.namespace)).collect();
    let minor = scene.cluster.minor_version();
    rows.retain(|row| {
        row.get("since").strip_prefix("1.").is_none_or(|since| since.parse::<u32>().unwrap() <= minor)
    });
    let folder = scene.folder.path();
    for row in &rows {
        row.chart(folder, &row.before);
    }
    let file = scene.write(&state(&rows, false));
    let path = file.to_str().unwrap();
    let installed = scene.cluster.statectl(["apply", path, "--yes", "-o", "json"]);
    let mut wrong = Vec::new();
    let report = installed.json();
    for row in &rows {
        let release = scene.release(&report, &row.name);
        if release["state"] != "deployed" {
            wrong.push(format!("{}: not installed: {release}", row.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let before = uids(&everything(&scene, &rows));

    for row in &rows {
        row.chart(folder, &row.after);
    }
    scene.write(&state(&rows, false));
    let mark = scene.cluster.audit_mark();
    let plan = scene.cluster.statectl(["plan", path, "-o", "json"]).json();
    for row in &rows {
        wrong.extend(
            row.wrong(&plan, &scene, row.get("plan")).map(|why| format!("{} without keys: {why}", row.name)),
        );
    }
    scene.write(&state(&rows, true));
    let plan = scene.cluster.statectl(["plan", path, "-o", "json"]).json();
    for row in &rows {
        let expected = if row.get("force").is_empty() { row.get("plan") } else { row.get("force") };
        wrong.extend(row.wrong(&plan, &scene, expected).map(|why| format!("{} with keys: {why}", row.name)));
    }
    let writes = scene.cluster.requests_since(mark).into_iter().filter(|entry| {
        let dry = entry["requestURI"].as_str().unwrap().contains("dryRun=All");
        let verb = entry["verb"].as_str().unwrap();
        // Other tests work on the same cluster.
        let place = |key: &str| entry["objectRef"][key].as_str().unwrap_or_default();
        let ours = place("namespace") == scene.namespace || place("name").contains(&scene.namespace);
        ours && entry["user"]["username"] == "admin" && !dry && !matches!(verb, "get" | "list" | "watch")
    });
    assert_eq!(writes.count(), 0, "a plan writes nothing");

    let applied = scene.cluster.statectl(["apply", path, "--yes", "-o", "json"]);
    let report = applied.json();
    let now = everything(&scene, &rows);
    let after = uids(&now);
    for row in &rows {
        let blocked = row.get("force").starts_with("blocked");
        let release = scene.release(&report, &row.name);
        if release["state"] != if blocked { "blocked" } else { "deployed" } {
            wrong.push(format!("{}: applied: {release}", row.name));
            continue;
        }
        let mut expect = |name: &str, same: bool| {
            let (old, new) = (before.get(name), after.get(name));
            if old.is_none() || new.is_none() || (old == new) != same {
                let how = if same { "stays" } else { "is another one" };
                wrong.push(format!("{}: {name} {how}: {old:?} {new:?}", row.name));
            }
        };
        expect(row.get("object"), row.get("uid") == "same");
        row.get("keeps").split_whitespace().for_each(|name| expect(name, true));
        row.get("changes").split_whitespace().for_each(|name| expect(name, false));
        let mut holds = |name: &str, pointer: &str, expected: &str| {
            let value = now.get(name).and_then(|object| object.pointer(pointer)).cloned().unwrap_or_default();
            if value != serde_json::from_str::<Json>(expected).unwrap() {
                wrong.push(format!("{}: {name} {pointer} is {value}, not {expected}", row.name));
            }
        };
        if let Some((pointer, expected)) = row.get("then").split_once(" = ") {
            holds(row.get("object"), pointer, expected);
        }
        if let Some((place, expected)) = row.get("also").split_once(" = ") {
            let (name, pointer) = place.split_once(' ').unwrap();
            holds(name, pointer, expected);
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
    // What was applied is as desired now.
    let plan = scene.cluster.statectl(["plan", path, "-o", "json"]).json();
    for row in rows.iter().filter(|row| !row.get("force").starts_with("blocked")) {
        let release = scene.release(&plan, &row.name);
        if release["action"] != "none" {
            wrong.push(format!("{}: not as desired afterwards: {release}", row.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
