//! Many worlds: none may break a promise, and everything that can happen must have happened.
//!
//! A seed determines everything in its world. Without that, no failure could be repeated.

use crate::engine::locked;
use crate::pairs::{self, Worlds};
use crate::run::{Report, live_through};
use crate::shares::{self, Of, Sums};
use crate::witness::Excuse;
use crate::world::Tally;
use lockstep::config::variable;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Number of worlds by default.
const SEEDS: u64 = 1000;

/// After this many broken worlds, no more are needed.
const SHOWN: usize = 3;

/// What must happen, or the worlds test too little. How often follows from [`shares`].
const OFTEN: [&str; 54] = [
    "grants",
    "hand-overs",
    "woken",
    "hand-overs by a process",
    "sent away by a process",
    "went first",
    "registered again",
    "recoveries",
    "replaced",
    "reinstated",
    "redriven",
    "ended while releasing",
    "lost",
    "evicted",
    "successes reported as missing",
    "clear-rest",
    "forget",
    "run keys free again",
    "duplicates",
    "gave up",
    "leases lost",
    "successes of run keys",
    "processes paused",
    "processes gone",
    "zombies refused",
    "stops: replaced",
    "stops: the execution has ended",
    "queues checked",
    "lost answers",
    "late writes",
    "busy",
    "functions cut off",
    "wake-ups lost",
    "wake-ups late",
    "wake-ups twice",
    "events lost",
    "invocations during a deployment",
    "invocations throttled",
    "requests to a table that is away",
    "states scheduled late",
    "old answers of ECS",
    "tasks that stop late",
    "tasks left behind by a time-out",
    "answers of RunTask lost",
    "starts delivered twice",
    "retries of a caller",
    "writes sent twice",
    "requests for evidence that is hidden",
    "requests for evidence that fail",
    "descriptions that take seconds",
    "requests to a function before its upgrade",
    "orders to stop ignored",
    "alerts of missing evidence",
    "locks watched while evidence is hidden",
];

/// What excuses a run. How often at most follows from [`shares`].
const EXCUSES: [&str; 17] = [
    Excuse::LateRegistration.name(),
    Excuse::KeyInQueue.name(),
    Excuse::LateHeartbeat.name(),
    Excuse::Evicted.name(),
    Excuse::Forgotten.name(),
    Excuse::Yielded.name(),
    Excuse::Redriven.name(),
    Excuse::RedrivenMeanwhile.name(),
    Excuse::ReplacerJustEnded.name(),
    Excuse::Process.name(),
    Excuse::LastStep.name(),
    Excuse::BehindRunKey.name(),
    Excuse::RetryBehindQueue.name(),
    "stops: was replaced",
    "stops: an unknown run",
    "stops: it has reported the end of its work, which has ended",
    "stops: redriven while judged by its end",
];

#[test]
fn no_seed_breaks_a_promise() {
    let Some((worlds, total)) = lived() else {
        return;
    };
    let seeds = worlds.end - worlds.start;

    println!("{seeds} worlds: {:#?}", total.tally);
    for broken in &total.broken {
        eprintln!("{}\n", failure(broken));
    }
    assert!(total.broken.is_empty(), "promises are broken");
    if variable("LOCKSTEP_SHARES").is_some_and(|word| word == "accept") {
        let often = OFTEN.map(|name| (name, Of::Worlds));
        let excuses = EXCUSES.map(|name| (name, Of::Times));
        let names: Vec<_> = often.into_iter().chain(excuses).collect();
        shares::write(&total.sums, &names, seeds);
        pairs::write(&total.worlds, seeds);
    }
    assert_often(&total, seeds);
    let (wrong, asserted) = pairs::check(&total.worlds, seeds);
    println!("{asserted} pairs with events must occur");
    assert!(
        wrong.is_empty(),
        "tests/simulation/pairs.md says otherwise:\n{}",
        wrong.join("\n")
    );
}

/// Asserts that everything of `OFTEN` has happened, and that no excuse exceeds its bound.
fn assert_often(total: &Total, worlds: u64) {
    let bounds = |what: &str| {
        let share = shares::known(what);
        share
            .unwrap_or_else(|| panic!("{what} is not in tests/simulation/shares.md"))
            .bounds(worlds)
    };
    for what in OFTEN {
        let (times, (least, _)) = (total.sums.of(what, Of::Worlds), bounds(what));
        assert!(
            times >= least,
            "{what}: in {times} worlds, but {least} expected"
        );
    }
    for what in EXCUSES {
        let (times, (_, most)) = (total.sums.of(what, Of::Times), bounds(what));
        assert!(times <= most, "{what}: {times}, but {most} allowed");
    }
}

/// Plays the worlds that the environment asks for. A single seed is shown, and returns `None`.
fn lived() -> Option<(Range<u64>, Total)> {
    let only = variable("LOCKSTEP_SEED").map(|seed| number("LOCKSTEP_SEED", &seed));
    if let Some(seed) = only {
        println!("seed: LOCKSTEP_SEED={seed}");
        let report = live_through(seed);
        print!("{}", report.trace);
        println!("{:?}", report.tally);
        assert!(report.broken.is_none(), "{}", failure(&report));
        return None;
    }
    let worlds = variable("LOCKSTEP_SEEDS").map_or(0..SEEDS, |text| range(&text));
    let total = live_through_all(worlds.clone());
    Some((worlds, total))
}

/// The sums over all seeds.
#[derive(Default)]
struct Total {
    tally: Tally,
    sums: Sums,
    worlds: Worlds,
    broken: Vec<Report>,
}

fn number(name: &str, text: &str) -> u64 {
    text.parse()
        .unwrap_or_else(|_| panic!("{name} is {text:?}, but must be a whole number"))
}

/// Returns the worlds of `LOCKSTEP_SEEDS`: a number of them, or a range, with which an interrupted
/// run goes on.
fn range(text: &str) -> Range<u64> {
    let (from, to) = text.split_once("..").unwrap_or(("0", text));
    let worlds = number("LOCKSTEP_SEEDS", from)..number("LOCKSTEP_SEEDS", to);
    assert!(
        !worlds.is_empty(),
        "LOCKSTEP_SEEDS is {text:?}, but must have a world"
    );
    worlds
}

/// Plays the worlds of a range, on as many threads as the machine has, until `SHOWN` of them are
/// broken.
fn live_through_all(seeds: Range<u64>) -> Total {
    let next = AtomicU64::new(seeds.start);
    let total = Mutex::new(Total::default());
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end || locked(&total).broken.len() >= SHOWN {
                return;
            }
            let report = live_through(seed);
            if seed % 1000 == 999 {
                println!("{} of {} worlds", seed + 1, seeds.end);
            }
            let mut total = locked(&total);
            total.sums.add(&report.tally);
            total.worlds.add(&report.met);
            for (what, times) in &report.tally {
                *total.tally.entry(what).or_default() += times;
            }
            if report.broken.is_some() {
                total.broken.push(report);
            }
        }
    };
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let mut total = total.into_inner().unwrap_or_default();
    total.broken.sort_by_key(|report| report.seed);
    total
}

/// Returns how to play a broken world again, and how it ended.
fn failure(report: &Report) -> String {
    let lines: Vec<_> = report.trace.lines().collect();
    let tail = lines[lines.len().saturating_sub(60)..].join("\n");
    let (seed, broken) = (report.seed, report.broken.as_deref().unwrap_or_default());
    format!("failing seed {seed}: rerun with LOCKSTEP_SEED={seed}\n{tail}\n{broken}")
}

#[test]
fn one_seed_always_gives_the_same_trace() {
    for seed in 1..=20 {
        let first = live_through(seed);
        let second = live_through(seed);

        assert!(first.trace == second.trace, "seed {seed} gives two traces");
        let lines = first.trace.lines().count();
        assert!(lines > 20, "seed {seed} tells nothing");
    }
}

#[test]
fn one_seed_gives_the_same_trace_on_every_thread() {
    let here: Vec<_> = (1..=10).map(|seed| live_through(seed).trace).collect();

    let there = |seed| thread::spawn(move || live_through(seed).trace);
    let threads: Vec<_> = (1..=10).map(there).collect();
    let there = threads.into_iter().map(|thread| thread.join().unwrap());

    assert!(here.into_iter().eq(there));
}

#[test]
fn another_seed_gives_another_trace() {
    assert_ne!(live_through(1).trace, live_through(2).trace);
}
