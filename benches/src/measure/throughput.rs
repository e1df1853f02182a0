//! How many pairs a second clients do on distinct locks.

use crate::results::Measurement;
use crate::rival::Installed;
use crate::subject::{LIMIT, Subject};
use crate::table::{client, create, endpoint};
use std::path::Path;
use std::time::Duration;

const NOTE: &str = "Pairs that one process ends in windows of 0.8 s, each client on a lock of its own; the subjects \
    take turns. The Rust subjects run on one thread, as in a function. DynamoDB Local shares the cores with them and is \
    the limit from 8 clients on.";
const CLIENTS: [usize; 3] = [1, 8, 64];
const WINDOW: Duration = Duration::from_millis(800);
const ROUNDS: usize = 5;

/// Measures and writes `throughput`.
pub async fn measure(folder: &Path, installed: &Installed) {
    let mut measurement =
        Measurement::new("throughput", "Throughput on distinct locks", LIMIT, NOTE);
    let endpoint = endpoint();
    let table = create(&client(&endpoint).await).await;
    let mut subjects = vec![
        Subject::lockstep(&endpoint, &table).await,
        Subject::bare(&endpoint, &table).await,
        Subject::bare_with_history(&endpoint, &table, false).await,
    ];
    subjects.extend(Subject::by_hand(installed, &endpoint, &table));
    for clients in CLIENTS {
        let mut rates = vec![Vec::new(); subjects.len()];
        for subject in &mut subjects {
            subject.load(clients, WINDOW / 4).await;
        }
        for _ in 0..ROUNDS {
            for (subject, rates) in subjects.iter_mut().zip(&mut rates) {
                rates.push(subject.load(clients, WINDOW).await);
            }
        }
        let figure = match clients {
            1 => "1 client".to_owned(),
            more => format!("{more} clients"),
        };
        for (subject, rates) in subjects.iter().zip(rates) {
            measurement.add(&figure, subject.name, "pairs/s", rates);
        }
    }
    measurement.write(folder);
}
