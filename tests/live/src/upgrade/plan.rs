//! The runs of a proof: on which lock each is, how and by which version it is started, and how long it works.

/// How a run gets its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// An ECS task that exclusive-run starts.
    Task,
    /// A workflow with the lock woven in.
    Workflow,
    /// A process under `lockstep run`.
    Process,
}

/// One of the two versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// The version that the stack has first, and again after the rollback.
    From,
    /// The version that the stack is upgraded to.
    To,
}

/// When a run is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Before the upgrade.
    First,
    /// Between the upgrade and the rollback.
    Upgraded,
    /// After the rollback.
    RolledBack,
}

/// A lock, and how its runs get it.
#[derive(Clone, Debug)]
pub struct Lock {
    /// Its name.
    pub name: String,
    /// How many runs hold it at once.
    pub permits: usize,
    /// The ways of its runs, which take turns.
    ways: &'static [Way],
}

/// One run, which waits in the queue until it gets a permit.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its number.
    pub id: usize,
    /// The number of its lock.
    pub lock: usize,
    /// How it gets the lock.
    pub way: Way,
    /// Whose command or definition it goes by.
    pub version: Version,
    /// When it is started.
    pub stage: Stage,
    /// How long it works.
    pub seconds: f64,
    /// Whether it is to be at work while the stack is deployed to.
    pub long: bool,
    /// Its run key, if it has one: the runs with one key have one success together.
    pub run_key: Option<String>,
}

/// All runs of a proof.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The locks.
    pub locks: Vec<Lock>,
    /// The runs, in the order of their starts.
    pub runs: Vec<Run>,
}

const ALL: &[Way] = &[Way::Process, Way::Task, Way::Workflow];
const KINDS: [(usize, &[Way]); 12] = [
    (1, &[Way::Process]),
    (1, &[Way::Process]),
    (2, &[Way::Process]),
    (3, &[Way::Process]),
    (1, &[Way::Workflow]),
    (1, &[Way::Workflow]),
    (2, &[Way::Workflow]),
    (1, &[Way::Task]),
    (2, &[Way::Task]),
    (1, ALL),
    (1, ALL),
    (2, ALL),
];
/// The locks of twenty runs: containers cost the machine most, and processes least.
const TURNS: [usize; 20] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 9, 10,
];

impl Stage {
    /// The stages in the order of time, with the share of the runs that each starts, in percent.
    const SHARES: [(Self, usize); 3] = [
        (Self::First, 45),
        (Self::Upgraded, 45),
        (Self::RolledBack, 10),
    ];
}

impl Plan {
    /// Returns the plan of `count` runs on locks whose names begin with `prefix`. In the first two stages, as
    /// many runs of each lock as it has permits work for `hold` seconds.
    #[must_use]
    pub fn new(prefix: &str, count: usize, hold: f64) -> Self {
        let locks = KINDS.iter().enumerate();
        let locks = locks.map(|(number, (permits, ways))| Lock {
            name: format!("{prefix}/{number}"),
            permits: *permits,
            ways,
        });
        let mut plan = Self {
            locks: locks.collect(),
            runs: Vec::new(),
        };
        let mut until = 0;
        for (stage, share) in Stage::SHARES {
            until += share;
            plan.start(stage, count * until / 100, hold);
        }
        plan
    }

    /// Adds the runs of a stage, until there are `count`.
    fn start(&mut self, stage: Stage, count: usize, hold: f64) {
        let mut of_lock = [0; KINDS.len()];
        for turn in TURNS.iter().cycle() {
            if self.runs.len() >= count {
                break;
            }
            let (id, lock) = (self.runs.len(), &self.locks[*turn]);
            let number = of_lock[*turn];
            of_lock[*turn] += 1;
            let way = lock.ways[number % lock.ways.len()];
            let long = number < lock.permits && stage != Stage::RolledBack;
            // The third run after the long ones repeats the tick of its lock in each stage. A woven lock
            // that has no run key in its definition has none.
            let repeats = number == lock.permits && way != Way::Workflow;
            self.runs.push(Run {
                id,
                lock: *turn,
                way,
                version: version(stage, way, number),
                stage,
                seconds: if long {
                    hold
                } else {
                    0.5 + (id * 7 % 16) as f64 / 10.0
                },
                long,
                run_key: repeats.then(|| format!("{}-tick", lock.name)),
            });
        }
    }

    /// Returns the runs of a stage.
    pub fn of(&self, stage: Stage) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(move |run| run.stage == stage)
    }
}

/// Returns by which version a run is started. A state machine has the definition of the deployed version, and
/// the commands of both versions work on the table all the while.
fn version(stage: Stage, way: Way, number: usize) -> Version {
    match (stage, way) {
        (Stage::First, _) => Version::From,
        (Stage::Upgraded, Way::Task | Way::Workflow) => Version::To,
        (Stage::RolledBack, Way::Task | Way::Workflow) => Version::From,
        (Stage::Upgraded | Stage::RolledBack, Way::Process) if number.is_multiple_of(2) => {
            Version::To
        }
        (Stage::Upgraded | Stage::RolledBack, Way::Process) => Version::From,
    }
}

#[cfg(test)]
mod tests {
    use super::{Plan, Stage, Version, Way};
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn each_lock_is_full_of_long_runs_before_each_deployment() {
        let plan = Plan::new("p", 200, 40.0);

        assert_eq!(plan.runs.len(), 200);
        for stage in [Stage::First, Stage::Upgraded] {
            let mut long = BTreeMap::<_, usize>::new();
            for run in plan.of(stage).filter(|run| run.long) {
                *long.entry(run.lock).or_default() += 1;
            }
            let permits = plan.locks.iter().map(|lock| lock.permits);
            assert!(long.into_values().eq(permits), "{stage:?}");
            let short = plan.of(stage).filter(|run| !run.long).count();
            assert!(short >= 50, "{short} of {stage:?}");
        }
    }

    #[test]
    fn the_commands_of_both_versions_start_runs_on_both_stacks() {
        let plan = Plan::new("p", 200, 40.0);
        for stage in [Stage::Upgraded, Stage::RolledBack] {
            let processes = plan.of(stage).filter(|run| run.way == Way::Process);
            let versions: BTreeSet<_> = processes.map(|run| run.version == Version::To).collect();
            assert_eq!(versions.len(), 2, "{stage:?}");
        }
        let keys: Vec<_> = plan
            .runs
            .iter()
            .filter_map(|run| run.run_key.clone())
            .collect();
        let distinct: BTreeSet<_> = keys.iter().collect();
        assert!(keys.len() > distinct.len(), "{keys:?}");
    }
}
