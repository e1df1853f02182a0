//! A client that starts one run after the other, as workflows and the reaper would.

use super::runs::{Journal, Runs};
use crate::fixture::{Ask, acquire, holder, recover, release, renew, wait};
use lockstep::clock::{Clock, SystemClock};
use lockstep::domain::{
    Command, Effect, FencingToken, HolderId, Lease, LockKey, Outcome, Recover, Refusal,
};
use lockstep::error::Error;
use lockstep::protocol::{Done, Protocol, ProtocolError};
use lockstep::store::LockStore;
use lockstep::store::dynamodb::DynamoStore;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// How often a command is repeated before the test fails.
const TRIES: u32 = 200;
/// How long a waiting state waits before it registers again.
const INTERVAL: Duration = Duration::from_millis(400);

pub(super) struct Worker {
    pub(super) number: u64,
    pub(super) protocol: Protocol<DynamoStore, SystemClock>,
    pub(super) journal: Arc<Journal>,
    pub(super) runs: Arc<Runs>,
}

impl Worker {
    pub(super) async fn work(&self, locks: &[LockKey], cycles: u64) {
        for cycle in 0..cycles {
            let dice = usize::try_from(self.number * 7 + cycle * 5).unwrap();
            let (lock, waits) = (&locks[dice % locks.len()], dice.is_multiple_of(3));
            let name = format!("{}-{cycle}", self.number);
            let called = self.runs.begin(&holder(&name));
            let granted = if waits {
                Some(self.wait_for_turn(lock, &name, called).await)
            } else {
                self.take_or_skip(lock, &name).await
            };
            if let Some(token) = granted {
                self.run(lock, &name, token, cycle).await;
            }
            self.runs.end(&holder(&name));
        }
    }

    /// Frees what a delayed request has left on a lock that is no longer used. Returns how many
    /// permits and places were left.
    pub(super) async fn clear(&self, lock: &LockKey) -> usize {
        let record = self.protocol.store().load(lock).await.unwrap().unwrap();
        let left = record.holders.len() + record.queue.len();
        for _ in 0..=left {
            let record = self.protocol.store().load(lock).await.unwrap().unwrap();
            self.inspect(lock, &record.oldest_first()).await;
            self.perform(lock, vec![Effect::HandOver]).await;
        }
        left
    }

    async fn take_or_skip(&self, lock: &LockKey, name: &str) -> Option<FencingToken> {
        match self.insist(lock, &acquire(name).ask()).await {
            Ok(done) => done.outcome.token(),
            Err(Refusal::Held { holders, .. }) => {
                self.inspect(lock, &holders).await;
                None
            }
            Err(other) => panic!("{other:?}"),
        }
    }

    async fn wait_for_turn(
        &self,
        lock: &LockKey,
        name: &str,
        mut called: oneshot::Receiver<FencingToken>,
    ) -> FencingToken {
        for _ in 0..TRIES {
            let done = self.insist(lock, &wait(name).ask()).await.unwrap();
            if let Some(token) = done.outcome.token() {
                return token;
            }
            let Outcome::Queued { holders, .. } = done.outcome else {
                panic!("{:?}", done.outcome);
            };
            self.perform(lock, done.effects).await;
            self.inspect(lock, &holders).await;
            tokio::select! {
                Ok(token) = &mut called => return token,
                () = SystemClock.sleep(INTERVAL) => {}
            }
        }
        panic!("{name} waits forever")
    }

    /// Does the work of a run, with a heartbeat in every second one, and releases.
    async fn run(&self, lock: &LockKey, name: &str, token: FencingToken, cycle: u64) {
        self.journal.enter(lock, &holder(name), token);
        if cycle.is_multiple_of(2) {
            let renewed = self.insist(lock, &renew(name, token).ask()).await;
            let renewed = renewed.map(|done| done.outcome);
            assert!(
                matches!(renewed, Ok(Outcome::Renewed { .. })),
                "{renewed:?}"
            );
        }
        self.journal.leave(lock, &holder(name));
        let released = self
            .insist(lock, &release(name, token).ask())
            .await
            .unwrap();
        let outcome = released.outcome;
        assert!(matches!(outcome, Outcome::Released { .. }), "{outcome:?}");
        self.perform(lock, released.effects).await;
    }

    /// Executes a command, and repeats it as a workflow's Retry does: only on errors that a Retry
    /// may name.
    async fn insist(&self, lock: &LockKey, command: &Command) -> Result<Done, Refusal> {
        for _ in 0..TRIES {
            match self.once(lock, command).await {
                Some(answer) => return answer,
                None => SystemClock.sleep(Duration::from_millis(10)).await,
            }
        }
        panic!("{command:?} fails forever")
    }

    async fn once(&self, lock: &LockKey, command: &Command) -> Option<Result<Done, Refusal>> {
        match self.protocol.execute(lock, command).await {
            Ok(done) => Some(Ok(done)),
            Err(ProtocolError::Refused(refusal)) => Some(Err(refusal)),
            Err(error) => {
                let error = Error::of_command(lock, error);
                assert!(error.name().is_retryable(), "{error}");
                self.runs.failed(error.name());
                None
            }
        }
    }

    /// Runs the effects that remain after a commit, once. What fails is left to the next caller.
    async fn perform(&self, lock: &LockKey, effects: Vec<Effect>) {
        let mut left = VecDeque::from(effects);
        while let Some(effect) = left.pop_front() {
            let command = match effect {
                Effect::Wake(holder, lease) | Effect::WakeAgain(holder, lease)
                    if self.runs.is_running(&holder) =>
                {
                    self.runs.wake(&holder, lease.token);
                    continue;
                }
                Effect::Wake(holder, lease) => self.recovery(holder, &lease),
                Effect::HandOver => Command::HandOver,
                Effect::EndHeartbeat(_) | Effect::WakeAgain(..) => continue,
                other => panic!("{other:?}"),
            };
            if let Some(done) = self.once(lock, &command).await {
                left.extend(done.unwrap().effects);
            }
        }
    }

    /// Recovers each holder whose execution is over, as acquire-lock and the reaper do.
    async fn inspect(&self, lock: &LockKey, holders: &[(HolderId, Lease)]) {
        for (holder, lease) in holders {
            if self.runs.is_running(holder) {
                continue;
            }
            let recovery = self.recovery(holder.clone(), lease);
            if let Some(done) = self.once(lock, &recovery).await {
                let done = done.unwrap();
                if matches!(done.outcome, Outcome::Freed { .. }) {
                    self.runs.recovered();
                }
                self.perform(lock, done.effects).await;
            }
        }
    }

    fn recovery(&self, holder: HolderId, lease: &Lease) -> Command {
        let recovery = Recover {
            holder,
            seen: lease.version(),
            ..recover("", lease.token)
        };
        recovery.ask()
    }
}
