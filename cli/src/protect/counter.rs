//! The plan, shared: those who begin and end work, and those who wait for an answer.

use super::plan::{Answer, Event, Next, Plan, Put, Standing};
use super::reason::{Reason, Refused};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until, timeout};
use tracing::warn;

/// How long best-effort work waits for the first answer at most.
const BEST_EFFORT_MAX: Duration = Duration::from_secs(3);
/// How long required work waits for protection at most, while it is refused for the moment.
const REQUIRED_MAX: Duration = Duration::from_secs(30);
/// How long the end of work, and the end of the process, wait for protection to be cleared.
const CLEAR_MAX: Duration = Duration::from_secs(3);

/// The plan and those who wait for it.
#[derive(Debug)]
pub(super) struct Counter {
    plan: Mutex<Plan>,
    /// The longest wait of work that begins.
    patience: Duration,
    start: Instant,
    /// Wakes the keeper.
    wake: Notify,
    /// Tells those who wait that something was answered.
    answers: watch::Sender<()>,
}

impl Counter {
    /// Nothing in flight yet.
    pub(super) fn new(lease: Duration) -> Self {
        Self {
            plan: Mutex::new(Plan::new(lease)),
            patience: (lease / 4).min(REQUIRED_MAX),
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

    /// What to do now.
    pub(super) fn next(&self) -> Next {
        self.plan().next(self.now())
    }

    /// Takes an answer in and wakes those who wait for one.
    pub(super) fn answered(&self, put: Put, answer: Answer) -> Event {
        let event = self.plan().answered(put.number, answer, self.now());
        self.answers.send_replace(());
        event
    }

    /// Returns when something has happened, or at that time.
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
        // Who waits for protection hears that there will be none.
        self.answers.send_replace(());
    }

    /// Counts work out. Returns whether it was the last.
    pub(super) fn ended(&self) -> bool {
        let last = self.plan().ended(self.now());
        self.wake.notify_one();
        last
    }

    fn standing(&self) -> Standing {
        self.plan().standing(self.now())
    }

    /// Waits until the task is protected, or will not be.
    ///
    /// # Errors
    /// [`Refused`]: it is not, and waiting was of no use.
    pub(super) async fn protected(&self) -> Result<(), Refused> {
        let decided = self.until(|| match self.standing() {
            Standing::Protected => Some(Ok(())),
            Standing::Stopped(refused) => Some(Err(refused)),
            Standing::Asking | Standing::Retrying(_) => None,
        });
        if let Ok(decision) = timeout(self.patience, decided).await {
            return decision;
        }
        match self.standing() {
            Standing::Protected => Ok(()),
            Standing::Retrying(refused) | Standing::Stopped(refused) => Err(refused),
            Standing::Asking => {
                let detail = format!("nothing within {:?}", self.patience);
                Err(Refused::new(Reason::NoAnswer, detail))
            }
        }
    }

    /// Waits for the first answer. What was refused has been said when the answer came.
    pub(super) async fn first_answer(&self) {
        let answer = self.until(|| (self.standing() != Standing::Asking).then_some(()));
        if timeout(self.patience.min(BEST_EFFORT_MAX), answer)
            .await
            .is_err()
        {
            warn!("no answer about task protection yet: the work starts unprotected");
        }
    }

    /// Waits until no protection is left that nobody needs.
    pub(super) async fn settled(&self) {
        let settled = self.until(|| self.plan().is_settled(self.now()).then_some(()));
        if timeout(CLEAR_MAX, settled).await.is_err() {
            warn!("task protection is not known to be cleared; it expires by itself");
        }
    }

    /// Waits for an answer that decides.
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
