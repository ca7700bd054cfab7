//! Signals: the first asks a run to stop, the second ends it.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// A signal that asks for the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// The terminal is gone.
    Hangup,
    /// Ctrl-C.
    Interrupt,
    /// The system, or a CI job that was cancelled.
    Terminate,
}

impl Signal {
    /// Returns the name, such as `SIGTERM`.
    pub fn name(self) -> &'static str {
        match self {
            Signal::Hangup => "SIGHUP",
            Signal::Interrupt => "SIGINT",
            Signal::Terminate => "SIGTERM",
        }
    }
}

/// Tells whether the run was asked to stop.
#[derive(Clone, Debug)]
pub struct Stop {
    received: watch::Receiver<Received>,
}

/// The first signal, and whether another followed.
#[derive(Clone, Copy, Debug, Default)]
struct Received {
    first: Option<Signal>,
    again: bool,
}

/// Asks a run to stop, as a signal would.
#[derive(Debug)]
pub struct Stopper {
    sender: watch::Sender<Received>,
}

impl Stopper {
    /// Asks, or insists if it was asked already.
    pub fn send(&self, signal: Signal) {
        self.sender.send_modify(|received| {
            received.again = received.first.is_some();
            received.first.get_or_insert(signal);
        });
    }
}

impl Stop {
    /// Returns a stop that nobody has asked for, and the means to ask.
    pub fn new() -> (Stopper, Self) {
        let (sender, received) = watch::channel(Received::default());
        (Stopper { sender }, Self { received })
    }

    /// Returns the signal that asked, if one did.
    pub fn asked(&self) -> Option<Signal> {
        self.received.borrow().first
    }

    /// Waits until the run is asked to stop; for ever, if it never is.
    pub async fn wait(&self) -> Signal {
        self.wait_for(|received| received.first.is_some()).await
    }

    /// Waits until a second signal insists.
    pub async fn insisted(&self) -> Signal {
        self.wait_for(|received| received.again).await
    }

    async fn wait_for(&self, ready: impl FnMut(&Received) -> bool) -> Signal {
        let mut receiver = self.received.clone();
        let found = receiver.wait_for(ready).await.map(|received| received.first);
        match found {
            Ok(Some(signal)) => signal,
            _ => std::future::pending().await,
        }
    }
}

/// Listens for SIGINT, SIGTERM and SIGHUP from now on.
///
/// # Errors
/// Returns the system's error when the handlers cannot be installed.
pub fn listen() -> std::io::Result<Stop> {
    let mut hangup = signal(SignalKind::hangup())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let (stopper, stop) = Stop::new();
    let listener = async move {
        loop {
            let signal = tokio::select! {
                _ = hangup.recv() => Signal::Hangup,
                _ = interrupt.recv() => Signal::Interrupt,
                _ = terminate.recv() => Signal::Terminate,
            };
            stopper.send(signal);
        }
    };
    #[expect(clippy::disallowed_methods, reason = "the listener lives as long as the process")]
    tokio::spawn(listener);
    Ok(stop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_signal_asks_and_the_second_insists() {
        let (stopper, stop) = Stop::new();
        assert_eq!(stop.asked(), None);
        stopper.send(Signal::Terminate);
        assert_eq!(stop.wait().await, Signal::Terminate);
        stopper.send(Signal::Interrupt);
        assert_eq!(stop.insisted().await, Signal::Terminate, "the first one stays the cause");
    }
}
