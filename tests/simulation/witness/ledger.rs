//! The requests of each run, and their answers.

use super::missing::{self, Success};
use super::stops::refuses;
use super::successes::released;
use crate::cloud::holder_of;
use crate::engine::locked;
use crate::functions::Function;
use crate::invoke::Failure;
use crate::world::World;
use lockstep::contract::parse_time;
use lockstep::domain::{ExecutionArn, FencingToken, HolderId, LockKey};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The witness's ledger.
#[derive(Default)]
pub(crate) struct Witness {
    pub(crate) runs: BTreeMap<HolderId, RunFacts>,
    /// The holder whose work succeeded under each run key.
    pub(crate) successes: BTreeMap<(LockKey, String), HolderId>,
    /// Since when each lock has been free although a run waits.
    pub(super) idle_since: BTreeMap<LockKey, u64>,
    /// When the rest of each lock after its last grant ends, in epoch milliseconds.
    pub(super) rested_at: BTreeMap<LockKey, u64>,
    /// How often a success of each lock is expected, in milliseconds.
    pub(crate) expected: BTreeMap<LockKey, u64>,
    /// The successes of each lock that were released.
    pub(super) met: BTreeMap<LockKey, Vec<Success>>,
    /// When the work of runs of each lock succeeded.
    pub(super) done: BTreeMap<LockKey, Vec<(HolderId, u64)>>,
    /// When each lock was last opened, and when it last froze.
    pub(super) resumed: BTreeMap<LockKey, u64>,
    pub(super) frozen: BTreeMap<LockKey, u64>,
    /// The holders about which an alert has said that evidence is missing, each with the silence
    /// that it was about.
    pub(super) alerts: BTreeSet<(HolderId, String)>,
    /// The holders of which a heartbeat was written late.
    pub(super) late_beats: BTreeSet<HolderId>,
    /// Whether no run may replace another one with the same run key.
    pub(crate) same_tick: bool,
    /// Grants of runs that were stopped for one that waited to replace them.
    pub(super) replaced: BTreeSet<(HolderId, FencingToken)>,
}

/// The terms of a run as its user wrote them. Times are in milliseconds.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    pub(crate) lock: LockKey,
    pub(crate) permits: usize,
    pub(crate) overlap: String,
    pub(crate) policy: String,
    pub(crate) run_key: Option<String>,
    pub(crate) max_run: Option<u64>,
    pub(crate) no_progress: Option<u64>,
    pub(crate) min_interval: u64,
    pub(crate) wait: Option<u64>,
}

/// One run: an execution or a process.
#[derive(Clone, Debug)]
pub(crate) struct RunFacts {
    pub(crate) terms: Terms,
    /// When it first asked for a place in the queue.
    pub(crate) asked: Option<u64>,
    /// Its latest grant, and since when it has that grant.
    pub(crate) grant: Option<(FencingToken, u64)>,
    /// When it learned of its latest grant.
    pub(crate) learned: Option<u64>,
    /// Whether it was woken with its grant, and has made no request since that confirms it.
    pub(crate) unconfirmed: bool,
    /// When the heartbeat that confirmed its grant was answered.
    pub(crate) confirmed_late: Option<u64>,
    /// Until when its heartbeat state may wait after its release. Lambda ran a heartbeat twice, and
    /// the second call may have put the task token of an ended state into the lease.
    pub(crate) waits_until: u64,
    /// How long its lease is, in milliseconds.
    pub(crate) lease: u64,
    /// Whether its limits count from when it learned of its grant.
    pub(crate) from_begin: bool,
    /// When its release was answered.
    pub(crate) released_at: Option<u64>,
    /// Until when the answers promise its lease, unless the lease ends before.
    pub(crate) lease_until: u64,
    /// Until when the answers promise its lease, unless its own release comes before.
    pub(crate) promised: u64,
    /// Whether it has asked for a place in the queue, and has not been answered anything else.
    pub(crate) asks: bool,
    /// When it last asked for a place in the queue.
    pub(crate) asked_last: Option<u64>,
    /// Since when it has a place in the queue.
    pub(crate) queued: Option<u64>,
    /// Whether its execution ended while it had a place in the queue.
    pub(crate) died_waiting: bool,
    /// When an answer last said whether it has its lease.
    pub(crate) answered: u64,
    /// Whether its execution is in a Parallel state, which contains the states of its work.
    pub(crate) in_parallel: bool,
    /// Whether its own release was answered, or an answer said that its lease is lost.
    pub(crate) gone: bool,
    /// Whether it has asked to release its grant.
    pub(crate) releasing: bool,
    /// Whether an answer said that its own release was done.
    pub(crate) released: bool,
    /// Whether it has reported that its work is being stopped.
    pub(crate) stopping: bool,
    /// Whether its work is done, as far as the run knows.
    pub(crate) done: bool,
    /// Whether its work has succeeded.
    pub(crate) succeeded: bool,
    /// Whether the success of its states or of its process was answered.
    pub(crate) confirmed: bool,
}

impl Terms {
    /// Reads the input of an execution, or the request of a process.
    pub(crate) fn read(input: &Value) -> Option<Self> {
        let millis = |field: &str| input[field].as_u64().map(|seconds| seconds * 1000);
        let text = |field: &str, default: &str| {
            let given = input[field].as_str();
            given.unwrap_or(default).to_owned()
        };
        Some(Self {
            lock: LockKey::new(input["lock"].as_str()?).ok()?,
            permits: usize::try_from(input["permits"].as_u64().unwrap_or(1)).ok()?,
            overlap: text("overlap", "skip"),
            policy: text("stalePolicy", "terminate"),
            run_key: input["runKey"].as_str().map(str::to_owned),
            max_run: millis("maxRunSeconds"),
            no_progress: millis("noProgressSeconds"),
            min_interval: millis("minIntervalSeconds").unwrap_or_default(),
            wait: millis("waitSeconds"),
        })
    }
}

impl RunFacts {
    pub(crate) fn of(terms: Terms) -> Self {
        Self {
            terms,
            asked: None,
            asked_last: None,
            grant: None,
            learned: None,
            unconfirmed: false,
            confirmed_late: None,
            waits_until: 0,
            lease: 0,
            from_begin: false,
            released_at: None,
            lease_until: 0,
            promised: 0,
            asks: false,
            queued: None,
            died_waiting: false,
            answered: 0,
            in_parallel: false,
            gone: false,
            releasing: false,
            released: false,
            stopping: false,
            done: false,
            succeeded: false,
            confirmed: false,
        }
    }

    /// Returns whether its lease is good at `now`, by the answers that it got.
    pub(crate) fn has_lease(&self, now: u64) -> bool {
        now < self.lease_until
    }

    /// Returns whether it has exceeded the time limits of its own terms.
    pub(crate) fn is_over_time(&self, now: u64) -> bool {
        let most = [self.terms.max_run, self.terms.no_progress];
        let most = most.into_iter().flatten().min();
        let granted = self.grant.map(|(_, granted)| granted);
        // A run that learned of its grant after the lease was over has its time from the end of the
        // lease.
        let learned = granted.zip(self.learned);
        // A repetition within a second does not restart the limits (0052), and clocks differ by a
        // second.
        let learned = learned.filter(|(granted, at)| *at > granted + 2000);
        let learned = learned.map(|(granted, at)| at.min(granted + self.lease));
        // The clock of the grant may be a second behind.
        let begun = learned.filter(|_| self.from_begin).or(granted);
        let since = begun.map(|begun| now + 1000 - begun.min(now));
        most.is_some_and(|most| since.unwrap_or_default() >= most)
    }

    /// Returns whether it lost its permit under a policy that lets it work on.
    pub(crate) fn has_yielded(&self, now: u64) -> bool {
        self.terms.policy == "yield" && (!self.has_lease(now) || self.is_over_time(now))
    }

    fn granted(&mut self, answer: &Value, at: u64) {
        let token = answer["grant"]["token"].as_u64().unwrap_or_default();
        let token = FencingToken::from_number(token);
        self.learns(token, at);
        (self.unconfirmed, self.confirmed_late) = (false, None);
        // A token is the time of its grant. A waiter may learn of the grant later.
        let at = at.min(token.granted_at().millis());
        let known = self.grant.filter(|(known, _)| *known == token);
        self.grant = known.or(Some((token, at)));
        let lease = answer["leaseSeconds"].as_u64().unwrap_or_default();
        self.lease = lease * 1000;
        (self.asks, self.queued) = (false, None);
        (self.gone, self.releasing) = (false, false);
        self.released_at = None;
        self.promised(answer);
    }

    fn promised(&mut self, answer: &Value) {
        let until = answer["expiresAt"].as_str();
        let until = until.and_then(|text| parse_time("expiresAt", text).ok());
        let until = until.map_or(0, |time| time.millis());
        self.lease_until = self.lease_until.max(until);
        self.promised = self.promised.max(until);
    }
}

impl World {
    /// Returns whether `is` holds for the run of `holder`.
    pub(crate) fn run_is(&self, holder: &HolderId, is: impl Fn(&RunFacts) -> bool) -> bool {
        locked(&self.witness).runs.get(holder).is_some_and(is)
    }
}

/// Notes a call of a function with `event`.
pub(crate) fn asked(world: &World, function: Function, event: &Value) {
    let mut witness = locked(&world.witness);
    let run = holder_in(function, event).and_then(|holder| witness.runs.get_mut(&holder));
    let Some(run) = run else {
        return;
    };
    if function == Function::Release && event["outcome"] == "stopping" {
        run.stopping = true;
    } else if function == Function::Acquire && waits(event) {
        run.asks = true;
        run.asked = run.asked.or(Some(world.now()));
        run.asked_last = Some(world.now());
    }
}

/// Returns the holder that a request names.
fn holder_in(function: Function, event: &Value) -> Option<HolderId> {
    let holder = match function {
        Function::Acquire => &event["holder"],
        Function::Heartbeat | Function::Release => &event["grant"]["holder"],
        Function::Reaper | Function::Operate | Function::Work => return None,
    };
    HolderId::new(holder.as_str()?).ok()
}

/// Notes the answer of a function that was called with `event` at `called`.
pub(crate) fn answered(
    world: &World,
    function: Function,
    event: &Value,
    called: u64,
    answer: &Result<Value, Failure>,
) {
    let Some(holder) = holder_in(function, event) else {
        return;
    };
    let now = world.now();
    if world.run_is(&holder, |_| true)
        && let Err(failure) = answer
        && failure.error == "Lockstep.InvalidRequest"
    {
        // The user's input keeps to the contract, so the requests of the definition have to.
        world.break_promise(format!("{event}: {failure:?}"));
    }
    let is_refused = |failure: &Failure| failure.error == "Lockstep.LeaseLost";
    if function == Function::Heartbeat && answer.as_ref().is_err_and(is_refused) {
        refuses(world, &holder);
    }
    if function == Function::Release && answer.is_ok() && event["outcome"] == "succeeded" {
        released(world, &holder, called);
        if let (Some(lock), Ok(answer)) = (event["grant"]["lock"].as_str(), answer) {
            let lock = LockKey::new(lock).expect("a valid lock");
            missing::answered(world, &lock, called, answer);
        }
    }
    let cloud = locked(&world.cloud);
    let redriven = cloud.execution_of(&holder).and_then(|row| row.redriven);
    let is_of_before = redriven.is_some_and(|at| called < at);
    let has_ended = cloud.runs(&holder) == Some(false) || is_of_before;
    drop(cloud);
    let mut witness = locked(&world.witness);
    let Some(run) = witness.runs.get_mut(&holder) else {
        return;
    };
    let of_lease = |answer: &Value| answer["expiresAt"].is_string();
    if function != Function::Acquire && answer.is_ok() || answer.as_ref().is_ok_and(of_lease) {
        run.answered = now;
    }
    match (function, answer) {
        (Function::Acquire, Ok(answer)) => match answer["status"].as_str() {
            Some("granted" | "alreadyHeld") => run.granted(answer, called),
            // A call that ran twice may ask for a run that is over, or whose release got no answer.
            Some("queued") if run.gone || run.releasing => {}
            // A call that was under way at the turn of the run is answered after it.
            Some("queued") if run.learned.is_some_and(|at| at >= called) => {}
            Some("queued") => run.queued = run.queued.or(Some(now)),
            // A call that does not wait may run twice, and be answered when the run already waits.
            Some(_) if waits(event) => (run.asks, run.queued) = (false, None),
            _ => {}
        },
        // A heartbeat that was under way at the end of the execution brings nothing back.
        (Function::Heartbeat, Ok(_)) if has_ended => {}
        (Function::Heartbeat, Ok(answer)) if answer["status"] == "ended" => end_claim(run, now),
        (Function::Heartbeat, Ok(answer)) => {
            run.gone = false;
            if std::mem::take(&mut run.unconfirmed) {
                run.confirmed_late = Some(now);
            }
            run.promised(answer);
        }
        (Function::Release, Ok(answer)) => {
            run.released |= answer["status"] == "released";
            let ended = answer["status"] == "released" && event["outcome"] != "stopping";
            run.released_at = run.released_at.or(ended.then_some(now));
            run.promised = run.promised.min(now);
            end_claim(run, now);
        }
        (Function::Heartbeat, Err(failure)) if failure.error == "Lockstep.LeaseLost" => {
            end_claim(run, now);
        }
        _ => {}
    }
}

/// Notes that SendTaskSuccess ended a state of `execution` with `output`.
pub(crate) fn woken(world: &World, execution: &ExecutionArn, output: &Value) {
    if !matches!(output["status"].as_str(), Some("granted" | "alreadyHeld")) {
        return;
    }
    world.count("woken");
    if let Some(run) = locked(&world.witness).runs.get_mut(&holder_of(execution)) {
        run.granted(output, world.now());
        run.unconfirmed = true;
    }
}

/// Notes that Lambda runs an invocation twice.
pub(crate) fn doubled(world: &World, function: Function, event: &Value) {
    let mut witness = locked(&world.witness);
    let run = holder_in(function, event).and_then(|holder| witness.runs.get_mut(&holder));
    if let Some(run) = run.filter(|_| function == Function::Heartbeat) {
        let lease = event["leaseSeconds"].as_u64().unwrap_or_default() * 1000;
        let ends = world.now() + lease.max(run.lease);
        run.waits_until = run.waits_until.max(ends);
    }
}

/// Notes that an execution enters a state, a Parallel or another one.
pub(crate) fn entered(world: &World, execution: &ExecutionArn, is_parallel: bool) {
    if let Some(run) = locked(&world.witness).runs.get_mut(&holder_of(execution)) {
        run.in_parallel = is_parallel;
    }
}

/// Notes that an execution has ended: it keeps no lease and waits for nothing.
pub(crate) fn execution_ended(world: &World, execution: &ExecutionArn) {
    if let Some(run) = locked(&world.witness).runs.get_mut(&holder_of(execution)) {
        run.lease_until = run.lease_until.min(world.now());
        // After a redrive, the run waits on in the same place.
        run.died_waiting |= run.queued.take().is_some();
    }
}

/// Returns whether a request asks acquire-lock for a place in the queue, of a full lock or of a
/// paused one.
pub(crate) fn waits(event: &Value) -> bool {
    let when_full = matches!(event["overlap"].as_str(), Some("queue" | "replace"));
    let when_paused = event["onPaused"] == "wait" || event["catchUp"] == "once";
    when_full || when_paused || event["taskToken"].is_string()
}

fn end_claim(run: &mut RunFacts, now: u64) {
    run.lease_until = run.lease_until.min(now);
    run.gone = true;
}
