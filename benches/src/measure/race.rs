//! Many clients that ask for one free lock at once.

use crate::results::Measurement;
use crate::subject::{LIMIT, Subject};
use crate::table::{client, create, endpoint};
use crate::wire::Wire;
use std::path::Path;

const NOTE: &str = "64 clients of one process ask at once; time is until the last has its answer, and the subjects take \
    turns. Requests are counted in races of their own, on a wire that counts. A refused client of Lockstep learns who \
    holds the lock.";
const CLIENTS: usize = 64;
const RACES: usize = 40;
const COUNTED: usize = 5;

/// Measures and writes `race`.
///
/// # Panics
/// When a race has another number of winners than one.
pub async fn measure(folder: &Path) {
    let mut measurement =
        Measurement::new("race", "64 clients race for one free lock", LIMIT, NOTE);
    let endpoint = endpoint();
    let table = create(&client(&endpoint).await).await;
    let subjects = subjects(&endpoint, &table).await;
    let mut times = vec![Vec::new(); subjects.len()];
    for race in 0..=RACES {
        for (subject, times) in subjects.iter().zip(&mut times) {
            let (winners, millis) = subject.race("race", CLIENTS).await;
            assert_eq!(winners, 1, "{}: winners", subject.name);
            // The first race opens connections.
            times.extend((race > 0).then_some(millis));
        }
    }
    for (subject, times) in subjects.iter().zip(times) {
        measurement.add("time", subject.name, "ms", times);
    }
    count(&mut measurement, &endpoint, &table).await;
    measurement.write(folder);
}

async fn subjects(endpoint: &str, table: &str) -> [Subject; 2] {
    [
        Subject::lockstep(endpoint, table).await,
        Subject::bare(endpoint, table).await,
    ]
}

async fn count(measurement: &mut Measurement, endpoint: &str, table: &str) {
    let wire = Wire::to(endpoint).await;
    for subject in subjects(wire.endpoint(), table).await {
        let mut requests = Vec::new();
        let mut winners = 0;
        for _ in 0..COUNTED {
            drop(wire.take_counts());
            winners += subject.race("race", CLIENTS).await.0;
            // Without the release of the winner.
            requests.push(f64::from(wire.take_counts().values().sum::<u32>() - 1));
        }
        measurement.add("requests", subject.name, "requests", requests);
        measurement.add_exact("winners in 5 races", subject.name, "clients", winners);
    }
}
