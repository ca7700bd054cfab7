//! Rendering, load time excluded, against `helm.sh/helm/v4/pkg/engine` on one thread.

use std::collections::BTreeMap;
use std::error::Error;
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};

use crate::cases::Case;
use crate::engine::{Engine, Question, Work};
use crate::stats::{Ratios, median, print_sums, timed};
use statectl::chart::Chart;
use statectl::fetch;
use statectl::render::capabilities::{Capabilities, KubeVersion};
use statectl::render::lookup::Lookups;
use statectl::render::{self, ReleaseInfo, RenderError, Renderer, Request};
use statectl::value::Map;
use statectl::values;

/// How often both take turns with a chart.
const ROUNDS: usize = 3;
/// The least repetitions of a turn, and how long it takes at least.
const RUNS: usize = 3;
const TURN: Duration = Duration::from_millis(15);

/// Nanoseconds of all repetitions for one chart.
#[derive(Default)]
struct Times {
    load: Vec<u64>,
    /// A render from nothing: dependencies, values, parsing, execution.
    whole: Vec<u64>,
    /// The same, with the start and end of the thread that it runs on.
    thread: Vec<u64>,
    /// The same with the templates parsed before.
    again: Vec<u64>,
}

#[derive(Default)]
struct HelmTimes {
    load: Vec<u64>,
    /// The engine alone: parsing and execution.
    engine: Vec<u64>,
    /// Dependencies, values and engine.
    whole: Vec<u64>,
}

/// What there is to say in the end.
#[derive(Default)]
struct Sums {
    helm_load: u64,
    own_load: u64,
    helm: u64,
    own: u64,
}

pub(crate) fn measure(cases: Vec<&Case>, list: bool) {
    let mut helm = Engine::start();
    let [mut whole, mut engine, mut thread, mut again, mut load]: [Ratios; 5] = Default::default();
    let mut sums = Sums::default();
    let mut other = Vec::new();
    for case in cases {
        let (mut own_times, mut helm_times) = (Times::default(), HelmTimes::default());
        let compared = (0..ROUNDS).try_for_each(|_| turn(case, &mut helm, &mut own_times, &mut helm_times));
        if let Err(reason) = compared {
            other.push(format!("{}: {reason}", case.id));
            continue;
        }
        let own = median(&mut own_times.whole);
        let helm_whole = median(&mut helm_times.whole);
        let ratio = engine.add(float(median(&mut helm_times.engine)), float(own));
        whole.add(float(helm_whole), float(own));
        thread.add(float(helm_whole), float(median(&mut own_times.thread)));
        again.add(float(helm_whole), float(median(&mut own_times.again)));
        let (helm_load, own_load) = (median(&mut helm_times.load), median(&mut own_times.load));
        load.add(float(helm_load), float(own_load));
        sums.helm_load += helm_load;
        sums.own_load += own_load;
        sums.helm += helm_whole;
        sums.own += own;
        if list {
            println!(
                "  {ratio:6.2} ×  {:9.1} µs  {:9.1} µs  {}",
                float(helm_whole) / 1e3,
                float(own) / 1e3,
                case.id
            );
        }
    }
    whole.print("render, the same work (dependencies, values, parsing, execution)");
    engine.print("render, Helm without dependencies and values, statectl with them");
    thread.print("render, the same work, statectl on a new thread each time");
    again.print("render, statectl with templates parsed before");
    print_sums("render, one of each", Duration::from_nanos(sums.helm), Duration::from_nanos(sums.own));
    load.print("load, folder and values file");
    print_sums(
        "load, one of each",
        Duration::from_nanos(sums.helm_load),
        Duration::from_nanos(sums.own_load),
    );
    println!("render: {} charts left out because the two differ", other.len());
    other.iter().for_each(|line| println!("  {line}"));
}

#[expect(clippy::cast_precision_loss, reason = "far less than 2^53 nanoseconds")]
fn float(nanoseconds: u64) -> f64 {
    nanoseconds as f64
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap()
}

/// Lets both render for a while, and compares what comes out.
fn turn(
    case: &Case,
    helm: &mut Engine,
    own_times: &mut Times,
    helm_times: &mut HelmTimes,
) -> Result<(), String> {
    let question = Question {
        work: Work::render(case),
        min_runs: RUNS,
        min_millis: u64::try_from(TURN.as_millis()).unwrap(),
    };
    let answer = helm.ask(&question);
    if !answer.error.is_empty() {
        return Err(format!("Helm fails: {}", answer.error.lines().next().unwrap_or_default()));
    }
    let digest = own_turn(case, own_times).map_err(|error| format!("statectl fails: {error}"))?;
    if digest != answer.digest {
        return Err("the rendered texts differ".to_owned());
    }
    helm_times.load.push(answer.load);
    for (values, render) in answer.values.iter().zip(&answer.render) {
        helm_times.engine.push(*render);
        helm_times.whole.push(answer.dependencies + values + render);
    }
    Ok(())
}

fn own_turn(case: &Case, times: &mut Times) -> Result<String, Box<dyn Error>> {
    let (load, loaded) = timed(|| load(case));
    let (chart, values) = loaded?;
    times.load.push(nanoseconds(load));
    let mut capabilities = Capabilities::offline();
    if let Some(version) = &case.kube_version {
        capabilities.kube_version = KubeVersion::parse(version).expect("cases name good versions");
    }
    capabilities.api_versions.extend(case.api_versions.iter().cloned());
    let mut lookups = Lookups::offline();
    let request = || request(case, &chart, &values, &capabilities);

    let mut files = BTreeMap::new();
    repeat(&mut times.thread, || {
        let (time, rendered) =
            render::with_renderer(|renderer| timed(|| renderer.files(&request(), &mut Lookups::offline())))?;
        times.whole.push(nanoseconds(time));
        files = rendered?;
        Ok(())
    })?;
    render::with_renderer(|renderer: &mut Renderer| {
        renderer.files(&request(), &mut lookups)?;
        repeat(&mut times.again, || renderer.files(&request(), &mut lookups).map(drop))
    })??;
    Ok(digest(&files))
}

fn load(case: &Case) -> Result<(Chart, Map), Box<dyn Error>> {
    let chart = fetch::dir::load(&case.chart)?;
    let values = match &case.values {
        Some(path) => values::load(&std::fs::read(path)?)?,
        None => Map::new(),
    };
    Ok((chart, values))
}

fn request<'c>(
    case: &Case,
    chart: &'c Chart,
    values: &'c Map,
    capabilities: &'c Capabilities,
) -> Request<'c> {
    Request {
        chart,
        values,
        release: ReleaseInfo {
            name: case.name.clone(),
            namespace: case.namespace.clone(),
            revision: case.revision,
            is_install: case.is_install,
            is_upgrade: case.is_upgrade,
        },
        capabilities,
        options: render::Options { skip_schema: true, ..render::Options::default() },
        now: jiff::Zoned::now(),
        seed: [7; 32],
    }
}

/// Calls `run` as often as Helm's side does.
fn repeat(times: &mut Vec<u64>, mut run: impl FnMut() -> Result<(), RenderError>) -> Result<(), RenderError> {
    let start = Instant::now();
    let mut runs = 0;
    while runs < RUNS || start.elapsed() < TURN {
        let (time, result) = timed(&mut run);
        result?;
        times.push(nanoseconds(time));
        runs += 1;
    }
    Ok(())
}

fn digest(files: &BTreeMap<String, String>) -> String {
    let mut sum = Sha256::new();
    for (name, text) in files {
        sum.update(name);
        sum.update([0]);
        sum.update(text);
        sum.update([0]);
    }
    hex(&sum.finalize())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
