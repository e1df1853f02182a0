//! Histories of concurrent clients on a failing wire, judged by `tests/linear/check`, which shares no code with the
//! product.

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
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use transport::{Line, Tally, Transport, Weather};

/// The locks, with their permits.
const LOCKS: [(&str, i64); 3] = [("mutex", 1), ("pair", 2), ("triple", 3)];

/// Clients of a history, beside the sweep.
const CLIENTS: usize = 12;

/// Largest skew of a clock in milliseconds, which docs/guarantees.md names.
const SKEW: i64 = 1000;

/// How long one history lasts, in real time.
const LENGTH: Duration = Duration::from_secs(4);

/// How long a history with a planted fault lasts.
const SHORT: Duration = Duration::from_millis(1200);

/// Time of the histories of the gate together, in seconds. `LOCKSTEP_SECONDS` sets another one.
const SECONDS: u64 = 8;

/// What has to come up in the histories of the gate: one that met no fault and no loss has shown nothing.
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

    for seed in first.. {
        let history = play(seed, Weather::Rough, LENGTH, &tally).await;

        let checked = check(&history);
        println!("LOCKSTEP_SEED={seed}: {}", shown(&checked));
        assert!(
            checked.status.success(),
            "LOCKSTEP_SEED={seed}: {}",
            shown(&checked)
        );
        if SystemClock.now().millis_since(begin) >= most {
            break;
        }
    }

    let tally = tally.lock().unwrap();
    println!("{tally:#?}");
    let unmet: Vec<_> = MET
        .iter()
        .filter(|what| !tally.contains_key(**what))
        .collect();
    assert!(unmet.is_empty(), "did not come up: {unmet:?}");
}

/// On a wire that does not fail, so that nothing but the fault can be found.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_checker_finds_each_planted_fault() {
    let mut missed = Vec::new();
    let faults = Planted::ALL.map(Some);

    for fault in [None].into_iter().chain(faults) {
        let tally = Arc::<Tally>::default();
        let history = play(1, Weather::Calm(fault), SHORT, &tally).await;

        let checked = check(&history);
        let first: Vec<_> = shown(&checked).lines().take(2).map(str::to_owned).collect();
        println!("{fault:?}: {}", first.join("\n"));
        if checked.status.code() != Some(fault.is_some().into()) {
            missed.push(fault);
        }
    }

    assert!(missed.is_empty(), "judged wrongly: {missed:?}");
}

/// Plays the history of `seed` and returns the file that it is written to.
async fn play(seed: u64, weather: Weather, length: Duration, tally: &Arc<Tally>) -> PathBuf {
    let table = Table::new("linear").await;
    let settings = sdk_config(table.endpoint).await;
    let (time, mut dice) = (TrueTime::begin(), Rng::with_seed(seed));
    let planted = weather.planted();
    let recorder = Arc::new(Recorder::of(&LOCKS, SKEW));
    let mischief = Arc::new(Mischief::of(planted));
    let end = time.after(length);
    let mut running = JoinSet::new();
    for number in 0..=CLIENTS {
        let mut dice = dice.fork();
        let skew = dice.i64(-SKEW..=SKEW);
        let clock = ClientClock {
            time,
            skew: planted.map_or(skew, |planted| planted.skew(number, skew)),
        };
        let none = UnderWay::none(time);
        let line = Line::new(dice.fork(), weather, Arc::clone(tally), none);
        let line = Arc::new(line);
        let client = Client {
            number,
            deps: deps(&settings, &table, Arc::clone(&line), clock),
            line,
            recorder: Arc::clone(&recorder),
            mischief: Arc::clone(&mischief),
            dice,
        };
        match number {
            CLIENTS => drop(running.spawn(client.sweep(end))),
            _ => drop(running.spawn(async move { client.work(&LOCKS, end).await })),
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

/// The functions of a client, whose requests travel on `line`.
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
        metrics: Metrics::new(NoLines, false),
        table: "locks".into(),
        retention: RETENTION,
        run_events: false,
    }
}

/// Has the checker judge a history.
fn check(history: &Path) -> Output {
    let checker = repository().join("tests/linear/check");
    Command::new(checker)
        .arg(history)
        .output()
        .expect("python3")
}

fn shown(checked: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    let parts = [text(&checked.stdout), text(&checked.stderr)];
    parts.join("\n").trim().to_owned()
}
