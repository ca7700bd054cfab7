//! Renders a corpus of charts and compares every answer with the one recorded from real Helm.
//!
//! Usage: `corpus DIR [--jobs N] [--slowest N]`, where DIR holds `dist/index-*.json` and the files that it names.
//! Prints the failures by cause and chart, the slowest cases if asked, and one last line with the score; exits
//! with 0 only if nothing differs.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program of its own that reports on the terminal"
)]
#![expect(clippy::disallowed_methods, reason = "a program of its own that reads its arguments and files")]

#[path = "../support/corpus.rs"]
mod corpus;

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut dir = None;
    let mut jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let mut slowest = 0;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--jobs" => match args.next().and_then(|jobs| jobs.parse().ok()) {
                Some(given) if given > 0 => jobs = given,
                _ => return usage(),
            },
            "--slowest" => match args.next().and_then(|count| count.parse().ok()) {
                Some(given) => slowest = given,
                _ => return usage(),
            },
            _ if dir.is_none() && !arg.starts_with('-') => dir = Some(PathBuf::from(arg)),
            _ => return usage(),
        }
    }
    let Some(dir) = dir else { return usage() };
    match corpus::run(&dir, jobs) {
        Ok(report) => {
            for (time, case) in report.slowest(slowest) {
                println!("{:>6} ms {case}", time.as_millis());
            }
            println!("{report}");
            if report.is_perfect() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: corpus DIR [--jobs N] [--slowest N]");
    ExitCode::from(2)
}
