//! One configuration: the plans of its executions, and what may go wrong.

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
    /// Its run key.
    pub(crate) run_key: Option<&'static str>,
    pub(crate) stale: StalePolicy,
    pub(crate) max_run: Option<u32>,
    pub(crate) min_interval: Option<u32>,
    /// The number of permits that it expects; `None` for that of the world.
    pub(crate) permits: Option<u8>,
    /// Whether its heartbeats name the task token of a heartbeat state.
    pub(crate) beat: bool,
    /// Whether it is an execution that DescribeExecution shows. Otherwise its lease is the only evidence.
    pub(crate) visible: bool,
    /// Whether its work is an execution and not a task.
    pub(crate) workflow: bool,
    /// The length of its lease, in seconds.
    pub(crate) lease: u32,
    /// The length that its heartbeats give the lease, in seconds; `None` for `lease`.
    pub(crate) grows_to: Option<u32>,
}

/// One configuration.
#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    pub(crate) permits: u8,
    pub(crate) plans: Vec<Plan>,
    /// The time in seconds up to which a second may pass at any point.
    pub(crate) ticks: u64,
    /// Whether a clock may be a second slow.
    pub(crate) skew: bool,
    /// Whether other steps come between the requests with which a check gathers evidence.
    pub(crate) slow_evidence: bool,
    /// Whether all requests of a call are one step.
    pub(crate) quick_calls: bool,
    /// Whether all requests of a check are one step.
    pub(crate) quick_checks: bool,
    /// Whether work that no state waits for may end by itself before it is stopped.
    pub(crate) own_ends: bool,
    /// Whether an eviction stops the holder first, instead of freeing its permit at once.
    pub(crate) stops_evicted: bool,
    /// The end of a pause, in seconds from the start; `None` for a pause until the operator resumes the lock.
    pub(crate) pauses_until: Option<u64>,
    /// Whether the operator only ends rests and forgets run keys.
    pub(crate) clears: bool,
    pub(crate) budget: Budget,
    pub(crate) mutant: Mutant,
    pub(crate) names: Vec<(HolderId, WaiterId)>,
    /// The answers that were reached. Only the report reads them.
    pub(crate) reached: Arc<Mutex<BTreeSet<&'static str>>>,
}

/// The default length of a lease, in seconds.
const LEASE: u32 = 2;
const NAMES: [&str; 3] = ["a", "b", "c"];
const EXECUTION: &str = "arn:aws:states:r:0:execution:m:";

/// Returns the timestamp of a true time in seconds.
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

    /// Returns whether requests take time on their way to the table.
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
