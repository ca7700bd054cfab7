//! The `statectl` binary: parses, runs, and ends with the exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(statectl::cli::main().number())
}
