//! Programs that give secrets: `sops`, which decrypts files, and those that somebody permitted to run.
#![expect(
    clippy::disallowed_methods,
    reason = "these programs have no library form; their output stays in memory"
)]

use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a program may take: keys may be behind a network.
const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(10);
/// The most that it may write.
const MOST: u64 = 16 << 20;
/// The most of a complaint that is shown.
const MOST_SAID: usize = 500;

/// Why a program gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// There is no such program.
    #[error("the program `{0}` is not on PATH")]
    Missing(String),
    /// It cannot be started.
    #[error("the program `{0}` cannot be run: {1}")]
    Start(String, String),
    /// It did not end.
    #[error("`{0}` did not end within {limit} s", limit = PATIENCE.as_secs())]
    TimedOut(String),
    /// It failed.
    #[error("`{0}` refused it: {1}")]
    Refused(String, String),
    /// More than anybody needs.
    #[error("what `{0}` writes is larger than {limit} MiB", limit = MOST >> 20)]
    TooLarge(String),
}

/// Returns the content of a file that `sops` decrypts. Nothing of it touches the disk.
///
/// # Errors
/// Why not; what `sops` said is shortened.
pub fn decrypt(path: &Path) -> Result<Vec<u8>, ProgramError> {
    let mut command = Command::new("sops");
    command.arg("--decrypt").arg(path);
    output_of("sops", command)
}

/// Returns what a program writes, without a shell and without input.
///
/// # Errors
/// Why nothing; what it said is shortened.
pub fn run(program: &str, arguments: &[String]) -> Result<Vec<u8>, ProgramError> {
    let mut command = Command::new(program);
    command.args(arguments);
    output_of(program, command)
}

fn output_of(name: &str, mut command: Command) -> Result<Vec<u8>, ProgramError> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => ProgramError::Missing(name.to_owned()),
        _ => ProgramError::Start(name.to_owned(), error.to_string()),
    })?;
    let reader = |stream: Option<Box<dyn std::io::Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(stream) = stream {
                // What was read until an error is all there is.
                drop(stream.take(MOST + 1).read_to_end(&mut bytes));
            }
            bytes
        })
    };
    let out = reader(child.stdout.take().map(|stream| Box::new(stream) as _));
    let err = reader(child.stderr.take().map(|stream| Box::new(stream) as _));
    let status = wait(name, &mut child)?;
    let (out, err) = (out.join().unwrap_or_default(), err.join().unwrap_or_default());
    if !status.success() {
        let said = String::from_utf8_lossy(&err).trim().replace('\n', " ");
        let said: String = said.chars().filter(|c| !c.is_control()).take(MOST_SAID).collect();
        let said = if said.is_empty() { status.to_string() } else { said };
        return Err(ProgramError::Refused(name.to_owned(), said));
    }
    if out.len() as u64 > MOST {
        return Err(ProgramError::TooLarge(name.to_owned()));
    }
    Ok(out)
}

fn wait(name: &str, child: &mut Child) -> Result<std::process::ExitStatus, ProgramError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(POLL),
            Ok(None) => {
                // It is of no use any more, whatever becomes of it.
                drop(child.kill());
                drop(child.wait());
                return Err(ProgramError::TimedOut(name.to_owned()));
            }
            Err(error) => return Err(ProgramError::Start(name.to_owned(), error.to_string())),
        }
    }
}
