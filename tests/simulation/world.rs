//! What all actors of one simulated world share: time, chance, the table, the cloud, the trace, and
//! clocks that disagree.

use crate::audit::Audit;
use crate::cloud::Cloud;
use crate::engine::{Engine, JobId, locked};
use crate::pairs::Pairs;
use crate::trial::{Trial, Trials};
use crate::weather::{Trouble, Weather};
use crate::witness::Witness;
use fastrand::Rng;
use lockstep::clock::Clock;
use lockstep::domain::{CLOCK_SKEW, ExecutionArn, Timestamp};
use lockstep::store::memory::MemoryStore;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Arguments, Write};
use std::future::Future;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// When every simulation begins: 2026-03-01T00:00:00Z.
pub(crate) const START: u64 = 1_772_323_200_000;

/// How many times each thing happened.
pub(crate) type Tally = BTreeMap<&'static str, u64>;

/// Returns the last part of an ARN, or all of another name.
pub(crate) fn short(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or_default()
}

/// One simulated world.
pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) store: MemoryStore,
    pub(crate) cloud: Mutex<Cloud>,
    pub(crate) audit: Mutex<Audit>,
    pub(crate) witness: Mutex<Witness>,
    /// No fault begins from here on.
    pub(crate) calm_from: u64,
    /// What goes wrong for a while and for everybody.
    pub(crate) weather: Weather,
    /// Whether Step Functions stops the task of a state that timed out.
    pub(crate) timeouts_stop: bool,
    /// Whether Step Functions evaluates TimeoutSeconds anew with each attempt of a state.
    pub(crate) timeouts_anew: bool,
    /// Whether only those events occur that the stack's rules and the defaults of its parameters
    /// let through. Otherwise each run publishes its start and its end, and the reaper gets every
    /// event.
    pub(crate) as_deployed: bool,
    /// What the world goes through beside the usual.
    pub(crate) trials: Trials,
    /// Which options meet which events.
    pub(crate) pairs: Mutex<Pairs>,
    /// How far the clock of a machine may be behind the true time, in milliseconds. A negative
    /// number is a clock that is ahead.
    clocks: RangeInclusive<i64>,
    /// How many times as often as usual things go wrong.
    rough: u64,
    /// When the latest fault began.
    fault_at: AtomicU64,
    /// Until when descriptions fail beside the weather.
    fails_until: AtomicU64,
    /// When DescribeExecution last showed an old state or was denied.
    denied_at: AtomicU64,
    old_shown_at: Mutex<BTreeMap<ExecutionArn, u64>>,
    over: AtomicBool,
    random: Mutex<Rng>,
    tally: Mutex<Tally>,
    /// What was counted only once, and of whom.
    counted: Mutex<BTreeSet<(&'static str, String)>>,
    trace: Mutex<String>,
    broken: Mutex<Option<String>>,
}

impl World {
    pub(crate) fn of_seed(seed: u64, trouble: u64) -> Self {
        Self::trying(seed, trouble, Trials::GATE)
    }

    pub(crate) fn trying(seed: u64, trouble: u64, trials: Trials) -> Self {
        let mut random = Rng::with_seed(seed);
        let rough = [0, 1, 1, 1, 1, 4][random.usize(0..6)];
        let weather = if rough == 0 || trouble == 0 {
            Weather::default()
        } else {
            Weather::of(&mut random, START, START + trouble, trials)
        };
        let skew = i64::try_from(CLOCK_SKEW.millis()).unwrap_or_default();
        let clocks = match trouble > 0 && trials.has(Trial::ClocksAhead) {
            true => [0..=skew, -skew..=0, -skew / 2..=skew / 2][random.usize(0..3)].clone(),
            false => 0..=skew,
        };
        Self {
            engine: Engine::starting_at(START),
            store: MemoryStore::default(),
            cloud: Mutex::default(),
            audit: Mutex::default(),
            witness: Mutex::default(),
            calm_from: START + trouble,
            weather,
            timeouts_stop: random.bool(),
            timeouts_anew: random.bool(),
            as_deployed: false,
            trials,
            pairs: Mutex::default(),
            clocks,
            rough,
            fault_at: AtomicU64::new(START),
            fails_until: AtomicU64::new(0),
            denied_at: AtomicU64::new(0),
            old_shown_at: Mutex::default(),
            over: AtomicBool::new(false),
            random: Mutex::new(random),
            tally: Mutex::default(),
            counted: Mutex::default(),
            trace: Mutex::default(),
            broken: Mutex::default(),
        }
    }

    pub(crate) fn tries(&self, trial: Trial) -> bool {
        self.trials.has(trial)
    }

    /// Returns the true time, in milliseconds since 1970. Actors see it through their own clocks.
    pub(crate) fn now(&self) -> u64 {
        self.engine.now()
    }

    pub(crate) fn timestamp(&self) -> Timestamp {
        Timestamp::from_millis(self.now())
    }

    pub(crate) async fn sleep(&self, millis: u64) {
        self.engine.sleep(millis).await;
    }

    /// Sleeps for a random time.
    pub(crate) async fn linger(&self, millis: RangeInclusive<u64>) {
        let millis = self.number(millis);
        self.sleep(millis).await;
    }

    pub(crate) fn spawn(&self, job: impl Future<Output = ()> + Send + 'static) -> JobId {
        self.engine.spawn(job)
    }

    pub(crate) fn number(&self, range: RangeInclusive<u64>) -> u64 {
        locked(&self.random).u64(range)
    }

    /// Returns true in `permille` of a thousand cases.
    pub(crate) fn chance(&self, permille: u64) -> bool {
        self.number(0..=999) < permille
    }

    /// Returns true in `permille` of a thousand cases, times `rough`, and never once the world is
    /// calm.
    pub(crate) fn fault(&self, permille: u64) -> bool {
        let goes_wrong = self.chance(permille * self.rough) && !self.is_calm();
        if goes_wrong {
            self.has_fault();
        }
        goes_wrong
    }

    /// Notes that something goes wrong now.
    pub(crate) fn has_fault(&self) {
        self.fault_at.store(self.now(), Ordering::Relaxed);
    }

    /// Lets descriptions fail from now on, for some seconds.
    pub(crate) fn fail_descriptions(&self) {
        let until = self.now() + self.number(1000..=20_000);
        self.fails_until.store(until, Ordering::Relaxed);
    }

    /// Returns what the services that describe executions and tasks meet now, if they describe nothing.
    pub(crate) fn hides(&self) -> Option<Trouble> {
        let now = self.now();
        let fails = now < self.fails_until.load(Ordering::Relaxed);
        let fails = fails.then_some(Trouble::Unanswered);
        self.weather.hides(now).or(fails)
    }

    /// Notes that DescribeExecution is denied now.
    pub(crate) fn is_denied(&self) {
        self.denied_at.store(self.now(), Ordering::Relaxed);
    }

    /// Notes that DescribeExecution shows an old state of `execution` now.
    pub(crate) fn shows_old(&self, execution: &ExecutionArn) {
        let mut shown = locked(&self.old_shown_at);
        shown.insert(execution.clone(), self.now());
    }

    /// Returns when DescribeExecution last showed an old state of `execution`, or was denied.
    pub(crate) fn last_misled(&self, execution: &ExecutionArn) -> u64 {
        let denied = self.denied_at.load(Ordering::Relaxed);
        let shown = locked(&self.old_shown_at).get(execution).copied();
        denied.max(shown.unwrap_or_default())
    }

    /// Returns when something last went wrong.
    pub(crate) fn last_fault(&self) -> u64 {
        self.fault_at.load(Ordering::Relaxed)
    }

    pub(crate) fn is_calm(&self) -> bool {
        self.now() >= self.calm_from
    }

    pub(crate) fn pick<T: Clone>(&self, from: &[T]) -> T {
        let index = locked(&self.random).usize(0..from.len());
        from[index].clone()
    }

    /// Counts one more of `what`.
    pub(crate) fn count(&self, what: &'static str) {
        *locked(&self.tally).entry(what).or_default() += 1;
    }

    /// Counts one more of `what`, unless it was counted of `whom` before.
    pub(crate) fn count_once(&self, what: &'static str, whom: &str) {
        if self.is_first(what, whom) {
            self.count(what);
        }
    }

    /// Returns whether this is the first time for `what` of `whom`.
    pub(crate) fn is_first(&self, what: &'static str, whom: &str) -> bool {
        locked(&self.counted).insert((what, whom.to_owned()))
    }

    /// Writes one line of the trace: when, who, what.
    pub(crate) fn note(&self, who: &str, what: Arguments<'_>) {
        let since = self.now() - START;
        let (seconds, millis) = (since / 1000, since % 1000);
        let mut trace = locked(&self.trace);
        let _ = writeln!(trace, "{seconds:>5}.{millis:03} {who:<14} {what}");
    }

    /// Notes a broken promise. The first one ends the world.
    pub(crate) fn break_promise(&self, what: String) {
        self.note("auditor", format_args!("BROKEN: {what}"));
        locked(&self.broken).get_or_insert(what);
    }

    pub(crate) fn broken(&self) -> Option<String> {
        locked(&self.broken).clone()
    }

    pub(crate) fn trace(&self) -> String {
        locked(&self.trace).clone()
    }

    pub(crate) fn tally(&self) -> Tally {
        locked(&self.tally).clone()
    }

    /// Ends everything that is under way, for good.
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
        self.engine.end();
    }

    /// Returns whether the world has been ended: nothing begins any more.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Runs until `end`, or until a promise is broken.
    pub(crate) fn run(&self, end: u64) {
        let pick = |ready| locked(&self.random).usize(0..ready);
        let stop = || locked(&self.broken).is_some();
        self.engine.run(end, pick, stop);
    }
}

/// The clock of one machine. No two clocks of a world differ by more than clocks may.
pub(crate) struct SimClock {
    world: Arc<World>,
    /// How far the clock is behind the true time, in milliseconds.
    pub(crate) behind: i64,
}

impl SimClock {
    /// Returns the clock of some machine.
    pub(crate) fn any(world: &Arc<World>) -> Self {
        let (least, most) = (*world.clocks.start(), *world.clocks.end());
        let behind = match world.number(0..=3) {
            0 => least,
            1 => most,
            _ => locked(&world.random).i64(least..=most),
        };
        Self {
            world: Arc::clone(world),
            behind,
        }
    }
}

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.world.now().saturating_add_signed(-self.behind))
    }

    async fn sleep(&self, length: Duration) {
        let millis = u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
        self.world.sleep(millis).await;
    }
}
