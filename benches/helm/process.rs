//! Whole processes: `statectl template` against `helm template`, and how long `statectl --version` takes.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::Settings;
use crate::cases::Case;
use crate::stats::{Ratios, median, timed};

/// Charts to take unless told otherwise.
pub(crate) const CHARTS: usize = 60;
/// Runs of each program per chart, in turn.
const RUNS: usize = 5;
const VERSION_RUNS: usize = 51;
const STATECTL: &str = env!("CARGO_BIN_EXE_statectl");

pub(crate) fn measure(cases: Vec<&Case>, settings: &Settings) {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    println!("helm: {}", version(&settings.helm, home));
    version_time(home);
    let (mut time, mut memory) = (Ratios::default(), Ratios::default());
    let (mut times, mut kilobytes) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    let mut other = Vec::new();
    for case in cases {
        let programs = [settings.helm.as_path(), Path::new(STATECTL)];
        let outputs = programs.map(|program| template(program, case, home).output().expect("it starts"));
        let [helm_output, own_output] = &outputs;
        if !helm_output.status.success() || helm_output.stdout != own_output.stdout {
            other.push(case.id.as_str());
            continue;
        }
        let mut runs = [Vec::new(), Vec::new()];
        for _ in 0..RUNS {
            for (program, runs) in programs.iter().zip(&mut runs) {
                runs.push(timed(|| silent(template(program, case, home)).status().expect("it starts")).0);
            }
        }
        let [helm_time, own_time] = runs.map(|mut runs| median(&mut runs));
        let [helm_peak, own_peak] = programs.map(|program| peak(program, case, home));
        let ratio = time.add(helm_time.as_secs_f64(), own_time.as_secs_f64());
        let ratio_of_memory = memory.add(f64::from(helm_peak), f64::from(own_peak));
        times[0].push(helm_time);
        times[1].push(own_time);
        kilobytes[0].push(helm_peak);
        kilobytes[1].push(own_peak);
        if settings.list {
            println!(
                "  {ratio:6.2} ×  {ratio_of_memory:5.2} ×  {:6.1} ms  {:6.1} ms  {helm_peak:7} kB  {own_peak:7} kB  {}",
                milliseconds(helm_time),
                milliseconds(own_time),
                case.id
            );
        }
    }
    time.print("template, time");
    memory.print("template, peak memory");
    if !times[0].is_empty() {
        let [helm_time, own_time] = times.map(|mut times| milliseconds(median(&mut times)));
        let [helm_peak, own_peak] = kilobytes.map(|mut all| f64::from(median(&mut all)) / 1024.0);
        println!(
            "template, medians: helm {helm_time:.1} ms and {helm_peak:.1} MB, statectl {own_time:.1} ms and {own_peak:.1} MB"
        );
    }
    println!("template: {} charts left out because the two differ or helm fails", other.len());
    other.iter().for_each(|id| println!("  {id}"));
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Returns the program in an environment that leads to no cluster.
fn clean(program: &Path, home: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("HOME", home).stdin(Stdio::null());
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command
}

fn version(helm: &Path, home: &Path) -> String {
    let output = clean(helm, home).args(["version", "--short"]).output();
    let output = output.unwrap_or_else(|error| {
        panic!("{} does not start ({error}); scripts/tools builds it, --helm names it", helm.display())
    });
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn version_time(home: &Path) {
    let mut times: Vec<Duration> = (0..VERSION_RUNS)
        .map(|_| {
            let mut command = clean(Path::new(STATECTL), home);
            command.arg("--version").stdout(Stdio::null());
            timed(|| command.status().expect("it starts")).0
        })
        .collect();
    println!("statectl --version: {:.1} ms (median of {VERSION_RUNS})", milliseconds(median(&mut times)));
}

fn template(program: &Path, case: &Case, home: &Path) -> Command {
    let mut command = clean(program, home);
    arguments(&mut command, case);
    command
}

fn silent(mut command: Command) -> Command {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn arguments(command: &mut Command, case: &Case) {
    command.args(["template", &case.name]).arg(&case.chart).args(["--namespace", &case.namespace]);
    if let Some(values) = &case.values {
        command.arg("--values").arg(values);
    }
    if let Some(version) = &case.kube_version {
        command.args(["--kube-version", version]);
    }
    for version in &case.api_versions {
        command.args(["--api-versions", version]);
    }
    if case.is_upgrade {
        command.arg("--is-upgrade");
    }
}

/// Returns the peak of the resident memory in kB. A small program in between starts it, since a process
/// inherits the peak of the one that starts it.
fn peak(program: &Path, case: &Case, home: &Path) -> u32 {
    let mut command = clean(Path::new("time"), home);
    command.args(["--quiet", "-f", "%M"]).arg(program).stdout(Stdio::null());
    arguments(&mut command, case);
    let output = command.output().expect("GNU time (package `time`) measures memory");
    let text = String::from_utf8_lossy(&output.stderr);
    text.lines().last().and_then(|line| line.trim().parse().ok()).expect("GNU time prints a number")
}
