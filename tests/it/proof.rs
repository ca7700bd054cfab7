//! The shortcut and the dry run agree: whatever the live object proves to be as desired, the server finds unchanged.
//!
//! Objects of many kinds are applied to the real API server, those of the corpus's charts among them. Then each is
//! asked about as it was applied, with hundreds of small changes to what is desired, and after others have written.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value as Json, json};
use statectl::cluster::{ApplyOptions, ConnectOptions, Connection, Discovery, Writer, connect};
use statectl::diff::{Doubt, prove_unchanged, strip_server_fields};
use statectl::manifest;
use statectl::model::{FIELD_MANAGER, GroupVersionKind, ObjectKey, ReleaseKey};
use statectl::plan::body;
use statectl::render::lookup::Lookups;
use statectl::render::with_renderer;

use crate::corpus::{given, runner};
use crate::support::cluster::cluster;
use crate::support::{repository, say};

/// Changes of each desired object that are tried.
const CHANGES: usize = 60;
/// Kinds that would change what other tests of the run see or may do.
const LEFT_OUT: [&str; 7] = [
    "APIService",
    "CustomResourceDefinition",
    "MutatingWebhookConfiguration",
    "Namespace",
    "PersistentVolume",
    "ValidatingAdmissionPolicy",
    "ValidatingWebhookConfiguration",
];

/// What came of many objects.
#[derive(Debug, Default)]
struct Tally {
    /// Never sent: see [`LEFT_OUT`].
    left_out: usize,
    /// The server does not take them.
    refused: usize,
    /// Applied and asked about.
    applied: usize,
    /// Of these, proven as they were applied.
    proven: usize,
    /// Why the others were not, with the kinds.
    doubts: BTreeMap<String, usize>,
    /// Changed desired objects.
    changed: usize,
    /// Of these, proven all the same: the change means nothing.
    changed_proven: usize,
    /// Objects asked about after somebody else wrote.
    written: usize,
    /// Of these, proven.
    written_proven: usize,
    /// Proofs that the dry run contradicts.
    wrong: Vec<String>,
}

impl Tally {
    fn show(&self) {
        say(&format!(
            "proof: {} of {} objects proven as applied ({} refused, {} left out); {} of {} changes proven to mean \
             nothing; {} of {} proven after others wrote; {} wrong",
            self.proven,
            self.applied,
            self.refused,
            self.left_out,
            self.changed_proven,
            self.changed,
            self.written_proven,
            self.written,
            self.wrong.len(),
        ));
        let mut doubts: Vec<_> = self.doubts.iter().collect();
        doubts.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        for (doubt, count) in doubts.iter().take(12) {
            say(&format!("  {count:>4} {doubt}"));
        }
    }
}

/// A sequence of numbers that is the same in each run (splitmix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % sides.max(1) as u64).unwrap()
    }
}

/// Asks about objects in one namespace.
struct Bench {
    writer: Writer,
    discovery: Discovery,
    release: ReleaseKey,
    tally: Tally,
    dice: Dice,
}

impl Bench {
    async fn new(connection: &Connection, namespace: &str, tally: Tally) -> Self {
        Self {
            writer: Writer::new(connection.reader.clone()),
            discovery: connection.reader.discover().await.unwrap(),
            release: ReleaseKey::new(namespace, "proof"),
            dice: Dice(tally.applied as u64),
            tally,
        }
    }

    /// Applies the objects, and asks about each. Returns those that are there.
    async fn run(&mut self, objects: Vec<Json>) -> Vec<ObjectKey> {
        let mut applied = Vec::new();
        for object in objects {
            let Some((key, body)) = self.target(object) else { continue };
            if self.apply(&key, &body).await {
                applied.push((key, body));
            } else {
                self.tally.refused += 1;
            }
        }
        for (key, body) in &applied {
            self.ask(key, body).await;
        }
        applied.into_iter().map(|(key, _)| key).collect()
    }

    fn target(&mut self, mut object: Json) -> Option<(ObjectKey, Json)> {
        object["metadata"].as_object_mut()?.remove("namespace");
        let gvk = GroupVersionKind::new(object["apiVersion"].as_str()?, object["kind"].as_str()?);
        let Ok(resource) = self.discovery.resource(&gvk) else {
            self.tally.refused += 1;
            return None;
        };
        let namespaced = resource.namespaced;
        let key = body::key_of(&object, |_| namespaced, &self.release.namespace)?;
        Some((key, body::stamped(object, &self.release)))
    }

    async fn apply(&mut self, key: &ObjectKey, body: &Json) -> bool {
        let resource = self.discovery.resource(&key.gvk).unwrap();
        let options = ApplyOptions { force: true, manager: FIELD_MANAGER };
        let sent = self.writer.apply(resource, key.namespace.as_deref(), &key.name, body, options).await;
        if sent.is_ok() && key.gvk.kind == "CustomResourceDefinition" {
            for _ in 0..100 {
                tokio::time::sleep(Duration::from_millis(50)).await;
                self.discovery = self.writer.reader().discover().await.unwrap();
                let kind = body["spec"]["names"]["kind"].as_str().unwrap();
                let group = body["spec"]["group"].as_str().unwrap();
                if self.discovery.resource(&GroupVersionKind::new(&format!("{group}/v1"), kind)).is_ok() {
                    break;
                }
            }
        }
        sent.is_ok()
    }

    async fn live(&self, key: &ObjectKey) -> Option<Json> {
        let resource = self.discovery.resource(&key.gvk).unwrap();
        self.writer.reader().get(resource, key.namespace.as_deref(), &key.name).await.unwrap()
    }

    async fn ask(&mut self, key: &ObjectKey, body: &Json) {
        let Some(live) = self.live(key).await else { return };
        self.tally.applied += 1;
        match prove_unchanged(body, &live, FIELD_MANAGER) {
            Ok(_) => {
                self.tally.proven += 1;
                self.confirm(key, body, "as applied").await;
            }
            Err(doubt) => {
                *self.tally.doubts.entry(format!("{}: {}", key.gvk.kind, short(&doubt))).or_default() += 1;
            }
        }
        for _ in 0..CHANGES {
            let mut changed = body.clone();
            let what = change(&mut changed, &live, &mut self.dice);
            if changed == *body {
                continue;
            }
            self.tally.changed += 1;
            if prove_unchanged(&changed, &live, FIELD_MANAGER).is_ok() {
                self.tally.changed_proven += 1;
                self.confirm(key, &changed, &what).await;
            }
        }
        self.others_write(key, body, live).await;
    }

    /// Somebody else puts a changed live object back.
    async fn others_write(&mut self, key: &ObjectKey, body: &Json, mut live: Json) {
        let before = live.clone();
        let mut part = live["metadata"]["labels"].take();
        let target = if self.dice.roll(3) == 0 {
            if part.is_null() {
                part = json!({});
            }
            &mut part
        } else {
            let members: Vec<String> = live.as_object().unwrap().keys().cloned().collect();
            let content: Vec<&String> = members
                .iter()
                .filter(|name| !["apiVersion", "kind", "metadata", "status"].contains(&name.as_str()))
                .collect();
            let Some(name) = content.get(self.dice.roll(content.len())) else { return };
            &mut live[name.as_str()]
        };
        let what = format!("others: {}", change_below(target, &before, &mut self.dice));
        live["metadata"]["labels"] = part;
        live["metadata"].as_object_mut().unwrap().remove("managedFields");
        let resource = self.discovery.resource(&key.gvk).unwrap();
        let put = self.writer.replace(resource, key.namespace.as_deref(), &key.name, &live).await;
        if put.is_err() {
            return;
        }
        let Some(live) = self.live(key).await else { return };
        self.tally.written += 1;
        if prove_unchanged(body, &live, FIELD_MANAGER).is_ok() {
            self.tally.written_proven += 1;
            self.confirm(key, body, &what).await;
        }
    }

    /// The server, asked about what was proven, would change nothing at all.
    async fn confirm(&mut self, key: &ObjectKey, body: &Json, what: &str) {
        let resource = self.discovery.resource(&key.gvk).unwrap();
        let options = ApplyOptions { force: true, manager: FIELD_MANAGER };
        let mut why = "it changes all the time".to_owned();
        // A controller may write between the two requests.
        for _ in 0..5 {
            let Some(live) = self.live(key).await else { return };
            if prove_unchanged(body, &live, FIELD_MANAGER).is_err() {
                return;
            }
            let answer = self
                .writer
                .reader()
                .dry_run_apply(resource, key.namespace.as_deref(), &key.name, body, options)
                .await;
            match answer {
                Ok(answer) if stripped(&answer.body) == stripped(&live) => return,
                Ok(answer)
                    if answer.body["metadata"]["resourceVersion"] != live["metadata"]["resourceVersion"] => {}
                Ok(answer) => {
                    why = format!("\n  live: {}\n  dry run: {}", stripped(&live), stripped(&answer.body));
                    break;
                }
                Err(error) => {
                    why = error.to_string();
                    break;
                }
            }
        }
        self.tally.wrong.push(format!("{key} ({what}): {why}"));
    }
}

fn stripped(object: &Json) -> Json {
    let mut object = object.clone();
    strip_server_fields(&mut object);
    object
}

fn short(doubt: &Doubt) -> String {
    let text = doubt.to_string();
    // Names in brackets make every path another one.
    let mut depth = 0_usize;
    text.chars()
        .filter(|character| {
            depth += usize::from(*character == '[');
            let keep = depth == 0;
            depth -= usize::from(*character == ']' && depth > 0);
            keep
        })
        .collect()
}

/// Changes a desired object in one place; returns where and how.
fn change(body: &mut Json, live: &Json, dice: &mut Dice) -> String {
    let members: Vec<String> = body
        .as_object()
        .unwrap()
        .keys()
        .filter(|key| !["apiVersion", "kind"].contains(&key.as_str()))
        .cloned()
        .collect();
    let name = members[dice.roll(members.len())].clone();
    if name == "metadata" {
        let metadata: Vec<String> =
            body["metadata"].as_object().unwrap().keys().filter(|key| *key != "name").cloned().collect();
        let below = metadata[dice.roll(metadata.len())].clone();
        let other = live["metadata"][&below].clone();
        return format!("{name}.{below}{}", change_below(&mut body["metadata"][&below], &other, dice));
    }
    let other = live[&name].clone();
    format!("{name}{}", change_below(&mut body[&name], &other, dice))
}

/// Goes down a random way and changes what is there; `live` is what the live object has in the same place.
fn change_below(value: &mut Json, live: &Json, dice: &mut Dice) -> String {
    let stop = dice.roll(4) == 0;
    match value {
        Json::Object(members) if !members.is_empty() && !stop => {
            let key = members.keys().nth(dice.roll(members.len())).unwrap().clone();
            let other = live.get(&key).cloned().unwrap_or_default();
            let below = members.get_mut(&key).unwrap();
            return format!(".{key}{}", change_below(below, &other, dice));
        }
        Json::Array(items) if !items.is_empty() && !stop => {
            let index = dice.roll(items.len());
            let other = live.get(index).cloned().unwrap_or_default();
            return format!("[{index}]{}", change_below(&mut items[index], &other, dice));
        }
        _ => {}
    }
    change_here(value, live, dice)
}

fn change_here(value: &mut Json, live: &Json, dice: &mut Dice) -> String {
    let changed = changed(value, live, dice);
    let before = std::mem::replace(value, changed);
    format!(" was {before}")
}

fn changed(value: &Json, live: &Json, dice: &mut Dice) -> Json {
    match dice.roll(10) {
        0 => return Json::Null,
        // What the server made of it, defaults and all.
        1 => return live.clone(),
        2 => return [json!({}), json!([]), json!("")][dice.roll(3)].clone(),
        _ => {}
    }
    match value {
        Json::Object(members) => Json::Object(changed_members(members, live, dice)),
        Json::Array(items) => Json::Array(changed_items(items, dice)),
        Json::String(text) => respelt(text, dice),
        Json::Bool(value) => [json!(!value), json!(value.to_string())][dice.roll(2)].clone(),
        Json::Number(number) => {
            let (whole, text) = (number.as_f64().unwrap_or_default(), number.to_string());
            [json!(whole), json!(whole + 1.0), json!(text), json!(number.as_i64().unwrap_or_default() + 1)]
                [dice.roll(4)]
            .clone()
        }
        Json::Null => json!("x"),
    }
}

fn changed_members(members: &Map<String, Json>, live: &Json, dice: &mut Dice) -> Map<String, Json> {
    let mut members = members.clone();
    let one = |map: &Map<String, Json>, dice: &mut Dice| map.keys().nth(dice.roll(map.len())).cloned();
    match dice.roll(4) {
        0 | 1 => {
            if let Some(key) = one(&members, dice) {
                members.remove(&key);
            }
        }
        2 => {
            let filled_in =
                live.as_object().into_iter().flatten().filter(|(key, _)| !members.contains_key(*key));
            let filled_in: Map<String, Json> =
                filled_in.map(|(key, value)| (key.clone(), value.clone())).collect();
            if let Some(key) = one(&filled_in, dice) {
                members.insert(key.clone(), filled_in[&key].clone());
            }
        }
        _ => drop(members.insert("added".to_owned(), json!("x"))),
    }
    members
}

fn changed_items(items: &[Json], dice: &mut Dice) -> Vec<Json> {
    let mut items = items.to_vec();
    match dice.roll(4) {
        0 => items.reverse(),
        1 => drop(items.pop()),
        2 if items.len() > 1 => items.swap(0, 1),
        2 => items.push(json!("x")),
        _ => items.extend(items.first().cloned()),
    }
    items
}

/// Another spelling of a text, of the same or another meaning.
fn respelt(text: &str, dice: &mut Dice) -> Json {
    let number = text.trim_end_matches(|character: char| !character.is_ascii_digit());
    let unit = &text[number.len()..];
    match (number.parse::<i64>(), unit) {
        (Ok(number), "" | "Gi" | "Mi" | "m") => {
            let larger = match unit {
                "Gi" => format!("{}Mi", number * 1024),
                "Mi" => format!("{}Ki", number * 1024),
                "m" => format!("{}", number.div_euclid(1000)),
                _ => format!("{}m", number * 1000),
            };
            [
                json!(larger),
                json!(format!("{number}.0{unit}")),
                json!(number),
                json!(format!("{}{unit}", number + 1)),
            ][dice.roll(4)]
            .clone()
        }
        _ => [json!(format!("{text}x")), json!(text.to_uppercase()), json!(format!("{text} "))][dice.roll(3)]
            .clone(),
    }
}

async fn connection() -> Connection {
    let options =
        ConnectOptions { kubeconfig: Some(cluster().kubeconfig.clone()), ..ConnectOptions::default() };
    connect(&options).await.unwrap()
}

fn judge(tally: &Tally, share: usize) {
    tally.show();
    assert_eq!(tally.wrong, [""; 0], "a proof never says what the server denies");
    assert!(
        tally.proven * 100 >= tally.applied * share,
        "{} of {} are proven, which is too few to be worth it: {:#?}",
        tally.proven,
        tally.applied,
        tally.doubts
    );
}

#[tokio::test]
async fn shortcut_and_dry_run_agree_on_objects_of_many_kinds() {
    let namespace = cluster().namespace("proof");
    let text = std::fs::read_to_string(repository("tests/cases/proof/objects.yaml")).unwrap();
    let objects = body::stored_objects(&text.replace("NAMESPACE", &namespace));
    let connection = connection().await;
    let mut bench = Bench::new(&connection, &namespace, Tally::default()).await;
    let count = objects.len();
    let applied = bench.run(objects).await;
    for key in applied.iter().filter(|key| key.namespace.is_none()) {
        let kind = format!("{}.{}", key.gvk.kind, key.gvk.group);
        cluster().tool("kubectl", &["delete", kind.trim_end_matches('.'), &key.name, "--wait=false"]);
    }
    assert_eq!((bench.tally.refused, bench.tally.applied), (0, count));
    // Half of these objects were made to be doubtful.
    judge(&bench.tally, 60);
}

#[tokio::test]
async fn shortcut_and_dry_run_agree_on_the_objects_of_the_given_corpus() {
    let Some(given) = given() else {
        say("STATECTL_CORPUS names no corpus: only the objects of the repository are asked about");
        return;
    };
    let connection = connection().await;
    let mut tally = Tally::default();
    let cases = runner::read_index(&given.dir).unwrap();
    for (index, case) in cases.iter().enumerate() {
        let Ok(chart) = runner::load(&case.chart_dir) else { continue };
        let rendered = with_renderer(|renderer| {
            runner::render_as(case, &chart, |request| renderer.release(request, &mut Lookups::offline()))
        });
        let Ok(Ok(rendered)) = rendered else { continue };
        let objects = rendered.manifests.iter().map(|manifest| manifest.document.object.clone());
        let objects: Vec<Json> = objects.filter(Json::is_object).flat_map(manifest::flatten).collect();
        let (objects, left_out): (Vec<_>, Vec<_>) = objects.into_iter().partition(may_be_applied);
        tally.left_out += left_out.len();
        let namespace = cluster().namespace(&format!("proof-{index}"));
        let mut bench = Bench::new(&connection, &namespace, tally).await;
        let applied = bench.run(objects).await;
        tally = bench.tally;
        for key in applied.iter().filter(|key| key.namespace.is_none()) {
            let kind = format!("{}.{}", key.gvk.kind, key.gvk.group);
            cluster().tool("kubectl", &["delete", kind.trim_end_matches('.'), &key.name, "--wait=false"]);
        }
        cluster().tool("kubectl", &["delete", "namespace", &namespace, "--wait=false"]);
    }
    judge(&tally, 90);
}

fn may_be_applied(object: &Json) -> bool {
    let group = object["apiVersion"].as_str().unwrap_or_default();
    object["kind"].as_str().is_some_and(|kind| !LEFT_OUT.contains(&kind)) && !group.starts_with("flowcontrol")
}
