//! The requests of waiting, of a hand-over, of an operator's acts, of the sweep and of a noted
//! task.

use crate::fixture::{
    Fixture, acquire, audit_note, drop_waiter, evict, holder, note_task, place, release, turn,
    wait, woken,
};
use lockstep::domain::{
    Command, Effect, Lease, NoteTask, Opening, Outcome, RunId, RunOutcome, Seconds, WhenFull,
};
use lockstep::store::{LockStore, shard};
use std::time::Duration;

#[tokio::test]
async fn a_run_that_has_to_wait_is_three_requests() {
    let (fixture, _) = Fixture::held("enqueue").await;

    fixture.execute(acquire("b")).await.unwrap_err();
    assert_eq!(fixture.requests(), ["UpdateItem 1"]);
    let outcome = fixture.outcome(wait("b")).await;

    assert_eq!(place(&outcome), (1, 1));
    let Outcome::Queued { holders, .. } = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(holders[0].0, holder("a"));
    assert_eq!(fixture.requests(), ["UpdateItem 2"]);
}

#[tokio::test]
async fn a_run_whose_permit_gets_free_before_it_waits_is_four_requests() {
    let (fixture, token) = Fixture::held("free-between").await;

    fixture.execute(acquire("b")).await.unwrap_err();
    assert_eq!(fixture.requests(), ["UpdateItem 1"]);
    fixture.done(release("a", token)).await;
    fixture.settle();
    let outcome = fixture.outcome(wait("b")).await;

    assert!(matches!(outcome, Outcome::Granted { .. }), "{outcome:?}");
    // The grant deletes the side item in its own write.
    assert_eq!(fixture.requests(), ["TransactWriteItems 1", "UpdateItem 2"]);
}

#[tokio::test]
async fn a_release_that_lets_a_waiter_in_is_three_requests() {
    let (fixture, token) = Fixture::held("hand-over").await;
    fixture.queued(&["b", "c"]).await;

    let done = fixture.done(release("a", token)).await;

    assert_eq!(fixture.requests(), ["GetItem 1", "TransactWriteItems 2"]);
    let [(who, lease)] = &woken(&done.effects)[..] else {
        panic!("{done:?}");
    };
    assert_eq!((who, lease.token > token), (&holder("b"), true));
    let record = fixture.record().await;
    assert_eq!(record.lease(who, lease.token), Some(lease));
    assert_eq!(record.queue.len(), 1);
    assert_eq!(fixture.waiter("b").await, None);
}

#[tokio::test]
async fn a_state_that_registers_again_keeps_its_place_in_two_requests() {
    let (fixture, _) = Fixture::held("again").await;
    fixture.queued(&["b", "c"]).await;
    let before = fixture.record().await.queue;
    fixture.settle();
    let mut again = wait("b");
    again.task_token = Some(turn("b-2"));

    let outcome = fixture.outcome(again).await;

    assert_eq!(place(&outcome), (1, 2));
    assert_eq!(fixture.requests(), ["UpdateItem 2"]);
    assert_eq!(fixture.record().await.queue, before);
    let waiter = fixture.waiter("b").await.unwrap();
    assert_eq!(waiter.task_token, Some(turn("b-2")));
}

#[tokio::test]
async fn the_first_waiter_takes_a_free_permit_in_three_requests() {
    let fixture = Fixture::used("take").await;
    let mut spaced = acquire("a");
    spaced.terms.min_interval = Some(Seconds::of(30));
    let token = fixture.granted(spaced).await;
    fixture.queued(&["b"]).await;
    let done = fixture.done(release("a", token)).await;
    assert_eq!(woken(&done.effects), [], "the lock rests");
    fixture.advance(Duration::from_secs(30));
    fixture.settle();

    let outcome = fixture.outcome(wait("b")).await;

    assert!(matches!(outcome, Outcome::Granted { .. }), "{outcome:?}");
    assert_eq!(fixture.requests(), ["TransactWriteItems 1", "UpdateItem 2"]);
    assert!(fixture.record().await.queue.is_empty());
}

#[tokio::test]
async fn a_waiter_that_missed_its_call_confirms_its_grant_in_four_requests() {
    let (fixture, token) = Fixture::held("missed").await;
    fixture.queued(&["b"]).await;
    let done = fixture.done(release("a", token)).await;
    let (_, called) = woken(&done.effects).remove(0);
    let task_token = called.call.clone().and_then(|call| call.task_token);
    assert_eq!(task_token, Some(turn("b")));
    fixture.settle();

    let outcome = fixture.outcome(wait("b")).await;

    let lease = Lease {
        call: None,
        ..called
    };
    assert_eq!(outcome, Outcome::AlreadyHeld { lease });
    assert_eq!(fixture.requests(), ["TransactWriteItems 1", "UpdateItem 3"]);
}

#[tokio::test]
async fn a_run_that_replaces_the_holder_is_four_requests() {
    let (fixture, _) = Fixture::held("replace").await;
    fixture.queued(&["b"]).await;
    let mut replace = wait("c");
    replace.when_full = WhenFull::Replace;

    fixture.execute(acquire("c")).await.unwrap_err();
    let done = fixture.done(replace).await;

    assert_eq!(place(&done.outcome), (1, 2));
    let [Effect::Stop(stopped, lease)] = &done.effects[..] else {
        panic!("{done:?}");
    };
    assert_eq!(
        (stopped, &lease.exit.replaced_by),
        (&holder("a"), &Some(holder("c")))
    );
    assert_eq!(fixture.requests(), ["GetItem 1", "UpdateItem 3"]);
}

#[tokio::test]
async fn a_pause_is_two_requests_and_a_resume_that_lets_a_waiter_in_is_three() {
    let fixture = Fixture::used("pause").await;

    fixture
        .done(Command::Pause(audit_note("upgrade"), None))
        .await;
    assert_eq!(fixture.requests(), ["GetItem 1", "TransactWriteItems 1"]);
    fixture.queued(&["b"]).await;
    let done = fixture
        .done(Command::Open(Opening::Resume, audit_note("upgraded")))
        .await;

    assert_eq!(woken(&done.effects)[0].0, holder("b"));
    assert_eq!(fixture.requests(), ["GetItem 2", "TransactWriteItems 1"]);
}

#[tokio::test]
async fn an_eviction_of_a_holder_or_a_waiter_is_three_requests() {
    let (fixture, token) = Fixture::held("evict").await;
    fixture.queued(&["b", "c"]).await;

    let holder_gone = fixture.done(evict("a", token)).await;
    assert_eq!(fixture.requests(), ["GetItem 2", "TransactWriteItems 1"]);
    let waiter_gone = fixture.done(drop_waiter("c")).await;

    let outcome = Some(RunOutcome::Evicted);
    assert_eq!(holder_gone.outcome, Outcome::Freed { outcome });
    assert_eq!(woken(&holder_gone.effects)[0].0, holder("b"));
    assert_eq!(waiter_gone.outcome, Outcome::Freed { outcome: None });
    assert!(matches!(waiter_gone.effects[..], [Effect::Dismiss(..)]));
    assert_eq!(fixture.requests(), ["GetItem 2", "TransactWriteItems 1"]);
}

#[tokio::test]
async fn a_page_of_the_sweep_is_one_request() {
    let (fixture, _) = Fixture::held("sweep").await;
    let end = fixture.record().await.due.unwrap();
    fixture.settle();

    let page = fixture
        .store()
        .due(shard(&fixture.lock), end, None)
        .await
        .unwrap();

    assert_eq!(page.locks[0].lock, fixture.lock);
    assert_eq!(fixture.requests(), ["Query 1"]);
}

#[tokio::test]
async fn noting_a_task_is_three_requests_and_noting_it_again_two() {
    let (fixture, token) = Fixture::held("note").await;
    let note = note_task(token);

    let first = fixture.outcome(note.clone()).await;
    assert_eq!(fixture.requests(), ["GetItem 2", "TransactWriteItems 1"]);
    let again = fixture.outcome(note.clone()).await;

    assert_eq!((first, again), (Outcome::Done, Outcome::Unchanged));
    assert_eq!(fixture.requests(), ["GetItem 2"]);
    fixture.done(release("a", token)).await;
    let run = fixture
        .store()
        .load_run(&fixture.lock, &RunId::Token(token))
        .await;
    let run = run.unwrap().unwrap();
    assert_eq!(run.outcome(), Some(RunOutcome::Succeeded));
    let task = run.task.expect("the noted task");
    assert_eq!(Command::NoteTask(NoteTask { token, task }), note);
}

#[tokio::test]
async fn a_due_lock_without_a_change_is_rescheduled_in_two_requests() {
    let (fixture, _) = Fixture::held("put-off").await;
    fixture.advance(Duration::from_secs(90));
    fixture.settle();

    fixture.outcome(Command::Reschedule).await;

    assert_eq!(fixture.requests(), ["GetItem 1", "UpdateItem 1"]);
    assert!(fixture.record().await.due.unwrap() > fixture.now());
}
