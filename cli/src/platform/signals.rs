//! Signals that this process gets, and passes on.

use nix::sys::signal::Signal;
use std::io::Error;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// What is passed on to the command: all but those that report a fault of this process or its limits,
/// those of its children and its pipes, and SIGTTIN and SIGTTOU, which a terminal sends to its own readers
/// and writers.
const HEARD: [Signal; 15] = [
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
    Signal::SIGPWR,
    Signal::SIGTSTP,
    Signal::SIGCONT,
];
/// The real-time signals that programs can use. They have no names here, and cannot be sent on.
const REAL_TIME: std::ops::RangeInclusive<i32> = 34..=64;

/// Signals, in the order in which they came.
#[derive(Debug)]
pub(crate) struct Signals(mpsc::UnboundedReceiver<Signal>);

impl Signals {
    /// Begins to listen. From here on none of them ends this process by itself.
    ///
    /// # Errors
    /// When signals cannot be listened to.
    pub(crate) fn begin() -> Result<Self, Error> {
        let (tell, told) = mpsc::unbounded_channel();
        for heard in HEARD {
            let mut stream = signal(SignalKind::from_raw(heard as i32))?;
            let tell = tell.clone();
            tokio::spawn(async move {
                while stream.recv().await.is_some() && tell.send(heard).is_ok() {}
            });
        }
        for number in REAL_TIME {
            let mut stream = signal(SignalKind::from_raw(number))?;
            tokio::spawn(async move {
                while stream.recv().await.is_some() {
                    tracing::warn!(number, "a real-time signal is not passed on");
                }
            });
        }
        Ok(Self(told))
    }

    /// The next one.
    pub(crate) async fn next(&mut self) -> Signal {
        match self.0.recv().await {
            Some(signal) => signal,
            None => std::future::pending().await,
        }
    }

    /// The next one that ends a process which has no command to pass it on to.
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

/// Whether `signal` asks a command to end, whatever the command is. Others mean what the command
/// takes them for: SIGHUP to read its settings again, SIGQUIT to print its threads.
pub(crate) fn asks_to_end(signal: Signal) -> bool {
    matches!(signal, Signal::SIGTERM | Signal::SIGINT)
}
