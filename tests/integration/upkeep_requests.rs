//! What an operator's acts, the sweep and the history cost.

use crate::fixture::{Ask, Fixture, acquire, audit_note, evict, holder, release, woken};
use lockstep::domain::{Command, Effect, NoteTask, Outcome, RunId, RunOutcome, TaskEnd};
use lockstep::store::{LockStore, shard};
use std::time::Duration;

#[tokio::test]
async fn a_pause_is_two_requests_and_a_resume_that_lets_a_waiter_in_is_three() {
    let fixture = Fixture::used("pause").await;

    fixture
        .done(Command::Pause(audit_note("upgrade"), None))
        .await;
    assert_eq!(fixture.requests(), ["GetItem 1", "TransactWriteItems 1"]);
    fixture.queued(&["b"]).await;
    fixture.settle();
    let done = fixture.done(Command::Resume(audit_note("upgraded"))).await;

    assert_eq!(woken(&done.effects)[0].0, holder("b"));
    assert_eq!(fixture.requests(), ["GetItem 2", "TransactWriteItems 1"]);
}

#[tokio::test]
async fn an_eviction_of_a_holder_or_a_waiter_is_three_requests() {
    let fixture = Fixture::used("evict").await;
    fixture.granted(acquire("a")).await;
    fixture.queued(&["b", "c"]).await;
    fixture.settle();

    let holder_gone = fixture.done(evict("a")).await;
    assert_eq!(fixture.requests(), ["GetItem 2", "TransactWriteItems 1"]);
    let waiter_gone = fixture.done(evict("c")).await;

    let outcome = Some(RunOutcome::Evicted);
    assert_eq!(holder_gone.outcome, Outcome::Freed { outcome });
    assert_eq!(woken(&holder_gone.effects)[0].0, holder("b"));
    assert_eq!(waiter_gone.outcome, Outcome::Freed { outcome: None });
    assert!(matches!(waiter_gone.effects[..], [Effect::Dismiss(..)]));
    assert_eq!(fixture.requests(), ["GetItem 2", "TransactWriteItems 1"]);
}

#[tokio::test]
async fn a_page_of_the_sweep_is_one_request() {
    let fixture = Fixture::used("sweep").await;
    fixture.granted(acquire("a")).await;
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
async fn a_noted_task_is_three_requests_and_an_old_one_two() {
    let fixture = Fixture::used("note").await;
    let token = fixture.granted(acquire("a")).await;
    fixture.settle();
    let task = TaskEnd {
        arn: "arn:aws:ecs:eu-west-1:123456789012:task/batches/4f".into(),
        version: 3,
        runtime_id: None,
        exit_code: Some(137),
        reason: Some("OutOfMemoryError: container killed".into()),
    };
    let note = Command::NoteTask(NoteTask {
        token,
        task: task.clone(),
    });

    let first = fixture.outcome(note.clone()).await;
    assert_eq!(fixture.requests(), ["GetItem 2", "TransactWriteItems 1"]);
    let again = fixture.outcome(note.ask()).await;

    assert_eq!((first, again), (Outcome::Done, Outcome::Unchanged));
    assert_eq!(fixture.requests(), ["GetItem 2"]);
    fixture.done(release("a", token)).await;
    let run = fixture
        .store()
        .load_run(&fixture.lock, &RunId::Token(token))
        .await;
    let run = run.unwrap().unwrap();
    assert_eq!(
        (run.outcome(), run.task),
        (Some(RunOutcome::Succeeded), Some(task))
    );
}

#[tokio::test]
async fn a_lock_that_comes_up_in_vain_is_put_off_in_two_requests() {
    let fixture = Fixture::used("put-off").await;
    fixture.granted(acquire("a")).await;
    fixture.advance(Duration::from_secs(90));
    fixture.settle();

    fixture.outcome(Command::Reschedule).await;

    assert_eq!(fixture.requests(), ["GetItem 1", "UpdateItem 1"]);
    assert!(fixture.record().await.due.unwrap() > fixture.now());
}
