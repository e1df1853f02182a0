//! Locks with a holder and a queue, and a command for each: the input with which `decide` is measured.

use lockstep::domain::{
    Command, FencingToken, HolderId, LockRecord, Permits, Refusal, Seconds, Snapshot, Ticket,
    Timestamp, Transition, Waiter, WaiterId, decide,
};
use lockstep::testing;

/// The queue lengths that are measured.
pub const QUEUES: [usize; 3] = [0, 10, 500];

/// When the holders were granted their permits: 2026-01-01T00:00:00Z.
const START: Timestamp = Timestamp::from_millis(1_767_225_600_000);
/// When the command arrives.
const NOW: Timestamp = START.plus(Seconds::of(20));

/// A decision that can be repeated.
#[derive(Debug)]
pub struct Scene {
    /// The name of the figure in `benches/figures.toml`.
    pub figure: String,
    seen: Snapshot,
    command: Command,
}

impl Scene {
    /// Decides the command. The result is the same each time.
    ///
    /// # Errors
    /// The refusal, if the command is refused.
    pub fn decide(&self) -> Result<Transition, Refusal> {
        decide(&self.seen, &self.command, NOW)
    }
}

/// Returns a refusal, a renewal and a release at each length of the queue in [`QUEUES`].
#[must_use]
pub fn all() -> Vec<Scene> {
    let scenes = QUEUES.map(|waiting| {
        let record = record(1, 1, waiting);
        let (holder, token) = (name(1), FencingToken::from_number(START.millis()));
        let commands = [
            (
                "refusal",
                Command::Acquire(testing::acquire(testing::terms(named("late")))),
            ),
            (
                "renewal",
                Command::Renew(testing::renew(holder.clone(), token)),
            ),
            ("release", Command::Release(testing::release(holder, token))),
        ];
        commands.map(|(step, command)| scene(step, waiting, record.clone(), command))
    });
    scenes.into_iter().flatten().collect()
}

fn scene(step: &str, waiting: usize, record: LockRecord, command: Command) -> Scene {
    let read = command.waiter_to_read(Some(&record));
    let first = waiter(first_of(&record));
    let seen = Snapshot {
        record: Some(record),
        waiter: read.map(|id| (id, Some(first))),
        ..Snapshot::default()
    };
    let scene = Scene {
        figure: format!("{step}, {waiting} waiting"),
        seen,
        command,
    };
    assert_eq!(
        scene.decide().is_err(),
        step == "refusal",
        "{}",
        scene.figure
    );
    scene
}

/// Returns the record of a lock with holders and waiters, as the protocol writes it.
///
/// # Panics
/// When `permits` is not from 1 to 100.
#[must_use]
pub fn record(permits: u8, holders: usize, waiting: usize) -> LockRecord {
    let permits = Permits::new(permits.into()).expect("1 to 100 permits");
    let mut record = LockRecord::new(permits);
    record.version = 1000;
    for (number, granted) in (1..=holders).zip(START.millis()..) {
        let token = FencingToken::from_number(granted);
        let lease = testing::terms(name(number)).lease(token, START);
        record.holders.insert(name(number), lease);
        record.last_token = token;
    }
    for (number, ticket) in (1..=waiting).zip(1..) {
        let ticket = Ticket::from_number(ticket);
        record
            .queue
            .insert(WaiterId::of(&waiter_name(number)), ticket);
        record.last_ticket = ticket;
    }
    record.due = record.next_due();
    record
}

/// Returns the holder with this number.
#[must_use]
pub fn name(number: usize) -> HolderId {
    named(&format!("2f0c6a3e-7b1d-4a55-9c0e-{number:012}"))
}

fn waiter_name(number: usize) -> HolderId {
    named(&format!("9d41b7c2-1e8f-4f0b-8a67-{number:012}"))
}

fn named(name: &str) -> HolderId {
    let arn = "arn:aws:states:eu-west-1:123456789012:execution:nightly-report";
    testing::holder(&format!("{arn}:{name}"))
}

fn first_of(record: &LockRecord) -> HolderId {
    let first = record.first_waiter().map(|(id, _)| id.clone());
    let names = (1..=record.queue.len()).map(waiter_name);
    let mut found = names.filter(|name| Some(WaiterId::of(name)) == first);
    found.next().unwrap_or_else(|| waiter_name(0))
}

fn waiter(holder: HolderId) -> Waiter {
    Waiter {
        terms: testing::terms(holder),
        task_token: Some(testing::task_token("AQCEAAAAKgAAAAMAAAAAAAAAAc8turn")),
        wait_until: None,
        since: START,
        queued_at: START,
    }
}
