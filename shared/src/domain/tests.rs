//! Bounds and copies of the plain values: what a decision relies on without saying it.

mod command;
mod lease;
mod record;
mod runs;
mod values;

use super::{HolderId, Permits, Seconds, StalePolicy, Terms, Timestamp};

fn at(second: u64) -> Timestamp {
    Timestamp::from_millis(second * 1000)
}

fn holder(name: &str) -> HolderId {
    HolderId::new(name).unwrap()
}

/// Terms of a lease of a minute, with a heartbeat every 20 s.
fn terms(name: &str) -> Terms {
    Terms {
        redrives: 0,
        parent: None,
        holder: holder(name),
        permits: Permits::ONE,
        lease: Seconds::of(60),
        heartbeat: Seconds::of(20),
        max_run: None,
        no_progress: None,
        stale: StalePolicy::Terminate,
        min_interval: None,
        run_key: None,
        work: None,
        retention: Seconds::of(86_400),
    }
}
