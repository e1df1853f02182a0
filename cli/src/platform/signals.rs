//! The signals that this process receives and forwards.

use clap::ValueEnum;
use nix::sys::signal::Signal;
use std::io::Error;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// The signals that are forwarded to the command. Not among them are
/// - signals that report a fault of this process or that it exceeded a limit
/// - SIGCHLD and SIGPIPE
/// - SIGTTIN and SIGTTOU, which a terminal sends to the processes that read or write it
/// - real-time signals
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
    /// The first process of the command only, which passes the signal on or stops its workers itself
    Program,
}

/// Received signals, in order.
#[derive(Debug)]
pub(crate) struct Signals(mpsc::UnboundedReceiver<Signal>);

impl Signals {
    /// Installs the handlers. From then on none of these signals ends this process.
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
                        "a real-time signal was ignored: such signals are not forwarded to the command"
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

    /// Waits for the next signal that ends a process by default: SIGTERM, SIGINT, SIGHUP or SIGQUIT.
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
        // Without handlers, both signals end this process by default.
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => Signal::SIGINT,
        _ = terminate.recv() => Signal::SIGTERM,
    }
}

/// Returns whether `signal` asks every command to end. The meaning of the other signals depends on the
/// command: SIGHUP may reload its settings, and SIGQUIT may print its threads.
pub(crate) fn asks_to_end(signal: Signal) -> bool {
    matches!(signal, Signal::SIGTERM | Signal::SIGINT)
}
