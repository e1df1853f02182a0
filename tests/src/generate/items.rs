//! Random locks: records that keep their invariants, with the side items of their runs and waiters.

use super::{HOLDERS, KEYS, at, expected, holder, key, length, run_key, stale, task_token, time};
use lockstep::domain::{
    Call, Ending, EndingCause, Exit, Expectation, FencingToken, HolderId, Lease, LockRecord, Mode,
    Pace, Permits, Run, RunEnd, RunId, RunOutcome, Seconds, Terms, Ticket, Timestamp, Waiter,
    WaiterId,
};
use lockstep::store::memory::LockItems;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Just, Strategy};
use proptest::prop_oneof;
use std::collections::BTreeMap;

/// Returns records that keep their invariants.
pub fn record() -> impl Strategy<Value = LockRecord> {
    items().prop_map(|items| {
        items
            .record
            .unwrap_or_else(|| LockRecord::new(Permits::ONE))
    })
}

/// Returns random locks with all their items.
pub fn items() -> impl Strategy<Value = LockItems> {
    let leases = vec((0..HOLDERS, lease()), 0..4);
    let waiters = vec(
        (super::acquire(), option::of(0..4_u8), option::of(time())),
        0..4,
    );
    let numbers = (0..1000_u64, 0..90_000_u64, 0..4_i64);
    let lock = (permits(), time(), mode(), option::weighted(0.9, Just(())));
    let ends = (option::of(time()), option::of(time()), expectation());
    (lock, numbers, leases, waiters, (olds(), ends)).prop_map(
        |(
            (permits, not_before, mode, known),
            (version, granted, rushed),
            leases,
            waiters,
            (olds, (last_success, last_failure, expectation)),
        )| {
            let mut items = LockItems::default();
            if known.is_none() {
                return items;
            }
            let mut record = LockRecord::new(permits);
            record.version = version;
            record.gate.not_before = not_before;
            record.gate.mode = mode;
            record.last_success = last_success;
            record.last_failure = last_failure;
            record.expectation = expectation;
            record.front_ticket = Ticket::from_number(1 - rushed);
            let first = at(granted).millis();
            for (number, (index, lease)) in (0..).zip(leases) {
                add_lease(&mut record, holder(index), lease, first + number);
            }
            record.last_token = FencingToken::from_number(first + 10);
            for (number, (acquire, token, until)) in (1..).zip(waiters) {
                let mut terms = acquire.terms;
                terms.permits = permits;
                let ticket = Ticket::from_number(number - rushed);
                add_waiter(&mut items, &mut record, waiter(terms, token, until), ticket);
            }
            let busy = !record.is_idle();
            record.due = record.next_due().or(busy.then_some(not_before));
            items.runs = runs(&record, olds);
            items.record = Some(record);
            items
        },
    )
}

fn expectation() -> impl Strategy<Value = Option<Expectation>> {
    let noted = (expected(), time(), option::weighted(0.3, time()));
    option::weighted(
        0.15,
        noted.prop_map(|(every, from, missed_at)| Expectation {
            every,
            from,
            missed_at,
        }),
    )
}

fn permits() -> impl Strategy<Value = Permits> {
    (1..=3_i64).prop_map(|count| Permits::new(count).expect("a valid capacity"))
}

fn mode() -> impl Strategy<Value = Mode> {
    prop_oneof![
        6 => Just(Mode::Open),
        1 => option::of(time()).prop_map(|until| Mode::Paused {
            note: "by hand".into(),
            until,
        }),
        1 => Just(Mode::Frozen { note: String::new() }),
    ]
}

fn lease() -> impl Strategy<Value = Lease> {
    let bounds = (
        option::weighted(0.3, (time(), option::of(length()))),
        option::weighted(0.3, (length(), time())),
    );
    let call = option::weighted(0.2, (0..4_u8, time()));
    let states = (option::of(0..3_u8), call);
    let whose = (
        key(),
        option::weighted(0.1, 0..HOLDERS),
        option::weighted(0.2, 0..HOLDERS),
    );
    let doubts = (
        option::weighted(0.2, time()),
        option::weighted(0.2, (time(), ending_cause())),
        0..3_u32,
    );
    (time(), length(), bounds, stale(), states, (whose, doubts)).prop_map(
        |(
            expires_at,
            length,
            (max_run, progress),
            stale,
            (beat, call),
            ((run_key, by, parent), (suspect, ending, redrives)),
        )| Lease {
            token: FencingToken::NONE,
            expires_at,
            pace: Pace {
                length,
                heartbeat: Seconds::of(length.get() / 2),
            },
            run_until: max_run.map(|(end, _)| end),
            max_run: max_run.and_then(|(_, length)| length),
            no_progress: progress.map(|(length, _)| length),
            stalls_at: progress.map(|(_, end)| end),
            progress: progress.map(|_| "row 7".into()),
            stale,
            expect_every: None,
            run_key,
            work: None,
            beat: beat.map(task_token),
            call: call.map(|(number, since)| Call {
                task_token: Some(task_token(number)),
                since,
            }),
            exit: Exit {
                suspect,
                replaced_by: by.map(holder),
                ending: ending.map(|(since, cause)| Ending { since, cause }),
            },
            redrives,
            parent: parent.map(holder),
        },
    )
}

fn ending_cause() -> impl Strategy<Value = EndingCause> {
    prop_oneof![
        2 => Just(EndingCause::Over),
        1 => Just(EndingCause::Stopped),
        1 => Just(EndingCause::Evicted("broken (by operator)".into())),
    ]
}

/// Adds a lease if a permit is free. The lease loses its run key if another holder has it.
fn add_lease(record: &mut LockRecord, holder: HolderId, mut lease: Lease, token: u64) {
    let taken = lease
        .run_key
        .as_ref()
        .and_then(|key| record.holder_of_run(key));
    if taken.is_some() {
        lease.run_key = None;
    }
    lease.token = FencingToken::from_number(token);
    if record.has_room() {
        record.holders.insert(holder, lease);
    }
}

fn waiter(terms: Terms, token: Option<u8>, wait_until: Option<Timestamp>) -> Waiter {
    Waiter {
        terms,
        task_token: token.map(task_token),
        wait_until,
        since: at(0),
        queued_at: at(0),
    }
}

/// Adds a waiter, unless it holds a permit or is in the queue already. Of the waiters with an end, one in ten
/// has lost its side item.
fn add_waiter(items: &mut LockItems, record: &mut LockRecord, waiter: Waiter, ticket: Ticket) {
    let id: WaiterId = waiter.id();
    if record.holders.contains_key(&waiter.terms.holder) || record.queue.contains_key(&id) {
        return;
    }
    record.queue.insert(id.clone(), ticket);
    record.last_ticket = record.last_ticket.max(ticket);
    let lost = waiter.wait_until.is_some_and(|end| end.millis() % 10 == 0);
    if !lost {
        items.waiters.insert(id, waiter);
    }
}

type Old = (usize, u64, Option<RunEnd>);

fn olds() -> impl Strategy<Value = Vec<Option<Old>>> {
    let outcome = prop_oneof![
        2 => Just(RunOutcome::Succeeded),
        1 => Just(RunOutcome::Failed),
        1 => Just(RunOutcome::Lost),
        1 => Just(RunOutcome::Recovered),
    ];
    let end = (outcome, time(), time()).prop_map(|(outcome, at, retain_until)| RunEnd {
        outcome,
        at,
        retain_until,
        evidence: None,
    });
    let old = (0..HOLDERS, 0..60_000_u64, option::weighted(0.8, end));
    vec(option::of(old), KEYS)
}

/// Returns the markers of the run keys. The run key of a lease has an open marker. Any other key may have an
/// old one, ended or left behind open.
fn runs(record: &LockRecord, olds: Vec<Option<Old>>) -> BTreeMap<RunId, Run> {
    let mut runs = BTreeMap::new();
    for (index, old) in olds.into_iter().enumerate() {
        let Some((who, granted, end)) = old else {
            continue;
        };
        let token = FencingToken::from_number(at(granted).millis());
        let key = run_key(index);
        let mut run = Run::started(holder(who), token, Some(key.clone()));
        run.end = end;
        runs.insert(RunId::Key(key), run);
    }
    for (holder, lease) in &record.holders {
        if let Some(key) = lease.run_key.clone() {
            let run = Run::started(holder.clone(), lease.token, Some(key.clone()));
            runs.insert(RunId::Key(key), run);
        }
    }
    runs
}
