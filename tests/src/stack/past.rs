//! What the history of a lock tells of its runs.

use super::operator::key;
use super::{Stack, deadline, now, pause};
use lockstep::domain::{FencingToken, HolderId, Run, RunId, RunOutcome, WaiterId};
use lockstep::store::LockStore;

impl Stack {
    /// The run of a grant, as the history has it.
    pub async fn entry(&self, lock: &str, token: u64) -> Option<Run> {
        let operator = self.operator().await;
        let id = RunId::Token(FencingToken::from_number(token));
        let run = operator.protocol.store().load_run(&key(lock), &id).await;
        run.unwrap_or_else(|error| panic!("the run {token} of {lock}: {error}"))
    }

    /// When a waiter registered last, in epoch milliseconds; 0 when it does not wait.
    pub async fn waits_since(&self, lock: &str, holder: &str) -> u64 {
        let operator = self.operator().await;
        let id = WaiterId::of(&HolderId::new(holder).expect("a holder"));
        let waiter = operator.protocol.store().load_waiter(&key(lock), &id).await;
        let waiter = waiter.unwrap_or_else(|error| panic!("{id} of {lock}: {error}"));
        waiter.map_or(0, |waiter| waiter.since.millis())
    }

    /// The run of a grant, once the history has its end and its task.
    pub async fn whole_entry(&self, lock: &str, token: u64, seconds: u64) -> Run {
        let deadline = deadline(seconds);
        loop {
            let run = self.entry(lock, token).await;
            match run {
                Some(run) if run.end.is_some() && run.task.is_some() => return run,
                run => assert!(
                    now() < deadline,
                    "the history of {lock} has no end or no task of run {token}: {run:?}"
                ),
            }
            pause(100).await;
        }
    }

    /// The outcomes in the history of `lock`: of its runs by their tokens, and of what was done
    /// about it.
    pub async fn outcomes(&self, lock: &str) -> Vec<String> {
        let items = self.items(lock).await;
        let of_run = items.iter().filter(|item| {
            let sort = item["sk"].as_s().expect("a sort key");
            sort.starts_with("run#token/") || sort.starts_with("run#act/")
        });
        let outcome = |item: &super::Item| item.get("outcome")?.as_s().ok().cloned();
        of_run.filter_map(outcome).collect()
    }
}

/// How a run of the history ended, and on what evidence.
pub fn ending(run: &Run) -> (RunOutcome, &str) {
    let end = run.end.as_ref();
    let end = end.unwrap_or_else(|| panic!("a run without an end: {run:?}"));
    (end.outcome, end.evidence.as_deref().unwrap_or_default())
}
