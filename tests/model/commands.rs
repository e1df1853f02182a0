//! The commands of the executions, the reaper and the operator.

use crate::state::Who;
use crate::world::{Plan, World, at};
use lockstep::domain::{
    Acquire, AuditNote, Command, ExitStep, FencingToken, Forget, Lease, LockRecord, Pace, Permits,
    Recover, RecoveryBasis, Release, Renew, Retention, RunKey, RunOutcome, Seconds,
    StateMachineArn, TaskSet, TaskToken, Terms, WhenFull, Work,
};
use lockstep::testing;

pub(crate) const RETENTION: Retention = Retention {
    history: Seconds::of(2000),
    run_keys: Seconds::of(1000),
};

impl World {
    pub(crate) fn acquire(&self, who: Who, when_full: WhenFull, state: Option<u8>) -> Command {
        let plan = &self.plans[who];
        let terms = Terms {
            permits: Permits::new(plan.permits.unwrap_or(self.permits).into())
                .expect("valid permits"),
            lease: Seconds::of(plan.lease),
            heartbeat: Seconds::of(1),
            max_run: plan.max_run.map(Seconds::of),
            stale: plan.stale,
            min_interval: plan.min_interval.map(Seconds::of),
            run_key: self.run_key(who),
            work: plan.visible.then(|| work(plan)),
            retention: RETENTION,
            ..testing::terms(self.holder(who).clone())
        };
        Command::Acquire(Acquire {
            terms,
            when_full,
            when_paused: testing::when_paused(when_full),
            task_token: state.map(|attempt| waiting_state(who, attempt)),
            wait_until: plan.waits_until.map(at),
        })
    }

    fn run_key(&self, who: Who) -> Option<RunKey> {
        let key = self.plans[who].run_key?;
        Some(testing::run_key(key))
    }

    pub(crate) fn renew(&self, who: Who, token: FencingToken, redrives: u8) -> Command {
        let beat = self.plans[who]
            .beat
            .then(|| testing::task_token(&format!("beat-{who}")));
        let plan = &self.plans[who];
        let pace = Pace {
            length: Seconds::of(plan.grows_to.unwrap_or(plan.lease)),
            heartbeat: Seconds::of(1),
        };
        Command::Renew(Renew {
            redrives: Some(redrives.into()),
            beat,
            pace: Some(pace),
            retention: RETENTION,
            ..testing::renew(self.holder(who).clone(), token)
        })
    }

    pub(crate) fn release(&self, who: Who, token: FencingToken, outcome: RunOutcome) -> Command {
        Command::Release(Release {
            run_key: self.run_key(who),
            outcome,
            retention: RETENTION,
            ..testing::release(self.holder(who).clone(), token)
        })
    }

    /// Returns the recovery of a waiter that ended before it confirmed its hand-over.
    pub(crate) fn unconfirmed(&self, who: Who, lease: &Lease) -> Command {
        let holder = self.holder(who).clone();
        Command::Recover(Recover {
            basis: RecoveryBasis::Unconfirmed,
            retention: RETENTION,
            ..testing::recover(holder, lease.token, lease.version())
        })
    }

    /// Returns the report of a run that its work is being stopped.
    pub(crate) fn stopping(&self, who: Who, token: FencingToken) -> Command {
        let holder = self.holder(who).clone();
        Command::Mark(testing::mark(holder, token, ExitStep::Ending))
    }

    pub(crate) fn audit_note(&self) -> AuditNote {
        AuditNote {
            retention: RETENTION,
            ..testing::audit_note(testing::holder("operator"), "maintenance")
        }
    }

    pub(crate) fn evict(&self, record: &LockRecord, who: Who) -> Command {
        testing::evict(record, self.holder(who).clone(), self.audit_note())
    }

    /// Returns the command that forgets the run key of this world.
    pub(crate) fn forget(&self) -> Command {
        let mut keys = (0..self.plans.len()).filter_map(|who| self.run_key(who));
        Command::Forget(Forget {
            run_key: keys.next().expect("a world with a run key"),
            audit: self.audit_note(),
        })
    }

    /// Returns the mark that commits the eviction of a holder under its grant with `token`.
    pub(crate) fn stop_evicted(&self, who: Who, token: FencingToken) -> Command {
        let evict = ExitStep::Evict(self.audit_note());
        Command::Mark(testing::mark(self.holder(who).clone(), token, evict))
    }
}

/// Returns the work of an execution: a workflow or tasks.
fn work(plan: &Plan) -> Work {
    if plan.workflow {
        return Work::Workflow(machine());
    }
    Work::Tasks(TaskSet {
        container: Some("main".into()),
        ..testing::work("c")
    })
}

/// Returns the state machine whose executions are the work of a workflow plan.
pub(crate) fn machine() -> StateMachineArn {
    StateMachineArn::new("arn:aws:states:r:0:stateMachine:w").expect("a valid ARN")
}

/// Returns the task token of a waiting state.
pub(crate) fn waiting_state(who: Who, attempt: u8) -> TaskToken {
    testing::task_token(&format!("wait-{who}-{attempt}"))
}
