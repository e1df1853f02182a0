//! Many worlds: none may break a promise, and everything that can happen must have happened.
//!
//! The simulation is worth something only if a seed tells the whole story.

use crate::engine::locked;
use crate::run::{Report, live_through};
use crate::witness::Excuse;
use crate::world::Tally;
use lockstep::config::variable;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Number of worlds by default.
const SEEDS: u64 = 1000;

/// After so many broken worlds, no more are needed.
const SHOWN: usize = 3;

/// How many of each there must be in a thousand worlds, or the worlds test too little.
const AT_LEAST: [(&str, u64); 44] = [
    ("grants", 8000),
    ("hand-overs", 2500),
    ("woken", 2000),
    ("hand-overs by a process", 200),
    ("sent away by a process", 8),
    ("went first", 400),
    ("registered again", 800),
    ("recoveries", 600),
    ("replaced", 300),
    ("reinstated", 20),
    ("redriven", 700),
    ("ended while releasing", 300),
    ("lost", 350),
    ("evicted", 180),
    ("successes reported as missing", 100),
    ("clear-rest", 350),
    ("forget", 550),
    ("run keys free again", 120),
    ("duplicates", 800),
    ("gave up", 120),
    ("leases lost", 400),
    ("successes of run keys", 1200),
    ("processes paused", 300),
    ("processes gone", 100),
    ("zombies refused", 50),
    ("stops: replaced", 250),
    ("stops: the execution has ended", 1000),
    ("queues checked", 2000),
    ("lost answers", 2000),
    ("late writes", 350),
    ("busy", 800),
    ("functions cut off", 2500),
    ("wake-ups lost", 400),
    ("wake-ups late", 400),
    ("wake-ups twice", 250),
    ("events lost", 2500),
    ("invocations during a deployment", 1000),
    ("invocations throttled", 3000),
    ("requests to a table that is away", 10_000),
    ("states scheduled late", 250),
    ("old answers of ECS", 400),
    ("tasks that stop late", 350),
    ("tasks left behind by a time-out", 80),
    ("answers of RunTask lost", 30),
];

/// How many runs may be excused in a thousand worlds, by reason.
const AT_MOST: [(Excuse, u64); 10] = [
    (Excuse::LateRegistration, 400),
    (Excuse::Evicted, 60),
    (Excuse::Forgotten, 80),
    (Excuse::Yielded, 250),
    (Excuse::Redriven, 20),
    (Excuse::RedrivenMeanwhile, 5),
    (Excuse::ReplacerJustEnded, 5),
    (Excuse::Process, 500),
    (Excuse::LastStep, 5),
    (Excuse::BehindRunKey, 5),
];

#[test]
fn no_seed_breaks_a_promise() {
    let only = variable("LOCKSTEP_SEED").map(|seed| number("LOCKSTEP_SEED", &seed));
    if let Some(seed) = only {
        println!("seed: LOCKSTEP_SEED={seed}");
        let report = live_through(seed);
        print!("{}", report.trace);
        println!("{:?}", report.tally);
        assert!(report.broken.is_none(), "{}", failure(&report));
        return;
    }
    let worlds = variable("LOCKSTEP_SEEDS").map_or(0..SEEDS, |text| range(&text));
    let seeds = worlds.end - worlds.start;

    let total = live_through_all(worlds);

    println!("{seeds} worlds: {:#?}", total.tally);
    for broken in &total.broken {
        eprintln!("{}\n", failure(broken));
    }
    assert!(total.broken.is_empty(), "promises are broken");
    let times = |what: &str| total.tally.get(what).copied().unwrap_or_default();
    for (what, least) in AT_LEAST {
        let (times, least) = (times(what), least * seeds / SEEDS);
        assert!(times >= least, "{what}: {times}, but {least} expected");
    }
    for (excuse, most) in AT_MOST {
        let (name, most) = (excuse.name(), (most * seeds).div_ceil(SEEDS));
        let times = times(name);
        assert!(times <= most, "{name}: {times}, but {most} allowed");
    }
}

/// What came of all seeds.
#[derive(Default)]
struct Total {
    tally: Tally,
    broken: Vec<Report>,
}

fn number(name: &str, text: &str) -> u64 {
    text.parse()
        .unwrap_or_else(|_| panic!("{name} is {text:?}, but must be a whole number"))
}

/// The worlds of `LOCKSTEP_SEEDS`: so many, or those of a range, with which a run that was interrupted goes on.
fn range(text: &str) -> Range<u64> {
    let (from, to) = text.split_once("..").unwrap_or(("0", text));
    let worlds = number("LOCKSTEP_SEEDS", from)..number("LOCKSTEP_SEEDS", to);
    assert!(
        !worlds.is_empty(),
        "LOCKSTEP_SEEDS is {text:?}, but must have a world"
    );
    worlds
}

/// Lives through the worlds of a range, on as many threads as there are, until some are broken.
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

/// What is worth knowing of a world that broke a promise: how to live through it again, and how it
/// ended.
fn failure(report: &Report) -> String {
    let lines: Vec<_> = report.trace.lines().collect();
    let tail = lines[lines.len().saturating_sub(60)..].join("\n");
    let (seed, broken) = (report.seed, report.broken.as_deref().unwrap_or_default());
    format!("failing seed {seed}: rerun with LOCKSTEP_SEED={seed}\n{tail}\n{broken}")
}

#[test]
fn a_seed_always_tells_the_same_story() {
    for seed in 1..=20 {
        let first = live_through(seed);
        let second = live_through(seed);

        assert!(first.trace == second.trace, "seed {seed} gives two traces");
        let lines = first.trace.lines().count();
        assert!(lines > 20, "seed {seed} tells nothing");
    }
}

#[test]
fn a_seed_tells_the_same_story_on_every_thread() {
    let here: Vec<_> = (1..=10).map(|seed| live_through(seed).trace).collect();

    let there = |seed| thread::spawn(move || live_through(seed).trace);
    let threads: Vec<_> = (1..=10).map(there).collect();
    let there = threads.into_iter().map(|thread| thread.join().unwrap());

    assert!(here.into_iter().eq(there));
}

#[test]
fn another_seed_tells_another_story() {
    assert_ne!(live_through(1).trace, live_through(2).trace);
}
