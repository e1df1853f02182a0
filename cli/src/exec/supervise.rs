//! Supervises a running command: stops it when required, and records the cause.
//!
//! ```text
//!  no stop   first process ends ─▶ a moment, in which a stop may come ─▶ SIGKILL to the rest
//!  a stop    SIGTERM ─▶ first process ends ─▶ SIGTERM to those without one ─▶ nothing is left, or SIGKILL
//!              |---------------------------- grace -----------------------------------------|
//! ```

use super::child::{Child, Ended};
use crate::platform::clock::{Instant, earlier, reached};
use crate::platform::signals::{Signals, asks_to_end};
use nix::sys::signal::Signal;
use std::pin::pin;
use std::time::Duration;
use tokio::sync::watch;

/// Longest wait for a stop after the first process has ended by itself and has left others. Whoever stops all
/// processes at once signals them one after the other, and this process may be the last to get the signal.
const STOP_WITHIN: Duration = Duration::from_millis(100);
/// The same wait if SIGTERM or SIGINT ended the first process: the others have most likely got it too.
const SIGNAL_WITHIN: Duration = Duration::from_secs(1);
/// Time from SIGTERM to SIGKILL for processes outside of the signal's scope, if the first process still lives
/// and has not stopped them. At most half of the grace period.
const OTHERS_WITHIN: Duration = Duration::from_secs(5);

/// Time limits of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Time from the start of the command to SIGTERM.
    pub(crate) max_run: Option<Duration>,
    /// Time from the last change of its progress to SIGTERM.
    pub(crate) no_progress: Option<Duration>,
    /// Time from SIGTERM to SIGKILL.
    pub(crate) grace: Duration,
}

/// Why a command was stopped. If there are several causes, the first one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopCause {
    /// Its lease was lost.
    LeaseLost,
    /// The process that guards it received this signal.
    Signal(Signal),
    /// It exceeded `max_run` or `no_progress`.
    TimedOut,
}

/// A request to a running command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopRequest {
    /// Send a signal that does not ask the command to end.
    Forward(Signal),
    /// Announce a stop. The command may finish, and so may the processes that its first process leaves when
    /// it ends.
    Announce,
    /// Send this signal, and SIGKILL after the duration, if there is one.
    Terminate(Signal, Option<Duration>),
    /// Send SIGKILL.
    Kill,
}

/// The end of a lease under which a command still runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeaseLost {
    /// The reason, in a sentence.
    pub(crate) why: String,
    /// When the command has to be dead.
    pub(crate) kill_at: Instant,
}

/// A source of requests to a command.
pub(crate) trait StopSource: Send {
    /// Returns the next request, when it comes.
    fn next(&mut self) -> impl Future<Output = StopRequest> + Send;
}

/// The signals that this process receives, as requests to the command.
pub(crate) struct ForwardedSignals<'a> {
    /// The signals.
    pub(crate) signals: &'a mut Signals,
    /// Time from SIGTERM or SIGINT to SIGKILL.
    pub(crate) grace: Duration,
}

impl StopSource for ForwardedSignals<'_> {
    async fn next(&mut self) -> StopRequest {
        let signal = self.signals.next().await;
        if !asks_to_end(signal) {
            return StopRequest::Forward(signal);
        }
        tracing::info!(
            event = "signal_forwarded",
            %signal,
            "signal passed on; the command has {:?} to stop, counted from the first signal",
            self.grace
        );
        StopRequest::Terminate(signal, Some(self.grace))
    }
}

/// The state of a stop of a command.
#[derive(Clone, Copy, Debug, Default)]
struct Stop {
    cause: Option<StopCause>,
    kill_at: Option<Instant>,
    is_killed: bool,
    /// When the processes outside of the signal's scope get SIGTERM, unless the first process has ended by
    /// then.
    signal_others_at: Option<Instant>,
    are_others_signalled: bool,
    is_announced: bool,
    /// Whether the first process has ended after a stop was announced, and the processes that it left may
    /// finish.
    may_finish: bool,
    /// The latest time at which a stop still counts, after the first process has ended by itself and has left
    /// others.
    stop_counts_until: Option<Instant>,
}

impl Stop {
    /// Records a stop with SIGKILL at `kill_at`. The first cause counts.
    fn begin(&mut self, cause: StopCause, kill_at: Option<Instant>) {
        self.cause = self.cause.or(Some(cause));
        self.kill_at = kill_at;
        self.signal_others_at = kill_at.filter(|_| !self.are_others_signalled).map(|at| {
            let left = at.left();
            Instant::now() + (left - OTHERS_WITHIN.min(left / 2))
        });
    }

    /// Sends SIGTERM to the processes outside of the signal's scope, once, and returns how many are left.
    fn signal_others(&mut self, child: &Child) -> usize {
        self.signal_others_at = None;
        if std::mem::replace(&mut self.are_others_signalled, true) {
            child.left()
        } else {
            child.signal_others(Signal::SIGTERM)
        }
    }

    /// Sends SIGKILL.
    fn kill(&mut self, child: &Child) {
        child.signal(Signal::SIGKILL);
        self.kill_at = None;
        self.is_killed = true;
    }

    /// Handles the end of the first process. If a stop has begun, the processes in the group already have its
    /// signal, and the others get SIGTERM now.
    fn first_ended(&mut self, work: &str, child: &Child) {
        if self.cause.is_some() {
            log_rest(work, self.signal_others(child));
            return;
        }
        let within = if child.was_asked_to_end() {
            SIGNAL_WITHIN
        } else {
            STOP_WITHIN
        };
        self.stop_counts_until = Some(Instant::now() + within);
        self.finish_if_announced(work, child);
    }

    /// Lets the processes that the first one has left finish, if a stop is announced. Whoever signals all
    /// processes at once has most likely signalled them too, and the first process has ended because of the
    /// signal.
    fn finish_if_announced(&mut self, work: &str, child: &Child) {
        if self.is_announced && self.stop_counts_until.is_some() {
            let left = child.left();
            if left > 0 {
                log_rest(work, left);
                self.may_finish = true;
                self.stop_counts_until = None;
            }
        }
    }

    /// Returns why the command was stopped. A command that finished after a stop was announced counts as not
    /// stopped if its first process exited with 0, and as stopped by SIGTERM otherwise.
    fn cause(self, child: &Child) -> Option<StopCause> {
        let is_stopped = self.may_finish && !child.has_succeeded();
        let by_signal = is_stopped.then_some(StopCause::Signal(Signal::SIGTERM));
        self.cause.or(by_signal)
    }

    /// Carries out `request`.
    fn request(&mut self, work: &str, child: &Child, request: StopRequest) {
        match request {
            StopRequest::Forward(signal) => {
                child.signal(signal);
            }
            StopRequest::Announce => {
                self.is_announced = true;
                self.finish_if_announced(work, child);
            }
            StopRequest::Terminate(signal, within) => {
                let left = child.signal(signal);
                if self.cause.is_none() {
                    log_rest(work, left);
                }
                let kill_at = within.map(|within| Instant::now() + within);
                self.begin(StopCause::Signal(signal), self.kill_at.or(kill_at));
            }
            StopRequest::Kill => {
                self.begin(StopCause::Signal(Signal::SIGTERM), None);
                self.kill(child);
            }
        }
    }
}

/// Supervises the command until its first process has ended. If a stop has begun by then, supervises it until
/// nothing is left of it or the grace period has ended. Returns the cause of the stop, or `None` if the
/// command ended by itself. A stop begins when
/// - `renewal` returns, because the lease is lost
/// - `requests` asks for it
/// - one of `limits` is reached
///
/// `work` is the name of the command in the log.
///
/// If the first process ends and leaves nothing, the command has ended by itself, even if a stop comes at the
/// same instant.
pub(super) async fn supervise(
    work: &str,
    child: &mut Child,
    renewal: impl Future<Output = LeaseLost>,
    mut progress: watch::Receiver<Option<String>>,
    mut requests: impl StopSource,
    limits: Limits,
) -> Option<StopCause> {
    let mut renewal = pin!(renewal);
    let started = Instant::now();
    let run_end = limits.max_run.map(|most| started + most);
    let mut progress_end = limits.no_progress.map(|most| started + most);
    let (mut is_renewed, mut stop) = (true, Stop::default());
    while !(stop.is_killed && child.has_first_ended()) {
        tokio::select! {
            biased;
            ended = child.ended() => {
                if ended == Ended::All || stop.is_killed {
                    break;
                }
                stop.first_ended(work, child);
            }
            lost = &mut renewal, if is_renewed => {
                is_renewed = false;
                let LeaseLost { why, kill_at } = lost;
                // If a stop has begun, all processes already have its signal.
                if stop.cause.is_none() {
                    child.signal(Signal::SIGTERM);
                }
                stop.begin(StopCause::LeaseLost, earlier(stop.kill_at, Some(kill_at)));
                tracing::error!(
                    event = "lease_lost",
                    work,
                    "the lease is lost; stopping the command: {why}"
                );
            }
            request = requests.next() => stop.request(work, child, request),
            Ok(()) = progress.changed(), if progress_end.is_some() => {
                progress_end = limits.no_progress.map(|most| Instant::now() + most);
            }
            () = reached(earlier(run_end, progress_end)), if stop.cause.is_none() => {
                child.signal(Signal::SIGTERM);
                let is_over = run_end.is_some_and(|end| end.left().is_zero());
                let why = if is_over { "--max-run exceeded" } else { "no progress within --no-progress" };
                tracing::error!(event = "command_timed_out", work, "{why}: stopping the command");
                stop.begin(StopCause::TimedOut, Some(Instant::now() + limits.grace));
            }
            () = reached(stop.stop_counts_until), if stop.cause.is_none() => break,
            () = reached(stop.signal_others_at), if !child.has_first_ended() => {
                stop.signal_others(child);
            }
            () = reached(stop.kill_at) => {
                stop.kill(child);
                tracing::warn!(
                    event = "command_killed",
                    work,
                    "the command did not stop before the end of its grace period or lease: sent SIGKILL"
                );
            }
        }
    }
    stop.cause(child)
}

/// Logs how many processes the first one has left, if there are any: they may use the rest of the grace
/// period.
fn log_rest(work: &str, left: usize) {
    if left > 0 {
        tracing::info!(
            event = "first_process_ended",
            work,
            left,
            "the first process of the command has ended; {left} others have the rest of the grace period"
        );
    }
}
