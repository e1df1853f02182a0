//! Guarantees for the largest and strangest values that the types allow.

use super::Bench;
use super::samples::{
    assign, at, create, full_lease, holder, lease, permits, read_back, run_key, running, ticket,
    token, waiter_id, write,
};
use crate::domain::{
    Assign, Call, Clause, Ending, EndingCause, Exit, Lease, LockRecord, QUEUE_MAX, RunGuard, RunId,
    Seconds, TaskSet, TaskToken, Timestamp, Work,
};
use crate::store::{Commit, LockStore};

pub(super) async fn holders_of_any_visible_characters_keep_apart<S: LockStore>(
    bench: &Bench<'_, S>,
) {
    let lock = bench.lock("holders");
    let visible: String = (b'!'..=b'~').map(char::from).collect();
    let names = [
        "arn:aws:states:eu-west-1:123456789012:execution:nightly:4f#2",
        "arn:aws:states:eu-west-1:123456789012:execution:nightly:4f",
        "a.b",
        "a",
        "#n0",
        ":v0",
        "[0]",
        "token",
        visible.as_str(),
    ];
    let mut now = LockRecord::new(permits(100));
    now.last_token = token(1000);
    bench.given(&lock, &now).await;

    for (number, name) in (1..).zip(names) {
        let assigns = vec![
            Assign::PutLease(holder(name), lease(number)),
            Assign::LastToken(token(1000 + number)),
            Assign::Enqueue(waiter_id(name)),
        ];
        let guard = vec![Clause::Readable, Clause::NotHeldBy(holder(name))];
        let change = assign(guard, assigns);
        let done = bench.commit(&lock, &change).await;

        now = change.update.apply(Some(&now)).expect("there is a record");
        assert_eq!(done, Commit::Committed(None), "{name}");
    }
    assert_eq!(bench.load(&lock).await.as_ref(), Some(&now));
    for (number, name) in (1..).zip(names) {
        let assigns = vec![
            Assign::ExtendLease(holder(name), at(900), None, None),
            Assign::LastToken(token(2000)),
        ];
        let guard = vec![
            Clause::LeaseIs(holder(name), token(number)),
            Clause::LeaseSame(holder(name), Box::new(lease(number))),
        ];
        let change = read_back(assign(guard, assigns));
        let done = bench.commit(&lock, &change).await;

        now = change.update.apply(Some(&now)).expect("there is a record");
        assert_eq!(done, Commit::Committed(Some(now.clone())), "{name}");
    }
}

/// Number of holders that fit into a record with a full queue if every text is as long as allowed. An item of DynamoDB
/// has at most 400 KB
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html#limits-items>).
const LONGEST: usize = 36;

/// Returns a text of `length` characters that is different for each `number`.
fn long(number: usize, length: usize) -> String {
    format!("{number:0>length$}")
}

/// Returns a lease with every attribute set, and every text as long as allowed.
fn longest_lease(number: usize) -> Lease {
    let text = |length| long(number, length);
    let task_token = |length: usize| {
        TaskToken::of_record(long(number, length)).expect("the longest token of a record")
    };
    let lease = full_lease(number as u64);
    Lease {
        expires_at: Timestamp::MAX,
        run_until: Some(Timestamp::MAX),
        max_run: Some(Seconds::of(u32::MAX)),
        stalls_at: Some(Timestamp::MAX),
        progress: Some(text(256)),
        run_key: Some(run_key(&text(512))),
        work: Some(Work::Tasks(TaskSet {
            cluster: text(512),
            family: Some(text(255)),
            container: Some(text(255)),
        })),
        beat: Some(task_token(3072)),
        call: Some(Call {
            task_token: Some(task_token(3072)),
            since: Timestamp::MAX,
        }),
        exit: Exit {
            suspect: Some(Timestamp::MAX),
            replaced_by: Some(holder(&text(512))),
            ending: Some(Ending {
                since: Timestamp::MAX,
                cause: EndingCause::Evicted(text(1_100)),
            }),
        },
        redrives: u32::MAX,
        parent: Some(holder(&text(512))),
        ..lease
    }
}

pub(super) async fn the_largest_record_can_be_written_and_read<S: LockStore>(bench: &Bench<'_, S>) {
    let lock = bench.lock("largest");
    let mut record = LockRecord::new(permits(100));
    record.last_token = token((1 << 53) - 1);
    record.last_ticket = ticket(500);
    record.due = Some(Timestamp::MAX);
    for number in 1..=LONGEST {
        let lease = longest_lease(number);
        record.holders.insert(holder(&long(number, 512)), lease);
    }
    for (number, place) in (1..=QUEUE_MAX).zip(1..) {
        let id = waiter_id(&long(number, 512));
        record.queue.insert(id, ticket(place));
    }
    let mut change = create(&record);
    let id = RunId::Key(run_key(&long(1, 512)));
    let guard = RunGuard::NotTaken(at(0));
    change.runs.push((guard, write(&id, running(1))));

    let done = bench.commit(&lock, &change).await;

    assert_eq!(done, Commit::Committed(None));
    assert_eq!(bench.load(&lock).await, Some(record));
    assert_eq!(bench.load_run(&lock, &id).await, Some(running(1)));
}
