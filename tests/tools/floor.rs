//! The floor under an apply: the same requests, sent by a program that does nothing else.
//!
//! Usage: `floor save LIST FILE` notes what the releases of LIST (lines of NAMESPACE NAME BATCH) consist of, as they are
//! deployed; `floor write FILE PARALLEL` sends what their first apply takes: a dry run of every object, then batch by
//! batch for each release its record, its objects and its record again. Prints the seconds of both parts and how many
//! requests there were. The cluster is that of `KUBECONFIG`.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program of its own that reports on the terminal"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "a program of its own that reads arguments, files and the clock"
)]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use futures::StreamExt as _;
use serde_json::{Value as Json, json};
use statectl::cluster::{ApplyOptions, ConnectOptions, Discovery, Reader, Resource, Writer, connect};
use statectl::history::{self, Storage};
use statectl::model::{FIELD_MANAGER, GroupVersionKind, ObjectKey, ReleaseKey};
use statectl::plan::body;

type Anything<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// A release as it is written.
struct Release {
    batch: u64,
    record: Json,
    objects: Vec<(ObjectKey, Json)>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = tokio::runtime::Runtime::new().map_err(Into::into).and_then(|runtime| {
        runtime.block_on(async {
            match arguments.as_slice() {
                ["save", list, file] => save(list.as_ref(), file.as_ref()).await,
                ["write", file, parallel] => write(file.as_ref(), parallel.parse()?).await,
                _ => Err("usage: floor save LIST FILE | floor write FILE PARALLEL".into()),
            }
        })
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("floor: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn reader() -> Anything<Reader> {
    Ok(connect(&ConnectOptions::default()).await?.reader)
}

async fn save(list: &Path, file: &Path) -> Anything<()> {
    let reader = reader().await?;
    let mut out = Vec::new();
    for line in std::fs::read_to_string(list)?.lines() {
        let mut words = line.split_whitespace();
        let (Some(namespace), Some(name), Some(batch)) = (words.next(), words.next(), words.next()) else {
            return Err(format!("not NAMESPACE NAME BATCH: {line}").into());
        };
        let secret = format!("sh.helm.release.v1.{name}.v1");
        let stored = reader.get(&Resource::secrets(), Some(namespace), &secret).await?;
        let stored = stored.ok_or_else(|| format!("{namespace}/{name} is not deployed"))?;
        out.push(
            json!({"namespace": namespace, "name": name, "batch": batch.parse::<u64>()?, "record": stored}),
        );
    }
    std::fs::write(file, serde_json::to_vec(&out)?)?;
    Ok(())
}

/// Reads what was saved, with the records as they are first written.
fn load(file: &Path, discovery: &Discovery) -> Anything<Vec<Release>> {
    let saved: Vec<Json> = serde_json::from_slice(&std::fs::read(file)?)?;
    let mut releases = Vec::new();
    for mut entry in saved {
        let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        let key = ReleaseKey::new(text("namespace"), text("name"));
        let record = history::decode(Storage::Secret, &entry["record"]).ok_or("no record")?;
        let record = record.map_err(|error| error.why.to_string())?;
        let namespaced = |gvk: &GroupVersionKind| discovery.resource(gvk).is_ok_and(|kind| kind.namespaced);
        let objects = body::stored_objects(&record.release.manifest).into_iter().filter_map(|object| {
            let id = body::key_of(&object, namespaced, &key.namespace)?;
            Some((id, body::stamped(object, &key)))
        });
        let objects = objects.collect();
        let mut record = entry["record"].take();
        if let Some(metadata) = record["metadata"].as_object_mut() {
            metadata
                .retain(|name, _| matches!(name.as_str(), "name" | "namespace" | "labels" | "annotations"));
        }
        releases.push(Release { batch: entry["batch"].as_u64().unwrap_or(0), record, objects });
    }
    Ok(releases)
}

async fn write(file: &Path, parallel: usize) -> Anything<()> {
    let reader = reader().await?;
    let discovery = reader.discover().await?;
    let releases = load(file, &discovery)?;
    let mut batches: BTreeMap<u64, Vec<&Release>> = BTreeMap::new();
    for release in &releases {
        batches.entry(release.batch).or_default().push(release);
    }
    let started = Instant::now();
    let asked = releases.iter().flat_map(|release| &release.objects).map(|(key, body)| {
        let (reader, discovery) = (&reader, &discovery);
        async move {
            let options = ApplyOptions { force: false, manager: FIELD_MANAGER };
            let resource = discovery.resource(&key.gvk)?;
            reader.dry_run_apply(resource, key.namespace.as_deref(), &key.name, body, options).await
        }
    });
    let mut asked = futures::stream::iter(asked).buffer_unordered(parallel);
    let mut requests = 0;
    while let Some(answer) = asked.next().await {
        answer?;
        requests += 1;
    }
    let planned = started.elapsed();
    let started = Instant::now();
    let writer = Writer::new(reader.clone());
    for batch in batches.into_values() {
        let work = batch.into_iter().map(|release| one(&writer, &discovery, release));
        let mut work = futures::stream::iter(work).buffer_unordered(parallel);
        while let Some(done) = work.next().await {
            requests += done?;
        }
    }
    println!("{:.3} {:.3} {requests}", planned.as_secs_f64(), started.elapsed().as_secs_f64());
    Ok(())
}

/// Writes a release; returns how many requests it took.
async fn one(writer: &Writer, discovery: &Discovery, release: &Release) -> Anything<usize> {
    let namespace = release.record["metadata"]["namespace"].as_str();
    let name = release.record["metadata"]["name"].as_str().unwrap_or_default();
    let created = writer.create(&Resource::secrets(), namespace, &release.record).await?;
    for (key, body) in &release.objects {
        let options = ApplyOptions { force: true, manager: FIELD_MANAGER };
        let resource = discovery.resource(&key.gvk)?;
        writer.apply(resource, key.namespace.as_deref(), &key.name, body, options).await?;
    }
    writer.replace(&Resource::secrets(), namespace, name, &created.body).await?;
    Ok(release.objects.len() + 2)
}
