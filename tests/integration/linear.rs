//! Histories of concurrent clients on a failing wire. `tests/linear/check` judges them, and shares
//! no code with the product.

mod client;
mod clock;
mod planted;
mod recorder;
mod transport;

use crate::fixture::NoLines;
use aws_config::SdkConfig;
use aws_sdk_dynamodb::Client as Dynamo;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use client::{Client, Ports};
use clock::{ClientClock, TrueTime};
use fastrand::Rng;
use futures_util::{StreamExt, stream};
use lockstep::clock::{Clock, SystemClock};
use lockstep::config::variable;
use lockstep::events::memory::MemoryEvents;
use lockstep::executions::memory::MemoryExecutions;
use lockstep::protocol::Protocol;
use lockstep::service::Deps;
use lockstep::store::dynamodb::DynamoStore;
use lockstep::tasks::memory::MemoryTasks;
use lockstep::telemetry::Metrics;
use lockstep::testing::RETENTION;
use lockstep_tests::dynamodb_local::Table;
use lockstep_tests::{repository, sdk_config};
use planted::{Mischief, Planted};
use recorder::{Recorder, UnderWay};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Arc;
use std::time::Duration;
use tokio::process::Command;
use tokio::task::JoinSet;
use transport::{Line, Roughness, Tally, Transport};

/// The locks and their permits.
const LOCKS: [(&str, i64); 3] = [("mutex", 1), ("pair", 2), ("triple", 3)];

/// How many clients a history has, beside the sweep.
const CLIENTS: usize = 12;

/// The largest skew of a clock in milliseconds that docs/guarantees.md allows.
const SKEW: i64 = 1000;

/// How long one history lasts, in real time.
const LENGTH: Duration = Duration::from_secs(4);

/// How long a history with a planted fault lasts.
const SHORT: Duration = Duration::from_millis(1500);

/// Most steps of the checker: some ten times as many as a legal history takes.
const MOST_STEPS: &str = "3000000";
/// Most steps for a history with a planted fault: the fault may show in another history.
const FEW_STEPS: &str = "50000";

/// In how many histories a planted fault has to show at most.
const SEEDS: u64 = 6;

/// How many seconds the histories of the gate take together. `LOCKSTEP_SECONDS` sets another time.
const SECONDS: u64 = 8;

/// What has to come up in the histories of the gate: histories without faults and losses show
/// nothing.
const MET: [&str; 15] = [
    "RequestLost",
    "ResponseLost",
    "Late",
    "Twice",
    "Slow",
    "acquire granted",
    "acquire alreadyHeld",
    "acquire queued",
    "acquire skipped",
    "acquire gaveUp",
    "acquire unknown",
    "heartbeat renewed",
    "heartbeat Lockstep.LeaseLost",
    "release released",
    "release lost",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn histories_on_a_failing_wire_have_a_legal_order() {
    let number = |name, usual: u64| variable(name).map_or(usual, |text| text.parse().unwrap());
    let first = number("LOCKSTEP_SEED", SystemClock.now().millis());
    let most = 1000 * number("LOCKSTEP_SECONDS", SECONDS);
    let (begin, tally) = (SystemClock.now(), Arc::<Tally>::default());

    let mut undecided = 0;
    for seed in first.. {
        let history = play(seed, Weather::Rough, LENGTH, &tally).await;

        let checked = check(&history, MOST_STEPS).await;
        println!("LOCKSTEP_SEED={seed}: {}", shown(&checked));
        match checked.status.code() {
            Some(0) => std::fs::remove_file(&history).unwrap(),
            // The file is kept, for a search with more steps.
            Some(2) => undecided += 1,
            _ => panic!("LOCKSTEP_SEED={seed}"),
        }
        let bound = 1 + (seed - first) / 10;
        assert!(
            undecided <= bound,
            "{undecided} histories without a verdict"
        );
        let (took, unmet) = (SystemClock.now().millis_since(begin), unmet(&tally));
        // A busy machine does less in the same time.
        if took >= most && (unmet.is_empty() || took >= 4 * most) {
            println!("{:#?}", tally.lock().unwrap());
            assert!(unmet.is_empty(), "did not come up: {unmet:?}");
            break;
        }
    }
}

/// Returns what has to come up and did not.
fn unmet(tally: &Tally) -> Vec<&'static str> {
    let met = tally.lock().unwrap();
    MET.into_iter()
        .filter(|what| !met.contains_key(*what))
        .collect()
}

/// The wire does not fail, so only the planted fault can be found. The first history has no fault.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_checker_finds_each_planted_fault() {
    let faults = [None].into_iter().chain(Planted::ALL.map(Some));

    let judged = stream::iter(faults).map(find).buffered(3);
    let judged: Vec<_> = judged.collect().await;

    let missed: Vec<_> = judged
        .iter()
        .filter(|(fault, found)| fault.is_some() != *found)
        .collect();
    assert!(missed.is_empty(), "judged wrongly: {missed:?}");
}

/// Returns whether the checker finds a history with `fault` illegal, under one of a few seeds.
async fn find(fault: Option<Planted>) -> (Option<Planted>, bool) {
    for seed in 1..=SEEDS {
        let tally = Arc::<Tally>::default();
        let history = play(seed, Weather::Calm(fault), SHORT, &tally).await;
        let checked = check(&history, FEW_STEPS).await;
        let first: Vec<_> = shown(&checked).lines().take(2).map(str::to_owned).collect();
        println!("{fault:?}, seed {seed}: {}", first.join("\n"));
        match checked.status.code() {
            // Legal, or no verdict.
            Some(0 | 2) if fault.is_some() => {}
            code => return (fault, code == Some(1)),
        }
    }
    (fault, false)
}

/// What the clients of a history meet.
#[derive(Clone, Copy, Debug)]
enum Weather {
    /// The wire fails.
    Rough,
    /// Nothing fails except the planted fault.
    Calm(Option<Planted>),
}

/// Plays the history of `seed`, and returns the path of the file with its operations.
async fn play(seed: u64, weather: Weather, length: Duration, tally: &Arc<Tally>) -> PathBuf {
    let table = Table::new("linear").await;
    let settings = sdk_config(table.endpoint).await;
    let (time, mut dice) = (TrueTime::begin(), Rng::with_seed(seed));
    let (planted, roughness, silence) = match weather {
        Weather::Rough => (None, Roughness::drawn(&mut dice), dice.u8(2..8)),
        Weather::Calm(planted) => (planted, Roughness::default(), 2),
    };
    let recorder = Arc::new(Recorder::of(&LOCKS, SKEW));
    let mischief = Arc::new(Mischief::of(planted));
    let end = time.after(length);
    let mut running = JoinSet::new();
    for number in 0..=CLIENTS {
        let mut dice = dice.fork();
        let skew = dice.i64(-SKEW..=SKEW);
        let skew = match planted.filter(|_| number == CLIENTS) {
            Some(planted) => planted.skew_of_sweep(skew),
            None => skew,
        };
        let clock = ClientClock { time, skew };
        let none = UnderWay::none(time);
        let line = Line::new(dice.fork(), planted, roughness, Arc::clone(tally), none);
        let line = Arc::new(line);
        let client = Client {
            number,
            deps: deps(&settings, &table, Arc::clone(&line), clock),
            line,
            recorder: Arc::clone(&recorder),
            mischief: Arc::clone(&mischief),
            dice,
            silence,
            end,
        };
        match number {
            CLIENTS => drop(running.spawn(client.sweep())),
            _ => drop(running.spawn(client.work(&LOCKS))),
        }
    }
    running.spawn(disturb(mischief, table, time, end));
    running.join_all().await;
    let history = Arc::into_inner(recorder).expect("all clients have ended");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let name = planted.map_or_else(|| "history".into(), |planted| format!("{planted:?}"));
    let path = folder.join(format!("{name}-{seed}.jsonl"));
    std::fs::write(&path, history.finish().await).unwrap();
    path
}

/// Applies the faults of the table until `end`.
async fn disturb(mischief: Arc<Mischief>, table: Table, time: TrueTime, end: u64) {
    let client = table.client().await;
    while mischief.planted.is_some() && time.micros() < end {
        for (lock, _) in LOCKS {
            mischief.disturb(&client, &table.name, lock).await;
        }
        SystemClock.sleep(Duration::from_millis(50)).await;
    }
}

/// Returns the functions of a client whose requests travel on `line`.
fn deps(settings: &SdkConfig, table: &Table, line: Arc<Line>, clock: ClientClock) -> Deps<Ports> {
    let wire = settings.http_client().expect("a client of the functions");
    let transport = Transport { wire, line };
    let retries = RetryConfig::standard()
        .with_max_attempts(3)
        .with_initial_backoff(Duration::from_millis(5));
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(5))
        .operation_attempt_timeout(Duration::from_millis(500))
        .operation_timeout(Duration::from_secs(1));
    let config = aws_sdk_dynamodb::config::Builder::from(settings)
        .endpoint_url(table.endpoint)
        .http_client(transport)
        .retry_config(retries)
        .timeout_config(timeouts.build());
    let store = DynamoStore::new(Dynamo::from_conf(config.build()), table.name.clone());
    let seed = clock.skew.unsigned_abs();
    Deps {
        protocol: Protocol::new(store, clock, seed),
        executions: MemoryExecutions::default(),
        tasks: MemoryTasks::default(),
        events: MemoryEvents::default(),
        metrics: Metrics::new(NoLines, "locks", false),
        table: "locks".into(),
        retention: RETENTION,
        run_events: false,
    }
}

/// Runs the checker on a history, for at most `steps` steps.
async fn check(history: &Path, steps: &str) -> Output {
    let mut checker = Command::new(repository().join("tests/linear/check"));
    let judged = checker.arg(history).args(["--steps", steps]).output();
    judged.await.expect("python3")
}

fn shown(checked: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    let parts = [text(&checked.stdout), text(&checked.stderr)];
    parts.join("\n").trim().to_owned()
}
