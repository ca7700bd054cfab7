//! The one program that is run without being asked for: `sops`, which decrypts files.
#![expect(clippy::disallowed_methods, reason = "sops has no library form; its output stays in memory")]

use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a decryption may take: keys may be behind a network.
const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(10);
/// The most that a decrypted file may hold.
const MOST: u64 = 16 << 20;
/// The most of a complaint that is shown.
const MOST_SAID: usize = 500;

/// Why a file could not be decrypted.
#[derive(Debug, thiserror::Error)]
pub enum SopsError {
    /// There is no such program.
    #[error("the program `sops` is not on PATH")]
    Missing,
    /// It cannot be started.
    #[error("the program `sops` cannot be run: {0}")]
    Start(String),
    /// It did not end.
    #[error("`sops` did not end within {} s", PATIENCE.as_secs())]
    TimedOut,
    /// It failed.
    #[error("`sops` refused it: {0}")]
    Refused(String),
    /// More than anybody needs.
    #[error("the decrypted file is larger than {} MiB", MOST >> 20)]
    TooLarge,
}

/// Returns the decrypted content of a file. Nothing of it touches the disk.
///
/// # Errors
/// Why not; what `sops` said is shortened.
pub fn decrypt(path: &Path) -> Result<Vec<u8>, SopsError> {
    let mut command = Command::new("sops");
    command.arg("--decrypt").arg(path).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => SopsError::Missing,
        _ => SopsError::Start(error.to_string()),
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
    let status = wait(&mut child)?;
    let (out, err) = (out.join().unwrap_or_default(), err.join().unwrap_or_default());
    if !status.success() {
        let said = String::from_utf8_lossy(&err).trim().replace('\n', " ");
        let said: String = said.chars().filter(|c| !c.is_control()).take(MOST_SAID).collect();
        return Err(SopsError::Refused(if said.is_empty() { status.to_string() } else { said }));
    }
    if out.len() as u64 > MOST {
        return Err(SopsError::TooLarge);
    }
    Ok(out)
}

fn wait(child: &mut Child) -> Result<std::process::ExitStatus, SopsError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(POLL),
            Ok(None) => {
                // It is of no use any more, whatever becomes of it.
                drop(child.kill());
                drop(child.wait());
                return Err(SopsError::TimedOut);
            }
            Err(error) => return Err(SopsError::Start(error.to_string())),
        }
    }
}
