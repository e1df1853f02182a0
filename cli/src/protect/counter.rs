//! Shares the plan between the jobs that begin and end and the `runner`, which makes its calls.
//!
//! Every wait in this module has a time limit. If it ends without protection, the work is refused under
//! `required`, and starts with a log line under `best-effort`.

use super::plan::{Plan, PlanStep, ProtectionEvent, ProtectionState, Put, PutResult};
use super::reason::{Reason, Refused};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until, timeout};

/// Longest wait of best-effort work for the first answer.
const BEST_EFFORT_MAX: Duration = Duration::from_secs(3);
/// Longest wait of required work for protection, while refusals are temporary.
const REQUIRED_MAX: Duration = Duration::from_secs(30);
/// Longest wait at the end of work, and at the end of the process, until protection is cleared.
const CLEAR_MAX: Duration = Duration::from_secs(3);

/// The plan, and the notifications about its changes.
#[derive(Debug)]
pub(super) struct Counter {
    plan: Mutex<Plan>,
    /// Longest wait of work that begins.
    max_wait: Duration,
    start: Instant,
    /// Wakes the `runner` after a change of the plan.
    wake: Notify,
    /// Notifies waiting work of answers.
    answers: watch::Sender<()>,
}

impl Counter {
    /// Creates a counter without work in flight. `lease` is the length of the lease under which work runs.
    pub(super) fn new(lease: Duration) -> Self {
        Self {
            plan: Mutex::new(Plan::new(lease)),
            // The lock may be held while ECS is called, and its lease has to be renewed after a third of its
            // length.
            max_wait: (lease / 4).min(REQUIRED_MAX),
            start: Instant::now(),
            wake: Notify::new(),
            answers: watch::Sender::new(()),
        }
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        // The plan is consistent after each of its methods, so a poisoned lock is no problem.
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next step of the plan.
    pub(super) fn next(&self) -> PlanStep {
        self.plan().next(self.now())
    }

    /// Records the answer to a call, and wakes the work that waits for it. Returns the event to log.
    pub(super) fn answered(&self, put: Put, answer: PutResult) -> ProtectionEvent {
        let event = self.plan().answered(put.number, answer, self.now());
        self.answers.send_replace(());
        event
    }

    /// Returns when the plan has changed, or at `until` if that comes first.
    pub(super) async fn woken(&self, until: Option<Duration>) {
        let Some(until) = until else {
            return self.wake.notified().await;
        };
        tokio::select! {
            () = self.wake.notified() => {}
            () = sleep_until(self.start + until) => {}
        }
    }

    /// Counts a piece of work in.
    pub(super) fn began(&self) {
        self.plan().began(self.now());
        self.wake.notify_one();
    }

    /// Ends protection for good.
    pub(super) fn close(&self) {
        self.plan().close(self.now());
        self.wake.notify_one();
        // Work that waits for protection is refused.
        self.answers.send_replace(());
    }

    /// Counts a piece of work out. Returns whether it was the last.
    pub(super) fn ended(&self) -> bool {
        let last = self.plan().ended(self.now());
        self.wake.notify_one();
        last
    }

    fn standing(&self) -> ProtectionState {
        self.plan().standing(self.now())
    }

    /// Waits until the task is protected, or cannot be, or the longest wait is over.
    ///
    /// # Errors
    /// [`Refused`], if the task is not protected by then.
    pub(super) async fn protected(&self) -> Result<(), Refused> {
        let decided = self.until(|| match self.standing() {
            ProtectionState::Protected => Some(Ok(())),
            ProtectionState::Stopped(refused) => Some(Err(refused)),
            ProtectionState::Asking | ProtectionState::Retrying(_) => None,
        });
        if let Ok(decision) = timeout(self.max_wait, decided).await {
            return decision;
        }
        match self.standing() {
            ProtectionState::Protected => Ok(()),
            ProtectionState::Retrying(refused) | ProtectionState::Stopped(refused) => Err(refused),
            ProtectionState::Asking => {
                let detail = format!("nothing within {:?}", self.max_wait);
                Err(Refused::new(Reason::NoAnswer, detail))
            }
        }
    }

    /// Waits for the first answer, which may be a refusal, or until the longest wait is over.
    pub(super) async fn first_answer(&self) {
        let answer = self.until(|| (self.standing() != ProtectionState::Asking).then_some(()));
        if timeout(self.max_wait.min(BEST_EFFORT_MAX), answer)
            .await
            .is_err()
        {
            tracing::warn!(
                event = "protection_timed_out",
                "the ECS agent has not answered yet whether the task is protected: the work starts without protection"
            );
        }
    }

    /// Waits until protection is cleared or left to expire, if no work is in flight; at most [`CLEAR_MAX`].
    pub(super) async fn settled(&self) {
        let settled = self.until(|| self.plan().is_settled(self.now()).then_some(()));
        if timeout(CLEAR_MAX, settled).await.is_err() {
            tracing::warn!(
                event = "protection_clear_timed_out",
                "the ECS agent did not confirm within three seconds that task protection is cleared: it ends when it expires"
            );
        }
    }

    /// Waits until `decide` returns a value. `decide` is called at once and after each answer.
    async fn until<T>(&self, decide: impl Fn() -> Option<T>) -> T {
        let mut answers = self.answers.subscribe();
        loop {
            if let Some(decision) = decide() {
                return decision;
            }
            // Cannot fail: the sender lives as long as `self`.
            let _ = answers.changed().await;
        }
    }
}
