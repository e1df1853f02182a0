//! The shutdown of a worker, in phases.

use crate::exec::supervise::{StopRequest, StopSource};
use crate::platform::clock::Instant;
use nix::sys::signal::Signal;
use std::future::pending;
use std::time::Duration;
use tokio::sync::watch;

/// Time between SIGTERM and SIGKILL for commands, at most half of the grace.
const STOP_WINDOW: Duration = Duration::from_secs(5);

/// Longest time to give the last message back after its command was killed.
const SETTLE_WITHIN: Duration = Duration::from_secs(5);

/// The phase of a shutdown. The phases follow one another, and each includes those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ShutdownPhase {
    /// No shutdown.
    #[default]
    Work,
    /// No further message begins. Commands may finish.
    Drain,
    /// Commands get SIGTERM.
    Stop,
    /// Commands get SIGKILL.
    Kill,
}

/// The schedule of a shutdown.
///
/// ```text
///  signal                    stop        kill
///    |---- commands finish ----|--- 5 s ---|
///    |--------------- --grace -------------|
/// ```
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shutdown {
    /// The signal that requested it.
    pub(crate) signal: Signal,
    stop_at: Instant,
    kill_at: Instant,
    window: Duration,
}

impl Shutdown {
    /// Begins a shutdown that `signal` requested at `now`.
    pub(crate) fn begin(signal: Signal, now: Instant, grace: Duration) -> Self {
        let window = STOP_WINDOW.min(grace / 2);
        Self {
            signal,
            stop_at: now + (grace - window),
            kill_at: now + grace,
            window,
        }
    }

    /// Moves to [`ShutdownPhase::Stop`] at once or, if that has begun, to [`ShutdownPhase::Kill`].
    pub(crate) fn escalate(&mut self, now: Instant) {
        if self.phase(now) >= ShutdownPhase::Stop {
            self.kill_at = now;
        } else {
            self.stop_at = now;
            self.kill_at = self.kill_at.min(now + self.window);
        }
    }

    /// Returns the phase at `now`.
    pub(crate) fn phase(&self, now: Instant) -> ShutdownPhase {
        match now {
            now if now >= self.kill_at => ShutdownPhase::Kill,
            now if now >= self.stop_at => ShutdownPhase::Stop,
            _ => ShutdownPhase::Drain,
        }
    }

    /// Returns when the worker exits without waiting any longer.
    pub(crate) fn give_up_at(&self) -> Instant {
        self.kill_at + SETTLE_WITHIN
    }

    /// Returns when the next phase begins; `None` in the last one.
    pub(crate) fn next(&self, now: Instant) -> Option<Instant> {
        match self.phase(now) {
            ShutdownPhase::Work | ShutdownPhase::Drain => Some(self.stop_at),
            ShutdownPhase::Stop => Some(self.kill_at),
            ShutdownPhase::Kill => None,
        }
    }
}

/// Observes the phase of the shutdown.
#[derive(Clone, Debug)]
pub(crate) struct ShutdownWatch(watch::Receiver<ShutdownPhase>);

impl ShutdownWatch {
    /// Observes `phase` from now on.
    pub(crate) fn of(phase: &watch::Sender<ShutdownPhase>) -> Self {
        Self(phase.subscribe())
    }

    /// Returns whether a shutdown has begun.
    pub(crate) fn is_stopping(&self) -> bool {
        *self.0.borrow() >= ShutdownPhase::Drain
    }

    /// Returns when a shutdown has begun.
    pub(crate) async fn stopping(&mut self) {
        if self
            .0
            .wait_for(|phase| *phase >= ShutdownPhase::Drain)
            .await
            .is_err()
        {
            pending().await
        }
    }

    /// Returns the next phase that this watch has not returned yet.
    pub(super) async fn next_phase(&mut self) -> ShutdownPhase {
        match self.0.changed().await {
            Ok(()) => *self.0.borrow_and_update(),
            Err(_) => pending().await,
        }
    }
}

impl StopSource for ShutdownWatch {
    /// Returns the next phase as a request to the command. SIGTERM has no time limit, because [`Shutdown`]
    /// schedules SIGKILL.
    async fn next(&mut self) -> StopRequest {
        loop {
            match self.next_phase().await {
                ShutdownPhase::Work => {}
                ShutdownPhase::Drain => return StopRequest::Announce,
                ShutdownPhase::Stop => return StopRequest::Terminate(Signal::SIGTERM, None),
                ShutdownPhase::Kill => return StopRequest::Kill,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    fn begun(grace: u64) -> Shutdown {
        Shutdown::begin(Signal::SIGTERM, at(0), Duration::from_secs(grace))
    }

    #[test]
    fn commands_get_the_grace_to_finish_and_its_last_5_s_to_stop() {
        let shutdown = begun(25);

        for (millis, phase, next) in [
            (0, ShutdownPhase::Drain, Some(20_000)),
            (19_999, ShutdownPhase::Drain, Some(20_000)),
            (20_000, ShutdownPhase::Stop, Some(25_000)),
            (25_000, ShutdownPhase::Kill, None),
        ] {
            assert_eq!(shutdown.phase(at(millis)), phase);
            assert_eq!(shutdown.next(at(millis)), next.map(at));
        }
    }

    #[test]
    fn commands_may_finish_for_at_least_half_of_a_short_grace() {
        assert_eq!(begun(4).next(at(0)), Some(at(2_000)));
        assert_eq!(begun(0).phase(at(0)), ShutdownPhase::Kill);
    }

    #[test]
    fn a_second_signal_stops_commands_at_once_and_a_third_kills_them() {
        let mut shutdown = begun(25);

        shutdown.escalate(at(3_000));
        let second = (shutdown.phase(at(3_000)), shutdown.next(at(3_000)));
        shutdown.escalate(at(3_500));

        assert_eq!(second, (ShutdownPhase::Stop, Some(at(8_000))));
        assert_eq!(shutdown.phase(at(3_500)), ShutdownPhase::Kill);
    }

    #[tokio::test]
    async fn each_watch_observes_every_phase_and_that_a_shutdown_has_begun() {
        let phase = watch::Sender::new(ShutdownPhase::Work);
        let (mut at_work, mut beginning) = (ShutdownWatch::of(&phase), ShutdownWatch::of(&phase));
        assert!(!beginning.is_stopping());

        phase.send_replace(ShutdownPhase::Drain);
        beginning.stopping().await;
        let first = at_work.next_phase().await;
        phase.send_replace(ShutdownPhase::Kill);

        let phases = [first, at_work.next_phase().await];
        assert_eq!(phases, [ShutdownPhase::Drain, ShutdownPhase::Kill]);
    }
}
