//! All who do pairs, behind one face.

use crate::bare::{Bare, Extras};
use crate::clock::Stopwatch;
use crate::guarded::Guarded;
use crate::rival::{Installed, Rival};
use crate::table::client;
use futures_util::future::join_all;
use std::time::Duration;

/// The name of the subject that the others are compared with.
pub const LIMIT: &str = "bare UpdateItem, Rust";

/// Who does the pairs.
#[derive(Debug)]
enum Kind {
    Lockstep(Box<Guarded>),
    Bare(Bare),
    Rival(Rival),
}

/// One who does pairs, under the name that the results have.
#[derive(Debug)]
pub struct Subject {
    /// The name in the results.
    pub name: &'static str,
    kind: Kind,
}

impl Subject {
    /// Lockstep on `table`.
    pub async fn lockstep(endpoint: &str, table: &str) -> Self {
        let guarded = Guarded::new(client(endpoint).await, table);
        Self {
            name: "Lockstep",
            kind: Kind::Lockstep(Box::new(guarded)),
        }
    }

    /// The pair that is written by hand in Rust, without a history.
    pub async fn bare(endpoint: &str, table: &str) -> Self {
        Self {
            name: LIMIT,
            kind: Kind::Bare(Bare::new(client(endpoint).await, table, Extras::None)),
        }
    }

    /// The same with what Lockstep's table keeps besides: a history item, and with `index` an entry in an index.
    pub async fn bare_with_history(endpoint: &str, table: &str, index: bool) -> Self {
        let (name, extras) = match index {
            false => ("bare with a history item, Rust", Extras::History),
            true => (
                "bare with a history item and an index, Rust",
                Extras::HistoryAndIndex,
            ),
        };
        Self {
            name,
            kind: Kind::Bare(Bare::new(client(endpoint).await, table, extras)),
        }
    }

    /// The pairs that are written by hand in Python and Node.
    #[must_use]
    pub fn by_hand(installed: &Installed, endpoint: &str, table: &str) -> Vec<Self> {
        vec![
            Self {
                name: "bare UpdateItem, boto3",
                kind: Kind::Rival(installed.python("boto3", endpoint, table)),
            },
            Self {
                name: "bare UpdateItem, Node SDK v3",
                kind: Kind::Rival(installed.node(endpoint, table)),
            },
        ]
    }

    /// A lock library.
    #[must_use]
    pub fn library(installed: &Installed, endpoint: &str, table: &str) -> Self {
        Self {
            name: "python-dynamodb-lock 0.9.1",
            kind: Kind::Rival(installed.python("library", endpoint, table)),
        }
    }

    /// Does `count` pairs one after the other on one lock. Returns the milliseconds of each.
    pub async fn pairs(&mut self, count: usize) -> Vec<f64> {
        if let Kind::Rival(rival) = &mut self.kind {
            return rival.pairs(count);
        }
        let mut times = Vec::with_capacity(count);
        for _ in 0..count {
            let watch = Stopwatch::start();
            self.pair("pair").await;
            times.push(watch.millis());
        }
        times
    }

    /// Whether its pairs run in this thread, whose CPU time can be read.
    #[must_use]
    pub fn is_here(&self) -> bool {
        !matches!(self.kind, Kind::Rival(_))
    }

    /// Does pairs on `clients` distinct locks at once for `length`. Returns pairs per second.
    pub async fn load(&mut self, clients: usize, length: Duration) -> f64 {
        if let Kind::Rival(rival) = &mut self.kind {
            return rival.load(clients, length.as_secs_f64());
        }
        let watch = Stopwatch::start();
        let work = (0..clients).map(|number| self.pairs_until(number, watch, length));
        let counts = join_all(work).await;
        f64::from(counts.into_iter().sum::<u32>()) / length.as_secs_f64()
    }

    /// Counts the pairs that end in time.
    async fn pairs_until(&self, number: usize, watch: Stopwatch, length: Duration) -> u32 {
        let lock = format!("load-{number}");
        let mut count = 0;
        loop {
            self.pair(&lock).await;
            if watch.elapsed() > length {
                return count;
            }
            count += 1;
        }
    }

    async fn pair(&self, lock: &str) {
        match &self.kind {
            Kind::Lockstep(guarded) => guarded.pair(lock).await,
            Kind::Bare(bare) => bare.pair(lock).await,
            Kind::Rival(_) => unreachable!("a rival does its pairs itself"),
        }
    }

    /// Lets `clients` ask for one free lock at once. Returns how many got it; it is free again then.
    pub async fn race(&self, lock: &str, clients: usize) -> (u64, f64) {
        let watch = Stopwatch::start();
        let (winners, millis) = match &self.kind {
            Kind::Lockstep(guarded) => {
                let holders: Vec<_> = (0..clients)
                    .map(|n| crate::guarded::execution(&n.to_string()))
                    .collect();
                let asked = holders.iter().map(|holder| guarded.acquire(lock, holder));
                let grants = join_all(asked).await;
                let millis = watch.millis();
                let grants: Vec<_> = grants.into_iter().flatten().collect();
                for grant in &grants {
                    guarded.release(grant).await;
                }
                (grants.len(), millis)
            }
            Kind::Bare(bare) => {
                let owners: Vec<_> = (0..clients)
                    .map(|number| format!("owner-{number}"))
                    .collect();
                let asked = owners.iter().map(|owner| bare.acquire(lock, owner));
                let answers = join_all(asked).await;
                let millis = watch.millis();
                let won: Vec<_> = owners.iter().zip(answers).filter(|(_, won)| *won).collect();
                for (owner, _) in &won {
                    bare.release(lock, owner).await;
                }
                (won.len(), millis)
            }
            Kind::Rival(_) => unreachable!("a rival does not race"),
        };
        (winners as u64, millis)
    }
}
