//! How fast statectl is compared to Helm, in one run on one machine. See `docs/benchmarks.md`.
//!
//! Both take turns chart by chart, so that whatever else the machine does hits both.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a measurement reads files, starts processes, looks at the clock and stops at what it does not expect"
)]

mod cases;
mod engine;
mod process;
mod render;
mod stats;
mod yaml;

use std::path::PathBuf;
use std::process::ExitCode;

use cases::Cases;

const USAGE: &str = "\
usage: cargo bench [-- [render] [yaml] [process] [--corpus DIR] [--limit N] [--only TEXT] [--helm PATH] [--list]]

render       rendering, against Helm's engine
yaml         reading and writing YAML, against Helm's library
process      `statectl template` and `statectl --version`, against the helm binary
--corpus     a folder of unpacked public charts with dist/index-*.json; without it, the examples
--limit N    take N charts, evenly spread
--only TEXT  take the charts whose path contains TEXT
--helm PATH  the helm binary (helm4 in PATH if not given)
--list       print each chart's numbers too
";

/// What is to be measured, and how.
struct Settings {
    parts: Vec<String>,
    corpus: Option<PathBuf>,
    limit: Option<usize>,
    only: String,
    helm: PathBuf,
    list: bool,
}

fn settings() -> Result<Settings, String> {
    let mut settings = Settings {
        parts: Vec::new(),
        corpus: None,
        limit: None,
        only: String::new(),
        helm: "helm4".into(),
        list: false,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--corpus" => settings.corpus = Some(value()?.into()),
            "--limit" => {
                let text = value()?;
                settings.limit = Some(text.parse().map_err(|error| format!("--limit {text}: {error}"))?);
            }
            "--only" => settings.only = value()?,
            "--helm" => settings.helm = value()?.into(),
            "--list" => settings.list = true,
            "render" | "yaml" | "process" => settings.parts.push(argument),
            // Cargo hands this on.
            "--bench" => {}
            other => return Err(format!("unknown argument {other}")),
        }
    }
    if settings.parts.is_empty() {
        settings.parts = ["render", "yaml", "process"].map(str::to_owned).into();
    }
    Ok(settings)
}

fn main() -> ExitCode {
    let settings = match settings() {
        Ok(settings) => settings,
        Err(message) => {
            eprint!("{message}\n\n{USAGE}");
            return ExitCode::FAILURE;
        }
    };
    let mut cases = match &settings.corpus {
        Some(folder) => Cases::of_corpus(folder),
        None => Cases::of_examples(),
    };
    cases.keep(&settings.only);
    println!("charts: {}", cases.origin);
    let wants = |part: &str| settings.parts.iter().any(|wanted| wanted == part);
    if wants("render") {
        render::measure(cases.spread(settings.limit), settings.list);
    }
    if wants("yaml") {
        yaml::measure(cases.spread(settings.limit), settings.list);
    }
    if wants("process") {
        process::measure(cases.spread(settings.limit.or(Some(process::CHARTS))), &settings);
    }
    ExitCode::SUCCESS
}
