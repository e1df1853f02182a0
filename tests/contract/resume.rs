//! A redriven execution asks whether its work may begin: it waits for the work of its last attempt.

use crate::ending::{exited, run_of};
use crate::functions::Functions;
use crate::scene::{assert_fails, assert_has, execution, merged, task};
use lockstep::domain::{CLOCK_SKEW, ExecutionEnd, Task};
use serde_json::{Value, json};

fn resume(grant: &Value, name: &str, count: u64) -> Value {
    let redrive = json!({ "grant": grant, "count": count });
    run_of(name, json!({ "redrive": redrive }))
}

#[tokio::test]
async fn a_redriven_run_waits_for_the_task_of_its_last_attempt() {
    let functions = Functions::running(&["a"]);
    let grant = functions.granted_with(run_of("a", json!({}))).await;
    let running = |started_at| Task {
        started_at: Some(started_at),
        ..task("t", 1, false)
    };
    // A task that has started within the clock skew of the call may belong to the next attempt, so the call
    // does not stop it.
    functions.put_task("a", running(functions.now()));
    for _ in 0..=CLOCK_SKEW.get() {
        let late = functions.status(resume(&grant, "a", 1)).await;
        assert_eq!(late, "Lockstep.LockHeld");
        assert!(functions.tasks.stops().is_empty());
        functions.wait(1);
    }

    let early = functions.status(resume(&grant, "a", 1)).await;
    functions.put_task("a", task("t", 2, true));
    let late = functions.acquire(resume(&grant, "a", 1)).await.unwrap();

    assert_eq!(early, "Lockstep.LockHeld");
    assert_eq!(functions.tasks.stops().len(), 1);
    assert_has(&late, json!({ "status": "alreadyHeld", "grant": grant }));
}

#[tokio::test]
async fn a_redrive_with_the_token_of_another_run_is_refused() {
    let functions = Functions::running(&["a", "b"]);
    let grant = functions.granted_with(run_of("a", json!({}))).await;
    functions.succeed(&grant).await;

    let forged = merged(grant.clone(), &json!({ "holder": execution("b") }));

    let own = functions.status(resume(&grant, "a", 1)).await;
    let other = functions.status(resume(&forged, "b", 1)).await;

    assert_eq!([own, other], ["finished", "Lockstep.LeaseLost"]);
}

#[tokio::test]
async fn a_redriven_run_whose_work_had_succeeded_does_not_repeat_it() {
    let functions = Functions::running(&["a"]);
    let key = json!({ "runKey": "tick" });
    let grant = functions.granted_with(run_of("a", key.clone())).await;
    functions.queue(&["c"]).await;
    functions.put_task("a", exited(0));

    for redrive in 1..=2 {
        let again = functions.status(resume(&grant, "a", redrive)).await;
        assert_eq!(again, "finished", "{redrive}");
    }
    assert_eq!(functions.output("token-c").unwrap()["status"], "granted");
    assert_eq!(functions.status(run_of("b", key)).await, "duplicate");
}

#[tokio::test]
async fn a_redriven_run_is_refused_after_another_grant_of_the_lock() {
    let functions = Functions::new();
    let grant = functions.granted_with(run_of("a", json!({}))).await;
    functions.end("a", ExecutionEnd::Aborted);
    functions.wait(30);
    functions.granted_with(run_of("b", json!({}))).await;

    let refused = functions.status(resume(&grant, "a", 1)).await;

    assert_eq!(refused, "Lockstep.LeaseLost");
}

#[tokio::test]
async fn a_redrive_with_a_foreign_grant_is_refused_with_its_field() {
    let functions = Functions::new();
    let grant = functions.granted_with(run_of("a", json!({}))).await;
    let mut other = resume(&grant, "b", 1);
    other["redrive"]["grant"]["lock"] = "other".into();
    let none = resume(&grant, "a", 0);
    let many = resume(&grant, "a", 1001);

    for (request, field) in [
        (other, "redrive.grant.lock"),
        (resume(&grant, "b", 1), "redrive.grant.holder"),
        (none, "redrive.count"),
        (many, "redrive.count"),
    ] {
        let answer = functions.acquire(request).await;
        assert_fails(answer, "Lockstep.InvalidRequest", &[field]);
    }
}
