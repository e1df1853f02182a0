//! Random locks and commands. They have few names and short times, so that a command often meets a lock that
//! it concerns.

mod commands;
mod items;

pub use commands::{Act, acquire, acquire_for, act, audit_note, command, forget};
pub use items::{items, record};

use lockstep::domain::{HolderId, Retention, RunKey, Seconds, StalePolicy, TaskToken, Timestamp};
use proptest::option;
use proptest::prelude::{Just, Strategy, any};
use proptest::prop_oneof;

/// The time around which all random times lie.
pub const BASE: u64 = 1_767_225_600_000;
/// The number of holders.
pub const HOLDERS: usize = 5;
/// The number of run keys.
pub const KEYS: usize = 3;
/// How long an ended run is remembered.
pub const RETENTION: Retention = Retention {
    history: Seconds::of(30),
    run_keys: Seconds::of(60),
};

/// Returns the time that is `millis` milliseconds after the start of the minute before [`BASE`].
pub fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(BASE - 60_000 + millis)
}

/// Returns the holder number `index`.
pub fn holder(index: usize) -> HolderId {
    HolderId::new(format!("arn:aws:states:x:1:execution:m:{index}#a.b")).expect("a valid holder")
}

/// Returns the run key number `index`.
pub fn run_key(index: usize) -> RunKey {
    RunKey::new(format!("schedule/{index}#tick")).expect("a valid run key")
}

/// Returns `true` or `false`, each half of the time.
pub fn coin() -> impl Strategy<Value = bool> {
    any::<bool>()
}

fn task_token(number: u8) -> TaskToken {
    TaskToken::new(format!("state-{number}")).expect("a valid task token")
}

fn time() -> impl Strategy<Value = Timestamp> {
    (0..120_000_u64).prop_map(at)
}

fn key() -> impl Strategy<Value = Option<RunKey>> {
    option::of((0..KEYS).prop_map(run_key))
}

/// Returns how often a success is expected: one of two values, so that a release often has the expectation of
/// its lock.
fn expected() -> impl Strategy<Value = Seconds> {
    prop_oneof![Just(Seconds::of(10)), Just(Seconds::of(20))]
}

fn length() -> impl Strategy<Value = Seconds> {
    (1..40_u32).prop_map(Seconds::of)
}

fn stale() -> impl Strategy<Value = StalePolicy> {
    prop_oneof![
        2 => Just(StalePolicy::Terminate),
        1 => Just(StalePolicy::Yield),
        1 => Just(StalePolicy::Hold),
    ]
}
