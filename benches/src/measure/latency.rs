//! How long an acquire and a release take together.

use crate::clock::cpu_millis;
use crate::delay::DelayedWire;
use crate::results::Measurement;
use crate::rival::Installed;
use crate::subject::{LIMIT, Subject};
use crate::table::{client, create, endpoint};
use std::path::Path;
use std::time::Duration;

const NOTE: &str = "One client on one lock that exists; all subjects take turns on one table. +0 ms goes straight to \
    DynamoDB Local; +5 ms goes through a wire that delays each request, where requests decide, as on a real network. \
    Client CPU is the processor time of the client's thread, at +0 ms. The two subjects with a history item and an index \
    write what Lockstep's table keeps besides.";
const BLOCK: usize = 10;

/// Measures and writes `pair-latency`.
pub async fn measure(folder: &Path, installed: &Installed) {
    let mut measurement = Measurement::new(
        "pair-latency",
        "Latency of an acquire and a release",
        LIMIT,
        NOTE,
    );
    let wire = DelayedWire::to(&endpoint(), Duration::from_millis(5));
    for (delay, endpoint, rounds) in [(0, endpoint(), 40), (5, wire.endpoint().to_owned(), 24)] {
        let figure = &format!("+{delay} ms");
        let mut subjects = subjects(installed, &endpoint).await;
        let mut times = vec![(Vec::new(), Vec::new()); subjects.len()];
        // The first round opens connections and creates items; it does not count.
        for round in 0..=rounds {
            for (subject, (times, cpu)) in subjects.iter_mut().zip(&mut times) {
                let before = cpu_millis();
                let block = subject.pairs(BLOCK).await;
                let used = (cpu_millis() - before) / BLOCK as f64;
                times.extend(block.into_iter().filter(|_| round > 0));
                cpu.extend((round > 0).then_some(used));
            }
        }
        for (subject, (times, _)) in subjects.iter().zip(&times) {
            measurement.add(figure, subject.name, "ms", times.clone());
        }
        let ours = subjects.iter().zip(times);
        for (subject, (_, cpu)) in ours.filter(|(subject, _)| subject.is_here() && delay == 0) {
            measurement.add("client CPU", subject.name, "ms", cpu);
        }
    }
    measurement.write(folder);
}

async fn subjects(installed: &Installed, endpoint: &str) -> Vec<Subject> {
    let table = create(&client(&crate::table::endpoint()).await).await;
    let mut subjects = vec![
        Subject::lockstep(endpoint, &table).await,
        Subject::bare(endpoint, &table).await,
        Subject::bare_with_history(endpoint, &table, false).await,
        Subject::bare_with_history(endpoint, &table, true).await,
    ];
    subjects.extend(Subject::by_hand(installed, endpoint, &table));
    subjects.push(Subject::library(installed, endpoint, &table));
    subjects
}
