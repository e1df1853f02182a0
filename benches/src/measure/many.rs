//! Many locks, each acquired and released once, at a table that throttles by partition key.

use crate::bare::{Bare, Extras};
use crate::guarded::{Guarded, execution, request};
use crate::results::Measurement;
use crate::state_retry::StateRetry;
use crate::subject::LIMIT;
use crate::table::{client, create, endpoint};
use crate::throttled::ThrottledTable;
use futures_util::future::join_all;
use lockstep::contract::AcquireResponse;
use std::collections::BTreeMap;
use std::path::Path;

const NOTE: &str = "In simulated time, under the limits of the starts on one lock: 64 clients, each with its part of \
    the locks, acquire and release one after the other; a request takes 5 ms. The locks are new, so the first write of \
    each fails and the second creates its item. A pair of Lockstep adds an entry to an index, whose shards have the \
    same limit, and removes it. A call that fails is repeated as the state Acquire Lock of exclusive-run does.";
const LOCKS: usize = 10_000;
const CLIENTS: usize = 64;

/// What one client met.
#[derive(Default)]
struct Work {
    failures: BTreeMap<String, u32>,
    lost: u32,
}

/// Measures and writes `many`.
pub async fn measure(folder: &Path) {
    let mut measurement = Measurement::new("many", "10,000 locks with 64 clients", LIMIT, NOTE);
    let endpoint = endpoint();
    let table = create(&client(&endpoint).await).await;
    for subject in ["Lockstep", LIMIT] {
        eprint!("\r{:60}", format!("10,000 locks: {subject}"));
        let throttled = ThrottledTable::new(&endpoint, true).await;
        let clients = (0..CLIENTS).map(|number| part(&throttled, &table, subject, number));
        let done = throttled.time.run(join_all(clients));
        let counts = throttled.take_counts();
        let mut add = |figure: &str, unit, sample: f64| {
            measurement.add(figure, subject, unit, vec![sample]);
        };
        add("requests", "requests", counts.requests.into());
        add(
            "requests a pair",
            "requests",
            f64::from(counts.requests) / LOCKS as f64,
        );
        add(
            "write units a pair",
            "write units",
            counts.units / LOCKS as f64,
        );
        add("throttled answers", "answers", counts.throttled.into());
        let mut failures = BTreeMap::new();
        for (name, count) in done.iter().flat_map(|work| &work.failures) {
            *failures.entry(name).or_insert(0) += count;
        }
        for (name, count) in failures {
            add(
                &format!("calls that fail with {name}"),
                "calls",
                count.into(),
            );
        }
        let lost = done.iter().map(|work| work.lost).sum::<u32>();
        add("pairs that fail in the end", "pairs", lost.into());
        add("time", "s", throttled.time.elapsed().as_secs_f64());
    }
    eprintln!("\r{:60}", "");
    measurement.write(folder);
}

/// Acquires and releases the locks of one client.
async fn part(throttled: &ThrottledTable, table: &str, subject: &str, number: usize) -> Work {
    let time = &throttled.time;
    let client = throttled.client(format!("{subject}-{number}"));
    let retry = StateRetry::of("Acquire Lock", number as u64);
    let bare = Bare::new(client.clone(), table, Extras::None);
    let guarded = Guarded::with_clock(client, table, time.clone(), number as u64);
    let mut work = Work::default();
    for lock in (number..LOCKS).step_by(CLIENTS) {
        let lock = format!("{subject}-{lock}").replace([' ', ','], "");
        let (released, failures) = if subject == LIMIT {
            let acquire = async || bare.try_acquire(&lock, "owner-1").await;
            let (taken, mut failures) = retry.apply(time, acquire).await;
            assert_ne!(taken, Some(false), "{lock} is held");
            let release = async || bare.try_release(&lock, "owner-1").await;
            let (released, more) = retry.apply(time, release).await;
            failures.extend(more);
            (taken.and(released).is_some(), failures)
        } else {
            pair(&guarded, &retry, time, &lock).await
        };
        work.lost += u32::from(!released);
        for name in failures {
            *work.failures.entry(name).or_default() += 1;
        }
    }
    work
}

/// A pair of Lockstep: whether it was released, and the names of the errors of the calls that failed.
async fn pair<C: lockstep::clock::Clock>(
    guarded: &Guarded<C>,
    retry: &StateRetry,
    clock: &impl lockstep::clock::Clock,
    lock: &str,
) -> (bool, Vec<String>) {
    let name = |error: lockstep::error::Error| error.name().to_string();
    let event = request(lock, &execution("1"));
    let acquire = async || guarded.try_ask(event.clone()).await.map_err(name);
    let (answer, mut failures) = retry.apply(clock, acquire).await;
    let Some(AcquireResponse::Granted(granted)) = answer else {
        return (false, failures);
    };
    let release = async || guarded.try_release(&granted.grant).await.map_err(name);
    let (released, more) = retry.apply(clock, release).await;
    failures.extend(more);
    (released.is_some(), failures)
}
