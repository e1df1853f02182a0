//! One configuration: who runs, what they ask for, and what may go wrong.

use crate::mutant::Mutant;
use crate::state::{Budget, Execution, State, Who};
use lockstep::domain::{HolderId, StalePolicy, Timestamp, WaiterId, WhenFull};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// What an execution asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) when_full: WhenFull,
    /// Whether it tries without waiting first, as the state machine does.
    pub(crate) tries_first: bool,
    /// How long it waits, in seconds from the start.
    pub(crate) waits_until: Option<u64>,
    /// Whether it waits by asking again, without a task token.
    pub(crate) polls: bool,
    /// What its run key is; runs with the same one are starts of the same tick.
    pub(crate) run_key: Option<&'static str>,
    pub(crate) stale: StalePolicy,
    pub(crate) max_run: Option<u32>,
    pub(crate) min_interval: Option<u32>,
    /// The capacity that it expects, where that is not the world's.
    pub(crate) permits: Option<u8>,
    /// Whether its lease knows a heartbeat state to end.
    pub(crate) beat: bool,
    /// Whether it is an execution whose end can be seen. Otherwise only its lease tells.
    pub(crate) visible: bool,
    /// Whether its work is an execution and not a task.
    pub(crate) workflow: bool,
    /// How long its lease is, in seconds.
    pub(crate) lease: u32,
    /// How long its heartbeats make it, in seconds.
    pub(crate) grows_to: Option<u32>,
}

/// One configuration.
#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    pub(crate) permits: u8,
    pub(crate) plans: Vec<Plan>,
    /// Seconds that pass although no call waits for them.
    pub(crate) ticks: u64,
    /// Whether a clock may be a second slow.
    pub(crate) skew: bool,
    /// Whether others come between the pieces of evidence that a check gathers.
    pub(crate) slow_evidence: bool,
    /// Whether a call is one step that no other comes in between.
    pub(crate) quick_calls: bool,
    /// Whether a check is one step that no other comes in between.
    pub(crate) quick_checks: bool,
    /// Whether work that no state waits for may come to an end of its own before it is stopped.
    pub(crate) own_ends: bool,
    /// Whether the operator has holders stopped, instead of taking their permits at once.
    pub(crate) stops_evicted: bool,
    /// When a pause is over by itself, in seconds from the start; `None` until the operator resumes the lock.
    pub(crate) pauses_until: Option<u64>,
    /// Whether the operator ends rests and has run keys forgotten, and does nothing else.
    pub(crate) clears: bool,
    pub(crate) budget: Budget,
    pub(crate) mutant: Mutant,
    pub(crate) names: Vec<(HolderId, WaiterId)>,
    /// Which answers came up. For the report only: no step reads it.
    pub(crate) reached: Arc<Mutex<BTreeSet<&'static str>>>,
}

/// Usual length of a lease, in seconds.
const LEASE: u32 = 2;
const NAMES: [&str; 3] = ["a", "b", "c"];
const EXECUTION: &str = "arn:aws:states:r:0:execution:m:";

/// True time as a point.
pub(crate) const fn at(tick: u64) -> Timestamp {
    Timestamp::from_millis(1_000_000 + 1000 * tick)
}

impl Plan {
    pub(crate) const REFUSE: Self = Self {
        when_full: WhenFull::Refuse,
        tries_first: false,
        waits_until: None,
        polls: false,
        run_key: None,
        stale: StalePolicy::Terminate,
        max_run: None,
        min_interval: None,
        permits: None,
        beat: false,
        visible: true,
        workflow: false,
        lease: LEASE,
        grows_to: None,
    };
    pub(crate) const QUEUE: Self = Self {
        when_full: WhenFull::Queue { most: 2 },
        ..Self::REFUSE
    };
    pub(crate) const REPLACE: Self = Self {
        when_full: WhenFull::Replace,
        ..Self::REFUSE
    };

    pub(crate) fn waits(&self) -> bool {
        self.when_full != WhenFull::Refuse
    }
}

impl World {
    pub(crate) fn new(permits: u8, plans: &[Plan], budget: Budget) -> Self {
        let names = plans.iter().zip(NAMES).map(|(plan, name)| {
            let prefix = if plan.visible { EXECUTION } else { "" };
            let holder = HolderId::new(format!("{prefix}{name}")).expect("a valid holder");
            let id = WaiterId::of(&holder);
            (holder, id)
        });
        Self {
            permits,
            plans: plans.to_vec(),
            budget,
            names: names.collect(),
            ..Self::default()
        }
    }

    /// Whether requests take time on their way to the table.
    pub(crate) fn travels(&self) -> bool {
        self.budget.lates + self.budget.strays > 0
    }

    pub(crate) fn start(&self) -> State {
        State {
            executions: vec![Execution::default(); self.plans.len()],
            left: self.budget,
            ..State::default()
        }
    }

    pub(crate) fn holder(&self, who: Who) -> &HolderId {
        &self.names[who].0
    }

    pub(crate) fn who(&self, holder: &HolderId) -> Option<Who> {
        self.names.iter().position(|(name, _)| name == holder)
    }
}
