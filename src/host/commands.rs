//! Programs that a desired-state file names: each in a process group of its own, with a deadline, and gone with it.
//!
//! Only what somebody allowed on the command line gets here. Nothing of the output is shown before secrets are masked,
//! which is up to the caller.
#![expect(clippy::disallowed_methods, reason = "whoever says `--allow-exec` asks for it")]

use std::collections::BTreeMap;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal as Kill, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

use super::signals::{Signal, Stop};

/// Between the request to end and the end.
const GRACE: Duration = Duration::from_secs(2);
/// How long what a program has started may keep its output open after its own end.
const LINGER: Duration = Duration::from_millis(250);
/// How much of what is only shown is kept: the end of it.
const TAIL: usize = 16 << 10;

/// A program to run.
#[derive(Debug)]
pub struct Ask<'a> {
    /// The program: a path, or a name that is looked for on `PATH`.
    pub program: &'a str,
    /// Its arguments.
    pub arguments: &'a [String],
    /// Its whole environment.
    pub environment: &'a BTreeMap<String, String>,
    /// What it reads; nothing where its input is empty.
    pub input: Option<Vec<u8>>,
    /// How much it may write to its output, all of which is returned; nothing where only the end of everything that it
    /// says is of interest.
    pub output: Option<usize>,
    /// The longest time.
    pub timeout: Duration,
}

/// What a program that ended well has written.
#[derive(Debug, Default)]
pub struct Said {
    /// Its output, where that was asked for.
    pub output: Vec<u8>,
    /// The end of everything else that it said.
    pub tail: String,
}

/// Why a program did not end well. `tail` is the end of what it said.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are what the variant's sentence says")]
pub enum CommandError {
    /// There is no such program.
    #[error("there is no such program")]
    Missing,
    /// It cannot be started.
    #[error("it cannot be run: {0}")]
    Start(std::io::Error),
    /// It did not end in time, and was killed with everything that it started.
    #[error("it did not end within {seconds} s, and was killed")]
    TimedOut { seconds: u64, tail: String },
    /// The run was asked to stop, and it was killed with everything that it started.
    #[error("it was ended by {}", signal.name())]
    Interrupted { signal: Signal, tail: String },
    /// It says that it failed.
    #[error("it ended with {status}")]
    Failed { status: ExitStatus, tail: String },
    /// It wrote more than anybody needs.
    #[error("it wrote more than {} MiB", limit >> 20)]
    TooMuch { limit: usize },
    /// What became of it is not known.
    #[error("what became of it cannot be told: {0}")]
    Lost(std::io::Error),
}

impl CommandError {
    /// Returns the end of what the program said; empty if it said nothing.
    pub fn tail(&self) -> &str {
        match self {
            CommandError::TimedOut { tail, .. }
            | CommandError::Interrupted { tail, .. }
            | CommandError::Failed { tail, .. } => tail,
            CommandError::Missing
            | CommandError::Start(_)
            | CommandError::TooMuch { .. }
            | CommandError::Lost(_) => "",
        }
    }
}

/// A kubeconfig that names the current context and nothing else. It is removed when this is dropped.
#[derive(Debug)]
pub struct ContextFile {
    folder: PathBuf,
}

impl ContextFile {
    /// Writes one into a new folder, readable to its owner only, below the folder for temporary files.
    ///
    /// # Errors
    /// The system's.
    pub fn new(environment: &BTreeMap<String, String>, context: &str, name: &str) -> std::io::Result<Self> {
        let parent = environment.get("TMPDIR").filter(|folder| !folder.is_empty());
        let parent = parent.map_or("/tmp", String::as_str);
        let folder = PathBuf::from(parent).join(format!("statectl-{name}"));
        std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
        let file = Self { folder };
        let text = serde_json::json!({"apiVersion": "v1", "kind": "Config", "current-context": context});
        std::fs::write(file.path(), text.to_string())?;
        Ok(file)
    }

    /// Returns the path of the file.
    pub fn path(&self) -> String {
        self.folder.join("context.json").display().to_string()
    }
}

impl Drop for ContextFile {
    fn drop(&mut self) {
        // What cannot be removed names a context, and nothing secret.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The process groups that are alive.
static LIVE: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// Kills every program that is still running, with what it started: threads that wait for one do not outlive the
/// process, and neither should it.
pub fn end_all() {
    let live = std::mem::take(&mut *LIVE.lock().unwrap_or_else(PoisonError::into_inner));
    for group in live {
        let _ = kill_process_group(group, Kill::KILL);
    }
}

/// A process group; whatever of it is alive is killed when it is dropped, also where the work around it is given up.
struct Group(Option<Pid>);

impl Group {
    fn new(pid: Option<Pid>) -> Self {
        LIVE.lock().unwrap_or_else(PoisonError::into_inner).extend(pid);
        Self(pid)
    }

    fn send(&self, signal: Kill) {
        // A group that is gone already is what is wanted.
        let _ = self.0.map(|group| kill_process_group(group, signal));
    }

    /// Leaves the group alone: its program has ended by itself.
    fn release(&mut self) {
        LIVE.lock().unwrap_or_else(PoisonError::into_inner).retain(|group| Some(*group) != self.0);
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.send(Kill::KILL);
        LIVE.lock().unwrap_or_else(PoisonError::into_inner).retain(|group| Some(*group) != self.0);
    }
}

/// Runs a program to its end. It gets no terminal, and a process group of its own: what it starts ends with it when its
/// time is over, when the run is asked to stop, or when the returned future is dropped.
///
/// # Errors
/// It did not end well.
pub async fn run(ask: Ask<'_>, stop: Option<&Stop>) -> Result<Said, CommandError> {
    let mut command = Command::new(ask.program);
    command.args(ask.arguments).env_clear().envs(ask.environment).process_group(0);
    command.stdin(if ask.input.is_some() { Stdio::piped() } else { Stdio::null() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => CommandError::Missing,
        _ => CommandError::Start(error),
    })?;
    let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let mut group = Group::new(pid);
    let mut said = Listener::of(&mut child, ask.output);
    let input = child.stdin.take().zip(ask.input);
    let feed = async {
        if let Some((mut pipe, bytes)) = input {
            // A program that does not read all of it may be right.
            let _ = pipe.write_all(&bytes).await;
        }
        std::future::pending::<()>().await;
    };
    let asked = async {
        match stop {
            Some(stop) => stop.wait().await,
            None => std::future::pending().await,
        }
    };
    let end = tokio::select! {
        biased;
        signal = asked => Err(Some(signal)),
        () = tokio::time::sleep(ask.timeout) => Err(None),
        status = said.until(child.wait()) => Ok(status),
        () = feed => Err(None),
    };
    let status = match end {
        Ok(status) => status.map_err(CommandError::Lost)?,
        Err(signal) => {
            group.send(Kill::TERM);
            let _ = tokio::time::timeout(GRACE, said.until(child.wait())).await;
            group.send(Kill::KILL);
            let _ = child.wait().await;
            let tail = said.rest().await.tail;
            return Err(match signal {
                Some(signal) => CommandError::Interrupted { signal, tail },
                None => CommandError::TimedOut { seconds: ask.timeout.as_secs(), tail },
            });
        }
    };
    let is_full = said.is_full();
    let said = said.rest().await;
    if let Some(limit) = ask.output.filter(|limit| is_full || said.output.len() > *limit) {
        return Err(CommandError::TooMuch { limit });
    }
    // What it leaves running in good order is its own affair.
    group.release();
    if !status.success() {
        return Err(CommandError::Failed { status, tail: said.tail });
    }
    Ok(said)
}

/// Reads what a program says as it says it, so that it never waits for a reader.
struct Listener {
    out: Option<tokio::process::ChildStdout>,
    err: Option<tokio::process::ChildStderr>,
    limit: Option<usize>,
    output: Vec<u8>,
    tail: Vec<u8>,
}

impl Listener {
    fn of(child: &mut Child, limit: Option<usize>) -> Self {
        let (out, err) = (child.stdout.take(), child.stderr.take());
        Listener { out, err, limit, output: Vec::new(), tail: Vec::new() }
    }

    fn is_full(&self) -> bool {
        self.limit.is_some_and(|limit| self.output.len() > limit)
    }

    /// Listens until something else has happened.
    async fn until<T>(&mut self, end: impl Future<Output = T>) -> T {
        let mut end = std::pin::pin!(end);
        loop {
            tokio::select! {
                biased;
                done = &mut end => return done,
                () = self.step() => {}
            }
        }
    }

    /// Reads one piece; for ever once there is nothing more to read.
    async fn step(&mut self) {
        let (mut out, mut err) = ([0; 8 << 10], [0; 8 << 10]);
        tokio::select! {
            read = piece(&mut self.out, &mut out) => {
                match self.limit {
                    // What is over the limit is thrown away, so that the program comes to its end.
                    Some(limit) if self.output.len() > limit => {}
                    Some(_) => self.output.extend_from_slice(&out[..read]),
                    None => keep(&mut self.tail, &out[..read]),
                }
            }
            read = piece(&mut self.err, &mut err) => keep(&mut self.tail, &err[..read]),
        }
    }

    /// Returns all that was said, once the streams are closed or nothing more comes.
    async fn rest(mut self) -> Said {
        let closed = async {
            while self.out.is_some() || self.err.is_some() {
                self.step().await;
            }
        };
        let _ = tokio::time::timeout(LINGER, closed).await;
        Said { output: self.output, tail: String::from_utf8_lossy(&self.tail).into_owned() }
    }
}

/// Reads from a stream; one that ends is closed and never has anything to say again.
async fn piece(stream: &mut Option<impl AsyncRead + Unpin>, buffer: &mut [u8]) -> usize {
    if let Some(open) = stream {
        match open.read(buffer).await {
            Ok(read) if read > 0 => return read,
            // The end of the streams is noticed by whoever waits for both.
            _ => {
                *stream = None;
                return 0;
            }
        }
    }
    std::future::pending().await
}

fn keep(tail: &mut Vec<u8>, piece: &[u8]) {
    tail.extend_from_slice(piece);
    let over = tail.len().saturating_sub(TAIL);
    tail.drain(..over);
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn sh(script: &str, timeout: Duration, input: Option<&str>) -> Result<Said, CommandError> {
        let environment = BTreeMap::from([
            ("PATH".to_owned(), "/usr/bin:/bin".to_owned()),
            ("GREETING".to_owned(), "hello".to_owned()),
        ]);
        let ask = Ask {
            program: "sh",
            arguments: &["-c".to_owned(), script.to_owned()],
            environment: &environment,
            input: input.map(|text| text.as_bytes().to_vec()),
            output: input.map(|_| 1 << 20),
            timeout,
        };
        run(ask, None).await
    }

    const LONG: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn what_a_program_says_and_how_it_ends_is_told() {
        let said = sh("echo $GREETING; echo more >&2", LONG, None).await.unwrap();
        assert!(said.tail.contains("hello\n") && said.tail.contains("more\n"), "{said:?}");
        let error = sh("echo why >&2; exit 3", LONG, None).await.unwrap_err();
        assert_eq!((error.to_string().as_str(), error.tail()), ("it ended with exit status: 3", "why\n"));
        let said = sh("tr a-z A-Z; echo note >&2", LONG, Some("abc")).await.unwrap();
        assert_eq!((said.output.as_slice(), said.tail.as_str()), (b"ABC".as_slice(), "note\n"));
        // More than a pipe holds, in both directions.
        let much = "x".repeat(600_000);
        assert_eq!(sh("cat", LONG, Some(&much)).await.unwrap().output.len(), much.len());
        let error = sh("head -c 3000000 /dev/zero", LONG, Some("")).await.unwrap_err();
        assert_eq!(error.to_string(), "it wrote more than 1 MiB");
        let none = BTreeMap::new();
        let ask = Ask {
            program: "/no/such/program",
            arguments: &[],
            environment: &none,
            input: None,
            output: None,
            timeout: LONG,
        };
        assert!(matches!(run(ask, None).await, Err(CommandError::Missing)));
    }

    #[tokio::test]
    async fn a_program_that_hangs_goes_with_everything_that_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("alive");
        let script = format!(
            "(trap '' TERM; sleep 6; touch {0}) & trap '' TERM; echo begun; sleep 30",
            mark.display()
        );
        let started = tokio::time::Instant::now();
        let error = sh(&script, Duration::from_millis(300), None).await.unwrap_err();
        assert!(matches!(error, CommandError::TimedOut { .. }), "{error}");
        assert_eq!(error.tail(), "begun\n");
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
        // What is left open by something that goes on does not hold anybody up.
        let started = tokio::time::Instant::now();
        let said = sh("sleep 3 & echo done", LONG, None).await.unwrap();
        assert_eq!(said.tail, "done\n");
        assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
        tokio::time::sleep(Duration::from_secs(4)).await;
        assert!(!mark.exists(), "its children are gone too");
    }

    #[tokio::test]
    async fn a_program_ends_when_the_run_is_asked_to() {
        let (stopper, stop) = Stop::new();
        let environment = BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
        let ask = Ask {
            program: "sleep",
            arguments: &["30".to_owned()],
            environment: &environment,
            input: None,
            output: None,
            timeout: LONG,
        };
        let soon = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            stopper.send(Signal::Terminate);
        };
        let (ended, ()) = tokio::join!(run(ask, Some(&stop)), soon);
        assert!(matches!(ended, Err(CommandError::Interrupted { signal: Signal::Terminate, .. })));
    }
}
