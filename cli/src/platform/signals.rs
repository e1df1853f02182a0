//! Signals that this process receives and forwards.

use clap::ValueEnum;
use nix::sys::signal::Signal;
use std::io::Error;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// Signals that are forwarded to the command: all except those that report a fault of this process or its
/// limits, SIGCHLD and SIGPIPE, and SIGTTIN and SIGTTOU, which a terminal sends to its own readers and
/// writers.
const FORWARDED: &[Signal] = &[
    Signal::SIGTERM,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGHUP,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGWINCH,
    Signal::SIGALRM,
    Signal::SIGVTALRM,
    Signal::SIGPROF,
    Signal::SIGIO,
    Signal::SIGURG,
    #[cfg(target_os = "linux")]
    Signal::SIGPWR,
    Signal::SIGTSTP,
    Signal::SIGCONT,
];
/// The real-time signals that programs can use. `nix` has no names for them and cannot send them.
const REAL_TIME: std::ops::RangeInclusive<i32> = 34..=64;

/// Which processes of a command get a signal while its first process lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum SignalScope {
    /// The process group of the command
    #[default]
    Group,
    /// The first process of the command alone, which passes signals on or drains its workers
    Program,
}

/// Received signals, in order.
#[derive(Debug)]
pub(crate) struct Signals(mpsc::UnboundedReceiver<Signal>);

impl Signals {
    /// Installs the handlers. From here on none of these signals ends this process.
    ///
    /// # Errors
    /// When a handler cannot be installed.
    pub(crate) fn begin() -> Result<Self, Error> {
        let (sender, receiver) = mpsc::unbounded_channel();
        for &forwarded in FORWARDED {
            let mut stream = signal(SignalKind::from_raw(forwarded as i32))?;
            let sender = sender.clone();
            tokio::spawn(async move {
                while stream.recv().await.is_some() && sender.send(forwarded).is_ok() {}
            });
        }
        for number in REAL_TIME {
            let mut stream = signal(SignalKind::from_raw(number))?;
            tokio::spawn(async move {
                while stream.recv().await.is_some() {
                    tracing::warn!(
                        event = "signal_ignored",
                        number,
                        "real-time signals are not forwarded"
                    );
                }
            });
        }
        Ok(Self(receiver))
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) -> Signal {
        match self.0.recv().await {
            Some(signal) => signal,
            None => std::future::pending().await,
        }
    }

    /// Waits for the next signal that ends a process without a command.
    pub(crate) async fn end(&mut self) -> Signal {
        use Signal::{SIGHUP, SIGQUIT};
        loop {
            let signal = self.next().await;
            if asks_to_end(signal) || matches!(signal, SIGHUP | SIGQUIT) {
                return signal;
            }
        }
    }
}

/// Waits for SIGINT or SIGTERM. All other signals keep their effect on this process.
pub(crate) async fn interrupted() -> Signal {
    let kinds = (SignalKind::interrupt(), SignalKind::terminate());
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(kinds.0), signal(kinds.1)) else {
        // Without handlers, both end the process by themselves.
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => Signal::SIGINT,
        _ = terminate.recv() => Signal::SIGTERM,
    }
}

/// Whether `signal` asks any command to end. The meaning of others depends on the command, such as SIGHUP
/// to reload its settings or SIGQUIT to print its threads.
pub(crate) fn asks_to_end(signal: Signal) -> bool {
    matches!(signal, Signal::SIGTERM | Signal::SIGINT)
}
