//! Reading and writing YAML against `sigs.k8s.io/yaml`, as Helm calls it: values files and CRDs.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};

use crate::cases::Case;
use crate::engine::{Engine, Question, Work};
use crate::render::hex;
use crate::stats::{Ratios, median, print_sums, timed};
use statectl::manifest::{SplitRule, split};
use statectl::value::Value;
use statectl::yaml;

const RUNS: usize = 3;
const TURN: Duration = Duration::from_millis(8);
const ROUNDS: usize = 3;
/// CRDs are taken from the charts in turn, this many of each at most.
const CRDS: usize = 2;

/// One YAML document.
struct Text {
    id: String,
    text: String,
}

#[derive(Default)]
struct Times {
    read: Vec<u64>,
    write: Vec<u64>,
}

pub(crate) fn measure(cases: Vec<&Case>, list: bool) {
    let mut helm = Engine::start();
    let values = cases.iter().filter_map(|case| values_file(case)).collect();
    compare("values files", values, &mut helm, list);
    let crds = cases.iter().flat_map(|case| crds(&case.chart)).collect();
    compare("CRDs", crds, &mut helm, list);
}

fn compare(title: &str, texts: Vec<Text>, helm: &mut Engine, list: bool) {
    let (mut read, mut write) = (Ratios::default(), Ratios::default());
    let mut sums = [0u64; 4];
    let mut bytes = 0;
    let mut other = Vec::new();
    for text in texts {
        let (mut own_times, mut helm_times) = (Times::default(), Times::default());
        let compared = (0..ROUNDS).try_for_each(|_| turn(&text.text, helm, &mut own_times, &mut helm_times));
        if let Err(reason) = compared {
            other.push(format!("{}: {reason}", text.id));
            continue;
        }
        bytes += text.text.len();
        let times = [&mut helm_times.read, &mut own_times.read, &mut helm_times.write, &mut own_times.write]
            .map(|times| median(times));
        for (sum, time) in sums.iter_mut().zip(times) {
            *sum += time;
        }
        let [helm_read, own_read, helm_write, own_write] = times.map(float);
        let (read, write) = (read.add(helm_read, own_read), write.add(helm_write, own_write));
        if list {
            println!("  {read:6.2} ×  {write:6.2} ×  {:8} bytes  {}", text.text.len(), text.id);
        }
    }
    let [helm_read, own_read, helm_write, own_write] = sums.map(Duration::from_nanos);
    read.print(&format!("{title}, read"));
    print_sums(&format!("{title}, read, one of each ({bytes} bytes)"), helm_read, own_read);
    write.print(&format!("{title}, write"));
    print_sums(&format!("{title}, write, one of each"), helm_write, own_write);
    println!("{title}: {} left out because the two differ", other.len());
    other.iter().for_each(|line| println!("  {line}"));
}

#[expect(clippy::cast_precision_loss, reason = "far less than 2^53 nanoseconds")]
fn float(nanoseconds: u64) -> f64 {
    nanoseconds as f64
}

fn turn(text: &str, helm: &mut Engine, own_times: &mut Times, helm_times: &mut Times) -> Result<(), String> {
    let min_millis = u64::try_from(TURN.as_millis()).unwrap();
    let answer = helm.ask(&Question { work: Work::Yaml { text }, min_runs: RUNS, min_millis });
    if !answer.error.is_empty() {
        return Err(format!("Helm's library: {}", answer.error));
    }
    let start = Instant::now();
    let mut runs = 0;
    let mut written = String::new();
    while runs < RUNS || start.elapsed() < TURN {
        let (time, read) = timed(|| yaml::read_map(text.as_bytes()));
        let value = Value::Map(read.map_err(|error| format!("statectl: {error}"))?);
        own_times.read.push(u64::try_from(time.as_nanos()).unwrap());
        let (time, text) = timed(|| yaml::to_yaml(&value));
        written = text.map_err(|error| format!("statectl: {error}"))?;
        own_times.write.push(u64::try_from(time.as_nanos()).unwrap());
        runs += 1;
    }
    if hex(&Sha256::digest(&written)) != answer.digest {
        return Err("the written texts differ".to_owned());
    }
    helm_times.read.extend(answer.read);
    helm_times.write.extend(answer.write);
    Ok(())
}

/// Returns the chart's values file, unless nothing is in it.
fn values_file(case: &Case) -> Option<Text> {
    let text = std::fs::read_to_string(case.chart.join("values.yaml")).ok()?;
    let something = yaml::read_map(text.as_bytes()).is_ok_and(|map| !map.is_empty());
    something.then(|| Text { id: case.id.clone(), text })
}

fn crds(chart: &Path) -> Vec<Text> {
    let mut found = Vec::new();
    let mut open = vec![chart.join("crds"), chart.join("templates")];
    while let Some(folder) = open.pop() {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            if path.is_dir() {
                open.push(path);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                found.extend(crds_in(&path, &text));
            }
        }
    }
    found.truncate(CRDS);
    found
}

fn crds_in(path: &Path, text: &str) -> Vec<Text> {
    let id = path.display().to_string();
    let is_crd = |text: &&&str| text.contains("\nkind: CustomResourceDefinition") && !text.contains("{{");
    split(text, SplitRule::default())
        .iter()
        .filter(is_crd)
        .map(|text| Text { id: id.clone(), text: (*text).to_owned() })
        .collect()
}
