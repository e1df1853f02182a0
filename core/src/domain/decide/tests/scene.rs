//! A lock on which commands are executed one after the other, each at a given second.

use crate::domain::{
    Acquire, ActKind, AuditNote, Command, DropWaiter, ExitStep, FencingToken, HolderId, Lease,
    LeaseVersion, LockRecord, Mark, Opening, Outcome, Permits, Recover, RecoveryBasis, Refusal,
    Release, Renew, Run, RunId, RunOutcome, Seconds, Snapshot, StalePolicy, TaskToken, Terms,
    Timestamp, Transition, WaiterId, WhenFull, decide,
};
use crate::store::Commit;
use crate::store::memory::LockItems;
use crate::testing::{self, variant};
pub(super) use crate::testing::{RETENTION, holder, run_key, task_token};

pub(super) type Decision = Result<Transition, Refusal>;

/// The operator in these tests.
pub(super) const OPERATOR: &str = "arn:aws:iam::1:user/op";
/// Waits in a queue of at most 100.
pub(super) const WAIT: WhenFull = WhenFull::Queue { most: 100 };

/// A lock of `permits` permits.
#[derive(Clone)]
pub(super) struct Scene {
    pub(super) items: LockItems,
    permits: Permits,
}

pub(super) fn at(second: u64) -> Timestamp {
    Timestamp::from_millis(1_000_000 + second * 1000)
}

/// Returns a mutex that `a` holds since second 0, and the token of its grant.
pub(super) fn held() -> (Scene, FencingToken) {
    let scene = Scene::queued(&[]);
    let token = scene.token("a");
    (scene, token)
}

/// Returns a run of the key `tick` with a heartbeat state, under the stale policy `stale`.
pub(super) fn ticking_under(stale: StalePolicy) -> (Scene, FencingToken) {
    let mut scene = Scene::held_on(1, |terms| {
        terms.run_key = Some(run_key("tick"));
        terms.stale = stale;
    });
    let token = scene.token("a");
    scene.renew("a", token, 1).unwrap();
    (scene, token)
}

/// Returns a run of the key `tick` that lost its permit at second 100 under `yield` and continues.
pub(super) fn yielded() -> (Scene, FencingToken) {
    let mut scene = Scene::held_on(1, |terms| {
        terms.run_key = Some(run_key("tick"));
        terms.stale = StalePolicy::Yield;
        terms.max_run = Some(Seconds::of(90));
    });
    let token = scene.token("a");
    for second in [1, 100] {
        scene.renew("a", token, second).unwrap();
    }
    (scene, token)
}

/// Returns the name of the outcome, as `Granted`, or of the refusal, as `Err(Held)`.
pub(super) fn answer(decision: &Decision) -> String {
    match decision {
        Ok(done) => variant(&done.outcome),
        Err(refusal) => format!("Err({})", variant(refusal)),
    }
}

/// Returns the names of the effects.
pub(super) fn effects(done: &Transition) -> Vec<String> {
    done.effects.iter().map(variant).collect()
}

impl Scene {
    pub(super) fn new(permits: i64) -> Self {
        Self {
            items: LockItems::default(),
            permits: Permits::new(permits).unwrap(),
        }
    }

    /// Returns a lock with these grants, each `(holder, second)`.
    pub(super) fn held_by(permits: i64, grants: &[(&str, u64)]) -> Self {
        let mut scene = Self::new(permits);
        for (name, second) in grants {
            let done = scene.acquire(name, WhenFull::Refuse, *second);
            assert_eq!(answer(&done), "Granted", "{done:?}");
        }
        scene
    }

    /// Returns a lock that `a` holds since second 0, on terms that `change` has changed.
    pub(super) fn held_on(permits: i64, change: impl FnOnce(&mut Terms)) -> Self {
        let mut scene = Self::new(permits);
        let mut terms = scene.terms("a");
        change(&mut terms);
        scene.ask(terms, WhenFull::Refuse, 0).unwrap();
        scene
    }

    /// Returns a lock that `a` holds since second 0 with the run key `tick`.
    pub(super) fn ticking(permits: i64) -> Self {
        Self::held_on(permits, |terms| terms.run_key = Some(run_key("tick")))
    }

    /// Returns a lock that `a` holds with a lease of a day, and that rests for a minute after the grant.
    pub(super) fn resting(permits: i64) -> Self {
        Self::held_on(permits, |terms| {
            terms.lease = Seconds::of(86_400);
            terms.min_interval = Some(Seconds::of(60));
        })
    }

    /// Returns a mutex that `a` holds since second 0, with these waiters since second 1.
    pub(super) fn queued(waiters: &[&str]) -> Self {
        let mut scene = Self::held_by(1, &[("a", 0)]);
        for name in waiters {
            scene.queue(name, 1).unwrap();
        }
        scene
    }

    pub(super) fn terms(&self, name: &str) -> Terms {
        Terms {
            permits: self.permits,
            ..testing::terms(holder(name))
        }
    }

    /// Returns the terms of a run of the key `tick`.
    pub(super) fn tick(&self, name: &str) -> Terms {
        Terms {
            run_key: Some(run_key("tick")),
            ..self.terms(name)
        }
    }

    pub(super) fn request(&self, name: &str, when_full: WhenFull) -> Acquire {
        request(self.terms(name), when_full)
    }

    pub(super) fn acquire(&mut self, name: &str, when_full: WhenFull, second: u64) -> Decision {
        self.ask(self.terms(name), when_full, second)
    }

    pub(super) fn queue(&mut self, name: &str, second: u64) -> Decision {
        self.acquire(name, WAIT, second)
    }

    pub(super) fn ask(&mut self, terms: Terms, when_full: WhenFull, second: u64) -> Decision {
        self.carry_out(&Command::Acquire(request(terms, when_full)), second)
    }

    pub(super) fn release_of(&self, name: &str) -> Release {
        let held = self.record().holders.get(&holder(name));
        Release {
            run_key: held.and_then(|lease| lease.run_key.clone()),
            ..testing::release(holder(name), self.token(name))
        }
    }

    pub(super) fn release(&mut self, name: &str, outcome: RunOutcome, second: u64) -> Decision {
        let release = Release {
            outcome,
            ..self.release_of(name)
        };
        self.carry_out(&Command::Release(release), second)
    }

    pub(super) fn renew(&mut self, name: &str, token: FencingToken, second: u64) -> Decision {
        let renew = Renew {
            beat: Some(task_token("beat")),
            ..testing::renew(holder(name), token)
        };
        self.carry_out(&Command::Renew(renew), second)
    }

    /// Returns the recovery of `name` on evidence about its present lease.
    pub(super) fn recovery_of(&self, name: &str) -> Recover {
        testing::recover(holder(name), self.token(name), self.seen(name))
    }

    pub(super) fn recover(&mut self, name: &str, basis: RecoveryBasis, second: u64) -> Decision {
        let recover = Recover {
            basis,
            ..self.recovery_of(name)
        };
        self.carry_out(&Command::Recover(recover), second)
    }

    /// Returns a mark of `name` on evidence about its present lease.
    pub(super) fn mark_of(&self, name: &str, step: ExitStep) -> Mark {
        Mark {
            seen: Some(self.seen(name)),
            ..testing::mark(holder(name), self.token(name), step)
        }
    }

    pub(super) fn suspicion_of(&self, name: &str) -> Command {
        Command::Mark(self.mark_of(name, ExitStep::Suspect))
    }

    /// Marks `name` as ending. It keeps its permit.
    pub(super) fn mark_ending(&mut self, name: &str, second: u64) -> Outcome {
        let mark = testing::mark(holder(name), self.token(name), ExitStep::Ending);
        self.carry_out(&Command::Mark(mark), second)
            .unwrap()
            .outcome
    }

    pub(super) fn evict(&mut self, name: &str, second: u64) -> Decision {
        let evict = testing::evict(self.record(), holder(name), audit_note("broken"));
        self.carry_out(&evict, second)
    }

    pub(super) fn pause(&mut self, second: u64) {
        let pause = Command::Pause(audit_note("upgrade"), None);
        self.carry_out(&pause, second).unwrap();
    }

    pub(super) fn resume(&mut self, second: u64) {
        let resume = Command::Open(Opening::Resume, audit_note("done"));
        self.carry_out(&resume, second).unwrap();
    }

    pub(super) fn hand_over(&mut self, second: u64) -> Transition {
        self.carry_out(&Command::HandOver, second).unwrap()
    }

    /// Returns the snapshot of a decision that has read the side item of `waiter`.
    pub(super) fn read(&self, waiter: Option<WaiterId>) -> Snapshot {
        let waiter = waiter.map(|id| {
            let item = self.items.waiters.get(&id).cloned();
            (id, item)
        });
        Snapshot {
            record: self.items.record.clone(),
            runs: self.items.runs.clone(),
            waiter,
            new_lock: None,
        }
    }

    /// Decides on `command` as the protocol does, writes the decision, and returns it.
    pub(super) fn carry_out(&mut self, command: &Command, second: u64) -> Decision {
        let now = at(second);
        if let Some(waiter) = command.waiter_to_register_first(now) {
            self.items.waiters.insert(waiter.id(), waiter);
        }
        let seen = self.read(command.waiter_to_read(self.items.record.as_ref()));
        let decided = decide(&seen, command, now)?;
        if let Some(change) = decided.change(seen.record.as_ref()) {
            let done = self.items.commit(&change);
            assert!(matches!(done, Commit::Committed(_)), "{done:?}");
        }
        // A caller that polls registers after it took its place.
        if let (Command::Acquire(acquire), Outcome::Queued { .. }) = (command, &decided.outcome) {
            let waiter = acquire.waiter(now);
            self.items.waiters.insert(waiter.id(), waiter);
        }
        if let Some(record) = &self.items.record {
            assert_eq!(record.check_invariants(), Ok(()));
            let rests = record.is_idle() && record.next_due().is_none();
            assert_eq!(record.due.is_none(), rests, "{record:?}");
        }
        Ok(decided)
    }

    pub(super) fn record(&self) -> &LockRecord {
        self.items.record.as_ref().unwrap()
    }

    pub(super) fn record_mut(&mut self) -> &mut LockRecord {
        self.items.record.as_mut().unwrap()
    }

    pub(super) fn lease(&self, name: &str) -> &Lease {
        &self.record().holders[&holder(name)]
    }

    pub(super) fn holders(&self) -> Vec<&str> {
        self.record().holders.keys().map(HolderId::as_str).collect()
    }

    /// Returns the names of the waiters in the order of their tickets.
    pub(super) fn line(&self) -> Vec<&str> {
        let mut waiting: Vec<_> = self.record().queue.iter().collect();
        waiting.sort_by_key(|(_, ticket)| **ticket);
        let names = waiting.iter().map(|(id, _)| &self.items.waiters[*id]);
        names.map(|waiter| waiter.terms.holder.as_str()).collect()
    }

    pub(super) fn token(&self, name: &str) -> FencingToken {
        let lease = self.record().holders.get(&holder(name));
        lease.map_or(FencingToken::NONE, |lease| lease.token)
    }

    /// Returns the version of the lease of `name`.
    pub(super) fn seen(&self, name: &str) -> LeaseVersion {
        let lease = self.record().holders.get(&holder(name));
        lease.map(Lease::version).unwrap_or_default()
    }

    /// Returns how the run of `token` ended.
    pub(super) fn ended(&self, token: FencingToken) -> Option<RunOutcome> {
        self.history(token)?.outcome()
    }

    /// Returns how the run of `token` ended, and the evidence.
    pub(super) fn end(&self, token: FencingToken) -> (RunOutcome, &str) {
        let end = self.history(token).and_then(|run| run.end.as_ref());
        let end = end.unwrap();
        (end.outcome, end.evidence.as_deref().unwrap_or_default())
    }

    pub(super) fn history(&self, token: FencingToken) -> Option<&Run> {
        self.items.runs.get(&RunId::Token(token))
    }

    pub(super) fn marker(&self) -> &Run {
        &self.items.runs[&RunId::Key(run_key("tick"))]
    }

    /// Returns the acts in the history, each with its actor, kind and note.
    pub(super) fn acts(&self) -> Vec<(&str, ActKind, &str)> {
        let acts = self.items.acts.values();
        acts.map(|act| {
            let why = act.note.as_deref().unwrap();
            (act.actor.as_str(), act.kind, why)
        })
        .collect()
    }

    /// Returns the acts in the history, each with its kind and its note without the operator's name.
    pub(super) fn orders(&self) -> Vec<(ActKind, &str)> {
        let signature = format!(" (by {OPERATOR})");
        let acts = self.acts().into_iter();
        acts.map(|(actor, outcome, note)| {
            assert_eq!(actor, OPERATOR);
            (outcome, note.strip_suffix(&signature).unwrap())
        })
        .collect()
    }
}

/// Returns a request that waits with the task token of a state.
fn request(terms: Terms, when_full: WhenFull) -> Acquire {
    let task_token = TaskToken::new(format!("{}-waits", terms.holder)).ok();
    Acquire {
        task_token: task_token.filter(|_| when_full != WhenFull::Refuse),
        when_full,
        when_paused: testing::when_paused(when_full),
        ..testing::acquire(terms)
    }
}

pub(super) fn id(name: &str) -> WaiterId {
    WaiterId::of(&holder(name))
}

pub(super) fn audit_note(note: &str) -> AuditNote {
    testing::audit_note(holder(OPERATOR), note)
}

pub(super) fn eviction_of(name: &str) -> DropWaiter {
    DropWaiter::of(holder(name), audit_note("broken"))
}
