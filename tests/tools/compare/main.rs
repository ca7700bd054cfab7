//! Compares `statectl` with real Helm on a folder of charts: what `scripts/compare-template` runs.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a tool for developers: it reads files, starts processes and prints"
)]

mod cases;
mod notes;
mod template;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use cases::Case;

const USAGE: &str =
    "usage: compare (template|notes) --helm FILE --statectl FILE [--jobs N] [--limit N] [--only TEXT]
               [--show N] DIR [-- FLAG...]";

/// What to compare, and with what.
struct Options {
    helm: PathBuf,
    statectl: PathBuf,
    jobs: usize,
    /// No more cases than this.
    limit: usize,
    /// Only cases whose name contains this.
    only: String,
    /// How many examples to show of each cause.
    show: usize,
    folder: PathBuf,
    /// Flags for both programs.
    flags: Vec<String>,
}

/// How a case ended.
enum Outcome {
    /// The same, for this reason.
    Same(&'static str),
    /// Nothing was compared.
    Skipped(String),
    /// Not the same: the cause, and an example.
    Different { cause: String, example: String },
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let verb = arguments.next().unwrap_or_default();
    let options = match options(arguments) {
        Ok(options) => options,
        Err(message) => return usage(&message),
    };
    let compare: fn(&Options, &Case) -> Outcome = match verb.as_str() {
        "template" => template::compare,
        "notes" => notes::compare,
        other => return usage(&format!("{other:?} is neither template nor notes")),
    };
    match cases::find(&options.folder) {
        Ok(cases) => run(&options, &verb, cases, compare),
        Err(message) => usage(&message),
    }
}

fn usage(message: &str) -> ExitCode {
    eprintln!("{message}\n{USAGE}");
    ExitCode::from(64)
}

fn options(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options {
        helm: PathBuf::new(),
        statectl: PathBuf::new(),
        jobs: 2,
        limit: usize::MAX,
        only: String::new(),
        show: 3,
        folder: PathBuf::new(),
        flags: Vec::new(),
    };
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
        let number = |text: String| text.parse().map_err(|_| format!("{text:?} is not a number"));
        match argument.as_str() {
            "--helm" => options.helm = value()?.into(),
            "--statectl" => options.statectl = value()?.into(),
            "--jobs" => options.jobs = number(value()?)?,
            "--limit" => options.limit = number(value()?)?,
            "--only" => options.only = value()?,
            "--show" => options.show = number(value()?)?,
            "--" => options.flags = arguments.by_ref().collect(),
            flag if flag.starts_with('-') => return Err(format!("unknown flag {flag}")),
            folder => options.folder = folder.into(),
        }
    }
    let all = [&options.helm, &options.statectl, &options.folder];
    if all.iter().any(|path| path.as_os_str().is_empty()) {
        return Err("--helm, --statectl and a folder are needed".to_owned());
    }
    Ok(options)
}

fn run(
    options: &Options,
    verb: &str,
    mut cases: Vec<Case>,
    compare: fn(&Options, &Case) -> Outcome,
) -> ExitCode {
    cases.retain(|case| case.name.contains(&options.only));
    let next = AtomicUsize::new(0);
    let compared = AtomicUsize::new(0);
    let outcomes: Mutex<Vec<(String, Outcome)>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.max(1) {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if compared.load(Ordering::Relaxed) >= options.limit {
                        return;
                    }
                    let outcome = compare(options, case);
                    if !matches!(outcome, Outcome::Skipped(_)) {
                        compared.fetch_add(1, Ordering::Relaxed);
                    }
                    if let Ok(mut all) = outcomes.lock() {
                        all.push((case.name.clone(), outcome));
                    }
                }
            });
        }
    });
    report(options, verb, outcomes.into_inner().unwrap_or_default())
}

fn report(options: &Options, verb: &str, mut outcomes: Vec<(String, Outcome)>) -> ExitCode {
    outcomes.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut same: BTreeMap<&str, usize> = BTreeMap::new();
    let mut skipped: BTreeMap<&str, usize> = BTreeMap::new();
    let mut different: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for (name, outcome) in &outcomes {
        match outcome {
            Outcome::Same(why) => *same.entry(why).or_default() += 1,
            Outcome::Skipped(why) => *skipped.entry(why).or_default() += 1,
            Outcome::Different { cause, example } => {
                different.entry(cause).or_default().push((name, example))
            }
        }
    }
    for (cause, examples) in &different {
        println!("different, {cause}: {}", examples.len());
        for (name, example) in examples.iter().take(options.show) {
            println!("  {name}\n    {}", example.replace('\n', "\n    "));
        }
    }
    for (why, count) in &skipped {
        println!("not compared, {why}: {count}");
    }
    for (why, count) in &same {
        println!("same, {why}: {count}");
    }
    let total_same: usize = same.values().sum();
    let total_different: usize = different.values().map(Vec::len).sum();
    println!("compare-{verb}: {total_same}/{} equal", total_same + total_different);
    if total_different == 0 && total_same > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Returns the first line at which two texts part, of both.
fn first_difference(helm: &str, ours: &str) -> String {
    let (mut helm, mut ours) = (helm.split('\n'), ours.split('\n'));
    let mut number = 0;
    let mut source = String::new();
    loop {
        number += 1;
        match (helm.next(), ours.next()) {
            (None, None) => return "they are the same".to_owned(),
            (a, b) if a == b => {
                source = a.and_then(|line| line.strip_prefix("# Source: ")).map_or(source, str::to_owned);
            }
            (a, b) => {
                let show = |line: Option<&str>| {
                    line.map_or("(end)".to_owned(), |line| {
                        format!("{:?}", line.chars().take(200).collect::<String>())
                    })
                };
                return format!("line {number}, in {source}\nhelm:     {}\nstatectl: {}", show(a), show(b));
            }
        }
    }
}
