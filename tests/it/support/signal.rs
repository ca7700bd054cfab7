//! Signals for started runs, and waiting for something to come true.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// A signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    Stop,
    Continue,
    Kill,
    Terminate,
    Interrupt,
    Hangup,
}

/// Sends a signal to a started run.
pub(crate) fn send(child: &Child, signal: Sent) {
    let name = match signal {
        Sent::Stop => "STOP",
        Sent::Continue => "CONT",
        Sent::Kill => "KILL",
        Sent::Terminate => "TERM",
        Sent::Interrupt => "INT",
        Sent::Hangup => "HUP",
    };
    let pid = child.id().to_string();
    let status = Command::new("kill").args([&format!("-{name}"), &pid]).status().expect("kill runs");
    assert!(status.success(), "kill -{name} {pid}");
}

/// Waits until something holds; fails the test if it does not within half a minute.
#[track_caller]
pub(crate) fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(30), "{what} does not come true");
        std::thread::sleep(Duration::from_millis(30));
    }
}
