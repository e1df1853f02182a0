//! Shares the plan between the jobs that begin and end, and the `runner`.
//!
//! Every wait here has an end. One that ends without protection is a refusal under `required`, and
//! a line in the log under `best-effort`.

use super::plan::{Plan, PlanStep, ProtectionEvent, ProtectionState, Put, PutResult};
use super::reason::{Reason, Refused};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until, timeout};

/// How long best-effort work waits for the first answer at most.
const BEST_EFFORT_MAX: Duration = Duration::from_secs(3);
/// How long required work waits for protection at most, while refusals are temporary.
const REQUIRED_MAX: Duration = Duration::from_secs(30);
/// How long the end of work, and the end of the process, wait for protection to be cleared.
const CLEAR_MAX: Duration = Duration::from_secs(3);

/// The plan, with the notifications about it.
#[derive(Debug)]
pub(super) struct Counter {
    plan: Mutex<Plan>,
    /// The longest wait of work that begins.
    max_wait: Duration,
    start: Instant,
    /// Wakes the runner.
    wake: Notify,
    /// Notifies waiting work of an answer.
    answers: watch::Sender<()>,
}

impl Counter {
    /// A counter without work in flight.
    pub(super) fn new(lease: Duration) -> Self {
        Self {
            plan: Mutex::new(Plan::new(lease)),
            // The lock may be held while ECS is asked, and its lease has to be renewed after a
            // third of its length.
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
        // The plan is consistent after each of its methods.
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next step.
    pub(super) fn next(&self) -> PlanStep {
        self.plan().next(self.now())
    }

    /// Records an answer, and wakes the work that waits for it.
    pub(super) fn answered(&self, put: Put, answer: PutResult) -> ProtectionEvent {
        let event = self.plan().answered(put.number, answer, self.now());
        self.answers.send_replace(());
        event
    }

    /// Returns when the plan has changed, or at `until`.
    pub(super) async fn woken(&self, until: Option<Duration>) {
        let Some(until) = until else {
            return self.wake.notified().await;
        };
        tokio::select! {
            () = self.wake.notified() => {}
            () = sleep_until(self.start + until) => {}
        }
    }

    /// Counts work in.
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

    /// Counts work out. Returns whether it was the last.
    pub(super) fn ended(&self) -> bool {
        let last = self.plan().ended(self.now());
        self.wake.notify_one();
        last
    }

    fn standing(&self) -> ProtectionState {
        self.plan().standing(self.now())
    }

    /// Waits until the task is protected, or will not be.
    ///
    /// # Errors
    /// [`Refused`], if it is not protected in time.
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

    /// Waits for the first answer. A refusal has been logged when it came.
    pub(super) async fn first_answer(&self) {
        let answer = self.until(|| (self.standing() != ProtectionState::Asking).then_some(()));
        if timeout(self.max_wait.min(BEST_EFFORT_MAX), answer)
            .await
            .is_err()
        {
            tracing::warn!(
                event = "protection_timed_out",
                "no answer about task protection yet: the work starts unprotected"
            );
        }
    }

    /// Waits until protection without work in flight is cleared.
    pub(super) async fn settled(&self) {
        let settled = self.until(|| self.plan().is_settled(self.now()).then_some(()));
        if timeout(CLEAR_MAX, settled).await.is_err() {
            tracing::warn!(
                event = "protection_clear_timed_out",
                "could not confirm that task protection is cleared; it expires"
            );
        }
    }

    /// Waits until `decide` returns a value; it is called after each answer.
    async fn until<T>(&self, decide: impl Fn() -> Option<T>) -> T {
        let mut answers = self.answers.subscribe();
        loop {
            if let Some(decision) = decide() {
                return decision;
            }
            // The sender lives as long as `self`.
            let _ = answers.changed().await;
        }
    }
}
