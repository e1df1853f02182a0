//! The end of a worker, in steps.

use crate::exec::supervise::{StopRequest, StopSource};
use crate::platform::clock::Instant;
use nix::sys::signal::Signal;
use std::future::pending;
use std::time::Duration;
use tokio::sync::watch;

/// How long commands get to stop after SIGTERM, if the grace has room for it.
const STOP_WINDOW: Duration = Duration::from_secs(5);

/// How long after the last command was killed its message may take to be given back.
const SETTLE_WITHIN: Duration = Duration::from_secs(5);

/// How far the end has come. Each step includes those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ShutdownPhase {
    /// Go on.
    #[default]
    Work,
    /// Begin nothing more; commands may finish.
    Drain,
    /// Commands are told to stop.
    Stop,
    /// Commands are killed.
    Kill,
}

/// A worker that ends.
///
/// ```text
///  signal                    stop        kill
///    |---- commands finish ----|--- 5 s ---|
///    |--------------- --grace -------------|
/// ```
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shutdown {
    /// What asked for it.
    pub(crate) signal: Signal,
    stop_at: Instant,
    kill_at: Instant,
    window: Duration,
}

impl Shutdown {
    /// Asked for by `signal`, just now.
    pub(crate) fn begin(signal: Signal, now: Instant, grace: Duration) -> Self {
        let window = STOP_WINDOW.min(grace / 2);
        Self {
            signal,
            stop_at: now + (grace - window),
            kill_at: now + grace,
            window,
        }
    }

    /// Asked for once more: commands are told to stop now, and killed if they were told already.
    pub(crate) fn again(&mut self, now: Instant) {
        if self.order(now) >= ShutdownPhase::Stop {
            self.kill_at = now;
        } else {
            self.stop_at = now;
            self.kill_at = self.kill_at.min(now + self.window);
        }
    }

    /// How far the end has come.
    pub(crate) fn order(&self, now: Instant) -> ShutdownPhase {
        match now {
            now if now >= self.kill_at => ShutdownPhase::Kill,
            now if now >= self.stop_at => ShutdownPhase::Stop,
            _ => ShutdownPhase::Drain,
        }
    }

    /// When nothing is waited for any more.
    pub(crate) fn give_up_at(&self) -> Instant {
        self.kill_at + SETTLE_WITHIN
    }

    /// When it comes one step further.
    pub(crate) fn next(&self, now: Instant) -> Option<Instant> {
        match self.order(now) {
            ShutdownPhase::Work | ShutdownPhase::Drain => Some(self.stop_at),
            ShutdownPhase::Stop => Some(self.kill_at),
            ShutdownPhase::Kill => None,
        }
    }
}

/// What those who work on messages are told.
#[derive(Clone, Debug)]
pub(crate) struct ShutdownWatch(watch::Receiver<ShutdownPhase>);

impl ShutdownWatch {
    /// What `told` says, from now on.
    pub(crate) fn of(told: &watch::Sender<ShutdownPhase>) -> Self {
        Self(told.subscribe())
    }

    /// Whether nothing is to be begun any more.
    pub(crate) fn is_stopping(&self) -> bool {
        *self.0.borrow() >= ShutdownPhase::Drain
    }

    /// Returns when nothing is to be begun any more.
    pub(crate) async fn stopping(&mut self) {
        if self
            .0
            .wait_for(|order| *order >= ShutdownPhase::Drain)
            .await
            .is_err()
        {
            pending().await
        }
    }

    /// The next order that was not seen yet.
    pub(super) async fn next_order(&mut self) -> ShutdownPhase {
        match self.0.changed().await {
            Ok(()) => *self.0.borrow_and_update(),
            Err(_) => pending().await,
        }
    }
}

impl StopSource for ShutdownWatch {
    /// The worker's own clock says when a command is killed.
    async fn next(&mut self) -> StopRequest {
        loop {
            match self.next_order().await {
                ShutdownPhase::Work | ShutdownPhase::Drain => {}
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
    fn commands_get_the_grace_less_five_seconds_to_finish_and_then_five_to_stop() {
        let stopping = begun(25);

        for (millis, order, next) in [
            (0, ShutdownPhase::Drain, Some(20_000)),
            (19_999, ShutdownPhase::Drain, Some(20_000)),
            (20_000, ShutdownPhase::Stop, Some(25_000)),
            (25_000, ShutdownPhase::Kill, None),
        ] {
            assert_eq!(stopping.order(at(millis)), order);
            assert_eq!(stopping.next(at(millis)), next.map(at));
        }
    }

    #[test]
    fn of_a_short_grace_at_least_a_half_is_for_finishing() {
        assert_eq!(begun(4).next(at(0)), Some(at(2_000)));
        assert_eq!(begun(0).order(at(0)), ShutdownPhase::Kill);
    }

    #[test]
    fn a_second_signal_stops_commands_at_once_and_a_third_kills_them() {
        let mut stopping = begun(25);

        stopping.again(at(3_000));
        let second = (stopping.order(at(3_000)), stopping.next(at(3_000)));
        stopping.again(at(3_500));

        assert_eq!(second, (ShutdownPhase::Stop, Some(at(8_000))));
        assert_eq!(stopping.order(at(3_500)), ShutdownPhase::Kill);
    }

    #[tokio::test]
    async fn who_is_at_work_hears_each_order_and_who_begins_hears_that_it_is_too_late() {
        let told = watch::Sender::new(ShutdownPhase::Work);
        let (mut at_work, mut beginning) = (ShutdownWatch::of(&told), ShutdownWatch::of(&told));
        assert!(!beginning.is_stopping());

        told.send_replace(ShutdownPhase::Drain);
        beginning.stopping().await;
        let first = at_work.next_order().await;
        told.send_replace(ShutdownPhase::Kill);

        assert_eq!(
            (first, at_work.next_order().await),
            (ShutdownPhase::Drain, ShutdownPhase::Kill)
        );
    }
}
