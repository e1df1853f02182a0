//! What the executions, the reaper and the operator say.

use crate::state::Who;
use crate::world::{World, at};
use lockstep::domain::{
    Acquire, Command, Death, Evict, FencingToken, HolderId, Lease, MarkEnding, Order, Permits,
    Recover, Release, Renew, RunKey, RunOutcome, Seconds, TaskToken, Terms, WhenFull, Work,
};

pub(crate) const RETENTION: Seconds = Seconds::of(1000);

impl World {
    pub(crate) fn acquire(&self, who: Who, when_full: WhenFull, state: Option<u8>) -> Command {
        let plan = &self.plans[who];
        let terms = Terms {
            parent: None,
            redrives: 0,
            holder: self.holder(who).clone(),
            permits: Permits::new(plan.permits.unwrap_or(self.permits).into())
                .expect("valid permits"),
            lease: Seconds::of(plan.lease),
            heartbeat: Seconds::of(1),
            max_run: plan.max_run.map(Seconds::of),
            no_progress: None,
            stale: plan.stale,
            min_interval: plan.min_interval.map(Seconds::of),
            run_key: self.run_key(who),
            work: plan.visible.then(work),
            retention: RETENTION,
        };
        Command::Acquire(Acquire {
            terms,
            when_full,
            task_token: state.map(|attempt| waiting_state(who, attempt)),
            wait_until: plan.waits_until.map(at),
        })
    }

    fn run_key(&self, who: Who) -> Option<RunKey> {
        let key = self.plans[who].run_key?;
        Some(RunKey::new(key).expect("a valid run key"))
    }

    pub(crate) fn renew(&self, who: Who, token: FencingToken, redrives: u8) -> Command {
        let beat = self.plans[who]
            .beat
            .then(|| task_token(format!("beat-{who}")));
        Command::Renew(Renew {
            redrives: Some(redrives.into()),
            holder: self.holder(who).clone(),
            token,
            beat,
            progress: None,
            retention: RETENTION,
        })
    }

    pub(crate) fn release(&self, who: Who, token: FencingToken, outcome: RunOutcome) -> Command {
        Command::Release(Release {
            holder: self.holder(who).clone(),
            token,
            run_key: self.run_key(who),
            outcome,
            retention: RETENTION,
        })
    }

    /// Frees the permit of a waiter that was over before it took its turn up.
    pub(crate) fn unconfirmed(&self, who: Who, lease: &Lease) -> Command {
        Command::Recover(Recover {
            holder: self.holder(who).clone(),
            token: lease.token,
            seen: lease.version(),
            death: Death::Unconfirmed,
            succeeded: false,
            evidence: "gone".into(),
            retention: RETENTION,
        })
    }

    /// The report that the work is being stopped.
    pub(crate) fn stopping(&self, who: Who, token: FencingToken) -> Command {
        let holder = self.holder(who).clone();
        let seen = None;
        Command::MarkEnding(MarkEnding {
            holder,
            token,
            seen,
        })
    }

    pub(crate) fn order(&self) -> Order {
        Order {
            actor: HolderId::new("operator").expect("a valid holder"),
            note: "maintenance".into(),
            retention: RETENTION,
        }
    }

    pub(crate) fn evict(&self, who: Who) -> Command {
        let (holder, order) = (self.holder(who).clone(), self.order());
        Command::Evict(Evict { holder, order })
    }
}

/// Where the tasks of an execution are found.
fn work() -> Work {
    Work {
        cluster: "c".into(),
        family: None,
        container: Some("main".into()),
    }
}

/// The task token of a waiting state.
pub(crate) fn waiting_state(who: Who, attempt: u8) -> TaskToken {
    task_token(format!("wait-{who}-{attempt}"))
}

fn task_token(token: String) -> TaskToken {
    TaskToken::new(token).expect("a valid task token")
}
