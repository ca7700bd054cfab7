//! Programs that fetching needs: run to their end, with what they complained of in one line.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

/// How long one may take: it may wait for a network.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);
/// The most of a complaint that is shown.
const MOST_SAID: usize = 300;

/// How a program did not end well.
#[derive(Debug)]
pub(super) enum Ended {
    /// There is no such program.
    Missing,
    /// It cannot be run.
    NotRun(io::Error),
    /// It took longer than [`PATIENCE`].
    TimedOut,
    /// It failed, and said this last; never empty.
    Failed(String),
}

/// Runs a program, which gets no input and whose output is dropped. It ends with the returned future.
///
/// # Errors
/// It did not end well.
pub(super) async fn run(command: &mut Command) -> Result<(), Ended> {
    command.stdout(Stdio::null());
    ended(command).await.map(drop)
}

/// Runs a program to its end and returns what it writes to stdout.
///
/// # Errors
/// It did not end well.
pub(super) async fn answer(command: &mut Command) -> Result<String, Ended> {
    command.stdout(Stdio::piped());
    ended(command).await.map(|said| String::from_utf8_lossy(&said).into_owned())
}

async fn ended(command: &mut Command) -> Result<Vec<u8>, Ended> {
    command.stdin(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
    let child = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Ended::Missing,
        _ => Ended::NotRun(error),
    })?;
    let output = tokio::time::timeout(PATIENCE, child.wait_with_output()).await;
    let output = output.map_err(|_| Ended::TimedOut)?.map_err(Ended::NotRun)?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim().lines().last().unwrap_or_default();
    let said: String = said.chars().filter(|c| !c.is_control()).take(MOST_SAID).collect();
    Err(Ended::Failed(if said.is_empty() { output.status.to_string() } else { said }))
}
