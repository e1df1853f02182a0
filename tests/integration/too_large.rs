//! Items that are too large for DynamoDB are refused with advice, and nothing is written.

use crate::fixture::{Fixture, acquire, release, renew, run_key};
use lockstep::contract::ErrorName;
use lockstep::domain::{
    Acquire, Change, Clause, FencingToken, Guard, LockRecord, Outcome, Permits, Run, RunGuard,
    RunId, RunWrite, TaskSet, Update, Work,
};
use lockstep::error::Error;
use lockstep::protocol::ProtocolError;
use lockstep::store::LockStore;

const MOST: u64 = 100;

#[tokio::test]
async fn a_grant_that_does_not_fit_is_refused_and_changes_nothing() {
    let fixture = Fixture::new("too-large").await;
    let refused = fill(&fixture).await;
    let full = fixture.record().await;
    fixture.settle();
    let mut with_run_key = large(MOST);
    with_run_key.terms.run_key = Some(run_key());

    let in_transaction = fixture.execute(with_run_key).await.unwrap_err();

    assert_eq!(fixture.requests(), ["TransactWriteItems 1"]);
    for error in [refused, in_transaction] {
        assert_helpful(&fixture, error);
    }
    assert_eq!(fixture.record().await, full);
    let id = RunId::Key(run_key());
    let run = fixture.store().load_run(&fixture.lock, &id).await;
    assert_eq!(run, Ok(None));
}

#[tokio::test]
async fn the_holder_of_a_full_record_can_still_renew_and_release() {
    let fixture = Fixture::new("full").await;
    fill(&fixture).await;
    let token = fixture.record().await.holders[&large(0).terms.holder].token;
    let mut beat = renew("large-0", token);
    beat.beat = None;

    let renewed = fixture.outcome(beat).await;
    let released = fixture.outcome(release("large-0", token)).await;

    assert!(matches!(renewed, Outcome::Renewed { .. }), "{renewed:?}");
    assert!(matches!(released, Outcome::Released { .. }), "{released:?}");
    fixture.granted(large(MOST)).await;
}

#[tokio::test]
async fn a_first_record_that_does_not_fit_is_refused_alone_and_with_its_run() {
    let fixture = Fixture::new("too-large-first").await;
    let mut record = LockRecord::new(Permits::new(100).unwrap());
    for number in 1..=MOST {
        let terms = large(number).terms;
        let token = FencingToken::from_number(number);
        let lease = terms.lease(token, fixture.now());
        record.holders.insert(terms.holder, lease);
    }
    let alone = Change {
        guard: Guard(vec![Clause::Absent]),
        update: Update::Create(record),
        runs: Vec::new(),
        act: None,
        waiter: None,
        read_back: false,
    };
    let token = FencingToken::from_number(1);
    let id = RunId::Token(token);
    let run = Run::started(large(1).terms.holder, token, None);
    let write = RunWrite {
        id: id.clone(),
        run,
    };
    let with_run = Change {
        runs: vec![(RunGuard::OpenFor(token), write)],
        ..alone.clone()
    };

    for change in [alone, with_run] {
        let error = fixture.store().commit(&fixture.lock, &change).await;

        assert_helpful(&fixture, error.unwrap_err().into());
    }
    assert_eq!(fixture.requests(), ["PutItem 1", "TransactWriteItems 1"]);
    assert_eq!(fixture.store().load(&fixture.lock).await, Ok(None));
    assert_eq!(fixture.store().load_run(&fixture.lock, &id).await, Ok(None));
}

/// Grants permits until the record is full. Returns the refusal of the next one.
async fn fill(fixture: &Fixture) -> ProtocolError {
    for number in 0..MOST {
        match fixture.execute(large(number)).await {
            Ok(done) => assert!(matches!(done.outcome, Outcome::Granted { .. }), "{done:?}"),
            Err(error) => return error,
        }
    }
    panic!("{MOST} of them fit")
}

fn assert_helpful(fixture: &Fixture, error: ProtocolError) {
    let error = Error::of_command(&fixture.lock, error);

    assert_eq!(error.name(), ErrorName::InvalidRequest, "{error}");
    for word in ["400 KB", "shorten", "lower the lock's permits"] {
        assert!(error.message().contains(word), "{error}");
    }
}

/// Returns an acquire whose lease takes six kilobytes, more than the contract allows.
fn large(number: u64) -> Acquire {
    let mut acquire = acquire(&format!("large-{number}"));
    acquire.terms.permits = Permits::new(100).unwrap();
    acquire.terms.work = Some(Work::Tasks(TaskSet {
        container: None,
        cluster: "c".repeat(6000),
        family: None,
    }));
    acquire
}
