//! The acts `evict` and `drop-waiter`.

use crate::faulty::{Behind, Faulty};
use crate::functions::{Functions, key};
use crate::operate::{act, evict, evict_by_force};
use crate::scene::{
    arn, ask, assert_fails, assert_says, execution, in_tasks, merged, status_of, task,
};
use lockstep::contract::EventKind;
use lockstep::domain::{
    CLOCK_SKEW, DEAD_AFTER, ExecutionEnd, FencingToken, HolderId, RunOutcome, WaiterId,
};
use lockstep::executions::memory::ExecutionsCall;
use lockstep::store::LockStore;
use lockstep::tasks::TasksError;
use lockstep::tasks::memory::TasksCall;
use serde_json::json;

#[tokio::test]
async fn a_holder_that_is_alive_is_evicted_only_by_force() {
    let (functions, _) = Functions::held(&["a"]).await;
    functions.granted("other", "in-a-process").await;
    for (lock, holder, why) in [
        ("nightly", execution("a"), "its execution runs"),
        ("other", "in-a-process".into(), "its lease lasts until"),
    ] {
        let evict = act("evict", json!({ "lock": lock, "holder": holder }));
        let refused = functions.operate(evict).await;

        let parts = [holder.as_str(), why, "force: true"];
        assert_fails(refused, "Lockstep.LockHeld", &parts);
        assert_eq!(functions.holders(lock).await, [holder]);
    }
    assert!(functions.executions.stops().is_empty());
}

#[tokio::test]
async fn a_heartbeat_meanwhile_prevents_only_an_eviction_without_force() {
    for (force, expected) in [(true, "stopping"), (false, "Lockstep.LockHeld")] {
        let (functions, grant) = Functions::held(&["a"]).await;
        functions.end("a", ExecutionEnd::Aborted);
        // After 120 s, the end counts even if DescribeExecution lags a minute behind a redrive.
        functions.wait(120);
        let table = Faulty::behind_a_read(&functions, grant, Behind::Renewed);
        let evict = merged(evict("a"), &json!({ "force": force }));

        let answer = functions.operate_on(table, evict).await;

        assert_eq!(status_of(&answer), expected, "force: {force}");
    }
}

#[tokio::test]
async fn a_dead_holder_is_evicted_at_once_with_note_and_actor() {
    let (functions, _) = Functions::held(&["a", "b"]).await;
    functions.queue(&["b"]).await;
    functions.end("a", ExecutionEnd::Failed);
    functions.wait(90);

    let evicted = functions.operate(evict("a")).await;

    assert_eq!(status_of(&evicted), "evicted");
    assert_eq!(functions.output("token-b").unwrap()["status"], "granted");
    let reason = "upgrade (by jo@example.com); the execution is FAILED";
    assert_eq!(functions.event(EventKind::RunEvicted).reason, reason);
}

#[tokio::test]
async fn a_redriven_holder_is_not_evicted_because_of_its_old_end() {
    let (functions, grant) = Functions::held(&["a"]).await;
    functions.end("a", ExecutionEnd::Failed);
    functions.wait(20);
    functions.renew(&grant).await;

    let refused = functions.operate(evict("a")).await;

    assert_fails(refused, "Lockstep.LockHeld", &["may have been redriven"]);
    assert_eq!(functions.holders("nightly").await, [execution("a")]);
    let record = functions.record("nightly").await.unwrap();
    assert!(
        record
            .holders
            .values()
            .all(|lease| lease.exit.ending.is_none())
    );
}

#[tokio::test]
async fn a_holder_without_readable_evidence_is_evicted_only_by_force() {
    for case in ["its execution", "its work"] {
        let (functions, _) = Functions::held_with(&["a"], in_tasks()).await;
        if case == "its execution" {
            functions.lose_every(ExecutionsCall::Describe);
        } else {
            functions.end("a", ExecutionEnd::Failed);
            let denied = TasksError::Denied("no permission".into());
            functions.tasks.fail_every(TasksCall::OfGroup, denied);
        }
        functions.wait(100);

        let refused = functions.operate(evict("a")).await;
        let evicted = functions.operate(evict_by_force("a")).await;

        assert_fails(refused, "Lockstep.LockHeld", &["is alive cannot be read"]);
        assert_eq!(status_of(&evicted), "evicted", "{case}");
    }
}

#[tokio::test]
async fn a_process_is_evicted_without_force_once_its_lease_is_dead() {
    let holder = "in-a-process";
    let functions = Functions::new();
    let grant = functions.granted("nightly", holder).await;
    let evict = act("evict", json!({ "lock": "nightly", "holder": holder }));
    functions.wait(60 + u64::from(CLOCK_SKEW.get()));
    let early = functions.operate(evict.clone()).await;
    assert_eq!(status_of(&early), "Lockstep.LockHeld");
    functions.wait(u64::from(DEAD_AFTER.get() - CLOCK_SKEW.get()));

    let evicted = functions.operate(evict).await;

    assert_eq!(status_of(&evicted), "evicted");
    let event = functions.event(EventKind::RunEvicted);
    let token = event.token.map(FencingToken::number);
    assert_eq!(token, grant["token"].as_u64());
}

#[tokio::test]
async fn a_process_that_renews_during_its_eviction_keeps_its_permit() {
    let holder = "in-a-process";
    for (behind, expected) in [
        (Behind::Renewed, "Lockstep.LockHeld"),
        (Behind::Released, "evicted"),
    ] {
        let functions = Functions::new();
        let grant = functions.granted("nightly", holder).await;
        functions.wait(90);
        let table = Faulty::behind_a_read(&functions, grant, behind);
        let evict = act("evict", json!({ "lock": "nightly", "holder": holder }));

        let answer = functions.operate_on(table, evict).await;

        assert_eq!(status_of(&answer), expected);
        let kept = functions.holders("nightly").await;
        assert_eq!(kept.is_empty(), expected == "evicted", "{kept:?}");
        let kinds = functions.events.kinds();
        assert!(!kinds.contains(&EventKind::RunEvicted), "{kinds:?}");
    }
}

#[tokio::test]
async fn an_eviction_frees_the_permit_only_after_the_work_has_stopped() {
    for by_sweep in [false, true] {
        let (functions, grant) = Functions::at_work(&["a", "b"]).await;
        functions.queue(&["b"]).await;

        let began = functions.now();
        let stopping = functions.operate(evict_by_force("a")).await;

        assert_eq!(status_of(&stopping), "stopping");
        assert_eq!(functions.now().millis_since(began), 20_000);
        assert_eq!(
            functions.executions.stops().len(),
            1,
            "one StopExecution in 20 s"
        );
        assert_eq!(functions.tasks.stops().len(), 1);
        assert_eq!(functions.output("token-b"), None, "its task still runs");
        let late = functions.try_beat(&grant, "token-a").await;
        assert_eq!(status_of(&late), "Lockstep.LeaseLost");

        functions.put_task("a", task("t", 2, true));
        if by_sweep {
            functions.wait(120);
            functions.sweep().await;
        } else {
            let evicted = functions.operate(evict_by_force("a")).await;
            assert_eq!(status_of(&evicted), "evicted");
        }

        assert_eq!(functions.output("token-b").unwrap()["status"], "granted");
        let outcome = functions.outcome_of(&grant);
        assert_eq!(outcome, RunOutcome::Evicted, "by the sweep: {by_sweep}");
        let event = functions.event(EventKind::RunEvicted);
        let end = functions.run_of(&grant).unwrap().end.unwrap();
        for text in [end.evidence.unwrap(), event.reason] {
            assert_says(&text, "upgrade (by jo@example.com)");
        }
    }
}

#[tokio::test]
async fn force_stops_no_execution_that_does_not_name_the_lock() {
    let functions = Functions::running(&["victim"]);
    functions.executions.disown(&arn("victim"));
    functions.granted_with(ask("victim")).await;

    let response = functions.operate(evict_by_force("victim")).await;

    assert_eq!(status_of(&response), "stopping");
    assert!(functions.executions.stops().is_empty());
    let reason = functions.event(EventKind::EvidenceMissing).reason;
    assert_says(&reason, "names the lock");
}

#[tokio::test]
async fn a_waiter_is_dropped_by_its_holder_or_by_its_id() {
    let (functions, _) = Functions::held(&["a"]).await;
    functions.queue(&["b", "c", "d"]).await;
    let id = WaiterId::of(&HolderId::new(execution("c")).unwrap());
    let by_holder = json!({ "lock": "nightly", "holder": execution("b") });
    let by_id = json!({ "lock": "nightly", "id": id.as_str() });
    for (request, name) in [
        (act("drop-waiter", by_holder), "b"),
        (act("drop-waiter", by_id), "c"),
        (evict("d"), "d"),
    ] {
        let dropped = functions.operate(request).await.unwrap();
        assert_eq!(dropped["status"], "dropped", "{name}");
        assert_eq!(dropped["holder"], execution(name));
        let output = functions.output(&format!("token-{name}")).unwrap();
        assert_eq!(output["status"], "gaveUp", "{name}");
    }
    assert!(functions.record("nightly").await.unwrap().queue.is_empty());
    assert_eq!(functions.events.kinds(), [EventKind::RunEvicted; 3]);
    let items = functions.store.items(&key("nightly"));
    let note = items.acts.values().next().unwrap().note.clone().unwrap();
    let expected = format!("waiter {}: upgrade (by jo@example.com)", execution("b"));
    assert_eq!(note, expected);
}

#[tokio::test]
async fn a_waiter_with_an_unreadable_item_is_dropped_by_its_id() {
    let (functions, grant) = Functions::held(&["a", "b", "c"]).await;
    functions.queue(&["b", "c"]).await;
    let id = WaiterId::of(&HolderId::new(execution("b")).unwrap());
    let damaged = Faulty::damaged_waiter(&functions, id.clone());
    let release = json!({ "grant": grant, "outcome": "succeeded" });
    let stuck = functions.release_on(&damaged, release.clone()).await;
    assert_fails(stuck, "Lockstep.Corrupt", &[]);
    let shown = json!({ "act": "show", "lock": "nightly" });
    let shown = functions.operate_on(&damaged, shown).await.unwrap();
    assert_eq!(shown["waiters"][0]["id"], id.as_str());
    let problem = shown["waiters"][0]["problem"].as_str().unwrap();
    assert_says(problem, "permits");

    let by_id = json!({ "lock": "nightly", "id": id.as_str() });
    let drop = act("drop-waiter", by_id);
    let dropped = functions.operate_on(&damaged, drop).await.unwrap();

    assert_eq!(dropped["holder"], id.as_str());
    functions.release_on(&damaged, release).await.unwrap();
    assert_eq!(functions.output("token-c").unwrap()["status"], "granted");
    let item = functions.store.load_waiter(&key("nightly"), &id).await;
    assert_eq!(item.unwrap(), None);
}

/// No check has seen the end of the run, so its release publishes the event.
#[tokio::test]
async fn the_release_of_an_evicted_run_reports_its_eviction() {
    let (functions, grant) = Functions::at_work(&["a"]).await;
    let stopping = functions.operate(evict_by_force("a")).await;
    assert_eq!(status_of(&stopping), "stopping");

    functions.finish(&grant, "failed").await;

    assert_says(
        &functions.event(EventKind::RunEvicted).reason,
        "upgrade (by jo@example.com)",
    );
    let evictions = functions.events.kinds();
    let evictions = evictions
        .iter()
        .filter(|kind| **kind == EventKind::RunEvicted);
    assert_eq!(evictions.count(), 1);
}

#[tokio::test]
async fn a_permit_is_abandoned_only_by_force_and_after_a_failed_stop() {
    let (functions, grant) = Functions::at_work(&["a", "b"]).await;
    functions.beat(&grant, "beat-a").await;
    functions.queue(&["b"]).await;
    let abandon = merged(evict_by_force("a"), &json!({ "abandon": true }));
    let unforced = merged(evict("a"), &json!({ "abandon": true }));

    let without_force = functions.operate(unforced).await;
    let before_a_stop = functions.operate(abandon.clone()).await;
    assert!(
        functions.tasks.stops().is_empty(),
        "a refused act stops nothing"
    );
    let stopping = functions.operate(evict_by_force("a")).await;
    assert_eq!(functions.output("token-b"), None, "its task still runs");
    let abandoned = functions.operate(abandon).await;

    assert_fails(
        without_force,
        "Lockstep.InvalidRequest",
        &["abandon", "force"],
    );
    let parts = ["abandon", &execution("a"), "`force` first"];
    assert_fails(before_a_stop, "Lockstep.InvalidRequest", &parts);
    assert_eq!(status_of(&stopping), "stopping");
    assert_eq!(status_of(&abandoned), "abandoned");
    assert_eq!(functions.output("token-b").unwrap()["status"], "granted");
    let end = functions.run_of(&grant).unwrap().end.unwrap();
    assert_eq!(end.outcome, RunOutcome::Evicted);
    let message = abandoned.unwrap()["message"].as_str().unwrap().to_owned();
    let event = functions.event(EventKind::RunEvicted);
    let token = format!("fencing token {}", grant["token"]);
    for text in [&end.evidence.unwrap(), &event.reason, &message] {
        assert_says(text, &token);
        assert_says(text, "its work may still run");
    }
    assert_says(&event.reason, "upgrade (by jo@example.com)");
    let shown = functions.shown().await;
    assert_eq!(
        shown["withoutPermit"][0]["holder"],
        execution("a"),
        "{shown}"
    );
}
