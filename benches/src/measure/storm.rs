//! Thousands of starts on one lock at once, at a table that throttles by partition key.

use crate::bare::{Bare, Extras};
use crate::guarded::{Guarded, execution, request};
use crate::partition::Counts;
use crate::results::Measurement;
use crate::state_retry::StateRetry;
use crate::subject::LIMIT;
use crate::table::{client, create, endpoint};
use crate::throttled::ThrottledTable;
use crate::virtual_time::VirtualTime;
use aws_sdk_dynamodb::Client;
use futures_util::future::join_all;
use lockstep::contract::AcquireResponse;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

const NOTE: &str = "In simulated time: each start is a function instance of its own, with the functions' clients, \
    their retries and time-outs; a request takes 5 ms. DynamoDB Local decides, behind a model of DynamoDB's limit: \
    1,000 write units a second for each partition key, of which a second's may be consumed at once. Units include \
    the writes to indexes. A write whose condition is false consumes units too; a throttled write consumes none. A call that fails is \
    repeated as the state of exclusive-run does. Time is until the last start has its answer. Requests to other \
    services are left out.";
const ROUNDS: u64 = 3;
const ACQUIRE: &str = "Acquire Lock";
const WAIT: &str = "Wait For Turn";
const OURS: &str = "Lockstep";
const UNLIMITED: &str = "Lockstep, no limit";

/// Starts on one lock.
struct Scene {
    name: &'static str,
    starts: u64,
    /// They come evenly over this time.
    over: Duration,
    queue: bool,
    subjects: &'static [&'static str],
}

const SCENES: [Scene; 4] = [
    Scene {
        name: "500 at once",
        starts: 500,
        over: Duration::ZERO,
        queue: false,
        subjects: &[OURS, LIMIT],
    },
    Scene {
        name: "2,000 at once",
        starts: 2000,
        over: Duration::ZERO,
        queue: false,
        subjects: &[OURS, UNLIMITED, LIMIT],
    },
    Scene {
        name: "2,000 in 2 s",
        starts: 2000,
        over: Duration::from_secs(2),
        queue: false,
        subjects: &[OURS, LIMIT],
    },
    Scene {
        name: "500 at once, overlap queue",
        starts: 500,
        over: Duration::ZERO,
        queue: true,
        subjects: &[OURS, UNLIMITED],
    },
];

/// What became of a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Granted,
    Refused,
    Queued,
}

/// What became of a scene.
struct Outcome {
    counts: Counts,
    answers: Vec<Option<Answer>>,
    failures: BTreeMap<String, u32>,
    time: Duration,
}

/// Measures and writes `storm`.
///
/// # Panics
/// When a lock has another number of winners than one.
pub async fn measure(folder: &Path) {
    let mut measurement = Measurement::new("storm", "Starts on one lock at once", LIMIT, NOTE);
    let endpoint = endpoint();
    let table = create(&client(&endpoint).await).await;
    for scene in &SCENES {
        for what in ["requests a start", "throttled answers", "time"] {
            measurement.chart(format!("{}: {what}", scene.name));
        }
        for subject in scene.subjects {
            let mut rounds = Vec::new();
            for round in 0..ROUNDS {
                eprint!(
                    "\r{:60}",
                    format!("{}: {subject}, round {}", scene.name, round + 1)
                );
                let throttled = ThrottledTable::new(&endpoint, *subject != UNLIMITED).await;
                rounds.push(scene.play(&throttled, &table, subject, round));
            }
            scene.report(&mut measurement, subject, &rounds);
        }
    }
    eprintln!("\r{:60}", "");
    measurement.write(folder);
}

impl Scene {
    fn play(&self, throttled: &ThrottledTable, table: &str, subject: &str, round: u64) -> Outcome {
        let lock = format!("{}-{subject}-{round}", self.name).replace([' ', ','], "");
        // A lock that was used before, and is free.
        let first = throttled.client(format!("{lock}-first"));
        throttled.time.run(async {
            match subject {
                LIMIT => Bare::new(first, table, Extras::None).pair(&lock).await,
                _ => {
                    let time = throttled.time.clone();
                    Guarded::with_clock(first, table, time, 0).pair(&lock).await;
                }
            }
        });
        throttled
            .time
            .run(throttled.time.wait(Duration::from_secs(2)));
        let _first = throttled.take_counts();
        let begin = throttled.time.elapsed();
        let starts = (0..self.starts).map(async |number| {
            let delay = self.over.mul_f64(number as f64 / self.starts as f64);
            throttled.time.wait(delay).await;
            let start = Start {
                time: &throttled.time,
                client: throttled.client(format!("{lock}-{number}")),
                table,
                lock: &lock,
                number,
            };
            match subject {
                LIMIT => start.bare().await,
                _ => start.lockstep(self).await,
            }
        });
        let ended = throttled.time.run(join_all(starts));
        let time = throttled.time.elapsed() - begin;
        let (answers, failed): (Vec<_>, Vec<_>) = ended.into_iter().unzip();
        let mut failures = BTreeMap::new();
        for name in failed.into_iter().flatten() {
            *failures.entry(name).or_default() += 1;
        }
        let won = answers.iter().filter(|one| **one == Some(Answer::Granted));
        assert_eq!(won.count(), 1, "{lock}: winners");
        Outcome {
            counts: throttled.take_counts(),
            answers,
            failures,
            time,
        }
    }

    fn report(&self, measurement: &mut Measurement, subject: &str, rounds: &[Outcome]) {
        let figure = |what: &str| format!("{}: {what}", self.name);
        let all = |of: &dyn Fn(&Outcome) -> f64| rounds.iter().map(of).collect::<Vec<_>>();
        let starts = self.starts as f64;
        let mut add = |what: &str, unit: &'static str, samples: Vec<f64>| {
            measurement.add(&figure(what), subject, unit, samples);
        };
        add(
            "requests",
            "requests",
            all(&|one| one.counts.requests.into()),
        );
        add(
            "requests a start",
            "requests",
            all(&|one| f64::from(one.counts.requests) / starts),
        );
        add(
            "throttled answers",
            "answers",
            all(&|one| one.counts.throttled.into()),
        );
        add("write units", "write units", all(&|one| one.counts.units));
        let names = rounds.iter().flat_map(|one| one.failures.keys());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names.dedup();
        for name in names {
            let counts = all(&|one| one.failures.get(name).copied().unwrap_or(0).into());
            add(&format!("calls that fail with {name}"), "calls", counts);
        }
        let lost =
            |one: &Outcome| one.answers.iter().filter(|answer| answer.is_none()).count() as f64;
        add("starts that fail in the end", "starts", all(&lost));
        add("time", "s", all(&|one| one.time.as_secs_f64()));
    }
}

/// One start, in a function instance of its own.
struct Start<'a> {
    time: &'a VirtualTime,
    client: Client,
    table: &'a str,
    lock: &'a str,
    number: u64,
}

/// What became of a start, none when it failed in the end, and the names of the errors of its calls that failed.
type Ended = (Option<Answer>, Vec<String>);

impl Start<'_> {
    /// The lock that is written by hand.
    async fn bare(self) -> Ended {
        let retry = StateRetry::of(ACQUIRE, self.number);
        let bare = Bare::new(self.client, self.table, Extras::None);
        let owner = format!("owner-{}", self.number);
        let ask = async || bare.try_acquire(self.lock, &owner).await;
        let (won, failures) = retry.apply(self.time, ask).await;
        let answer = won.map(|won| match won {
            true => Answer::Granted,
            false => Answer::Refused,
        });
        (answer, failures)
    }

    /// An execution of exclusive-run until its permit is granted or refused, or it waits.
    async fn lockstep(self, scene: &Scene) -> Ended {
        let guarded = Guarded::with_clock(self.client, self.table, self.time.clone(), self.number);
        let ask = async |event: &Value| {
            let answer = guarded.try_ask(event.clone()).await;
            answer.map_err(|error| error.name().to_string())
        };
        let plain = request(self.lock, &execution(&self.number.to_string()));
        let mut event = plain.clone();
        if scene.queue {
            event["mayWait"] = true.into();
        }
        let retry = StateRetry::of(ACQUIRE, self.number);
        let (answer, mut failures) = retry.apply(self.time, async || ask(&event).await).await;
        let answer = match answer {
            None => return (None, failures),
            Some(AcquireResponse::Granted(_) | AcquireResponse::AlreadyHeld(_)) => Answer::Granted,
            Some(_) => Answer::Refused,
        };
        if answer == Answer::Granted || !scene.queue {
            return (Some(answer), failures);
        }
        event = plain;
        event["overlap"] = json!("queue");
        event["maxQueue"] = json!(scene.starts);
        event["taskToken"] = json!(format!("AQCEAAAAKgAAAAMAAAAAAAAAAc8turn{}", self.number));
        let retry = StateRetry::of(WAIT, self.number);
        let (answer, more) = retry.apply(self.time, async || ask(&event).await).await;
        failures.extend(more);
        (answer.map(|_| Answer::Queued), failures)
    }
}
