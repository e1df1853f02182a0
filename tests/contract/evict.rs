//! How operate evicts holders and drops waiters.

use crate::faulty::Faulty;
use crate::functions::{Functions, key};
use crate::operate::act;
use crate::scene::{ask, ask_with, execution, task, waiting, work};
use lockstep::contract::EventKind;
use lockstep::domain::{
    CLOCK_SKEW, DEAD_AFTER, ExecutionEnd, FencingToken, HolderId, RunId, WaiterId,
};
use lockstep::executions::memory::ExecutionsCall;
use lockstep::store::LockStore;
use lockstep::tasks::TasksError;
use lockstep::tasks::memory::TasksCall;
use serde_json::json;

#[tokio::test]
async fn a_holder_that_is_alive_is_evicted_only_by_force() {
    let functions = Functions::new();
    functions.start(&["a"]);
    functions.granted_with(ask("a")).await;
    functions.granted("other", "in-a-process").await;
    for (lock, holder, why) in [
        ("nightly", execution("a"), "its execution runs"),
        ("other", "in-a-process".into(), "its lease lasts until"),
    ] {
        let evict = act("evict", json!({ "lock": lock, "holder": holder }));
        let refused = functions.operate(evict).await.unwrap_err();

        assert_eq!(refused.name().as_str(), "Lockstep.LockHeld", "{lock}");
        for part in [holder.as_str(), why, "force: true"] {
            assert!(
                refused.message().contains(part),
                "{part:?} not in {refused}"
            );
        }
        assert_eq!(functions.holders(lock).await, [holder]);
    }
    assert!(functions.executions.stops().is_empty());
}

#[tokio::test]
async fn a_heartbeat_meanwhile_keeps_a_run_that_had_ended_but_not_one_that_is_evicted_by_force() {
    for (force, expected) in [(true, Ok("stopping")), (false, Err("Lockstep.LockHeld"))] {
        let functions = Functions::new();
        functions.start(&["a"]);
        let grant = functions.granted_with(ask("a")).await;
        functions.end("a", ExecutionEnd::Aborted);
        // DescribeExecution may lag behind a redrive for a minute.
        functions.wait(120);
        let table = Faulty::renewed_behind_a_read(&functions, grant);
        let evict = act(
            "evict",
            json!({ "lock": "nightly", "holder": execution("a"), "force": force }),
        );

        let answer = functions.operate_on(table, evict).await;

        let status = answer
            .as_ref()
            .map(|answer| answer["status"].as_str().unwrap());
        let status = status.map_err(|error| error.name().as_str());
        assert_eq!(status, expected, "force: {force}");
    }
}

#[tokio::test]
async fn a_dead_holder_is_evicted_at_once_with_note_and_actor() {
    let functions = Functions::new();
    functions.start(&["a", "b"]);
    functions.granted_with(ask("a")).await;
    functions.acquire(waiting("b", "token-b")).await.unwrap();
    functions.end("a", ExecutionEnd::Failed);
    functions.wait(90);

    let evict = act(
        "evict",
        json!({ "lock": "nightly", "holder": execution("a") }),
    );
    let evicted = functions.operate(evict).await.unwrap();

    assert_eq!(evicted["status"], "evicted");
    assert_eq!(functions.output("token-b").unwrap()["status"], "granted");
    let event = functions.event(EventKind::RunEvicted);
    let reason = "upgrade (by jo@example.com); the execution is FAILED";
    assert_eq!(event.reason, reason);
}

#[tokio::test]
async fn a_holder_that_was_redriven_a_moment_ago_is_not_evicted_by_its_old_end() {
    let functions = Functions::new();
    functions.start(&["a"]);
    let grant = functions.granted_with(ask("a")).await;
    functions.end("a", ExecutionEnd::Failed);
    functions.wait(20);
    let beat = json!({ "grant": grant });
    functions.heartbeat(beat).await.unwrap();
    let evict = act(
        "evict",
        json!({ "lock": "nightly", "holder": execution("a") }),
    );

    let refused = functions.operate(evict).await.unwrap_err();

    assert_eq!(refused.name().as_str(), "Lockstep.LockHeld");
    let message = refused.message();
    assert!(message.contains("may have been redriven"), "{message}");
    assert_eq!(functions.holders("nightly").await, [execution("a")]);
    let record = functions.record("nightly").await.unwrap();
    assert!(record.holders.values().all(|lease| lease.ending.is_none()));
}

#[tokio::test]
async fn a_dead_holder_that_cannot_be_read_is_evicted_only_by_force() {
    for case in ["its execution", "its work"] {
        let functions = Functions::new();
        functions.start(&["a"]);
        let with_work = json!({ "work": { "cluster": work().cluster } });
        functions.granted_with(ask_with("a", with_work)).await;
        if case == "its execution" {
            functions.lose_every(ExecutionsCall::Describe);
        } else {
            functions.end("a", ExecutionEnd::Failed);
            let denied = TasksError::Denied("no permission".into());
            functions.tasks.fail_every(TasksCall::OfGroup, denied);
        }
        functions.wait(100);
        let request = json!({ "lock": "nightly", "holder": execution("a") });

        let refused = functions.operate(act("evict", request)).await.unwrap_err();
        let force = json!({ "lock": "nightly", "holder": execution("a"), "force": true });
        let evicted = functions.operate(act("evict", force)).await.unwrap();

        assert_eq!(refused.name().as_str(), "Lockstep.LockHeld", "{case}");
        let message = refused.message();
        assert!(message.contains("is alive cannot be read"), "{message}");
        assert_eq!(evicted["status"], "evicted", "{case}");
    }
}

#[tokio::test]
async fn a_holder_with_nothing_but_its_lease_is_evicted_when_that_may_be_judged_dead() {
    let holder = "in-a-process";
    let functions = Functions::new();
    let grant = functions.granted("nightly", holder).await;
    let evict = act("evict", json!({ "lock": "nightly", "holder": holder }));
    functions.wait(60 + u64::from(CLOCK_SKEW.get()));
    let early = functions.operate(evict.clone()).await.unwrap_err();
    assert_eq!(early.name().as_str(), "Lockstep.LockHeld", "{holder}");
    functions.wait(u64::from(DEAD_AFTER.get() - CLOCK_SKEW.get()));

    let evicted = functions.operate(evict).await.unwrap();

    assert_eq!(evicted["status"], "evicted", "{holder}");
    let event = functions.event(EventKind::RunEvicted);
    let token = event.token.map(FencingToken::number);
    assert_eq!(token, grant["token"].as_u64(), "{holder}");
}

#[tokio::test]
async fn an_evicted_run_is_stopped_before_its_permit_is_free() {
    let functions = Functions::new();
    functions.start(&["a", "b"]);
    let with_work = json!({ "work": { "cluster": work().cluster } });
    let grant = functions.granted_with(ask_with("a", with_work)).await;
    functions.put_task("a", task("busy", 1, false));
    functions.acquire(waiting("b", "token-b")).await.unwrap();
    let force = json!({ "lock": "nightly", "holder": execution("a"), "force": true });

    let began = functions.now();
    let stopping = functions
        .operate(act("evict", force.clone()))
        .await
        .unwrap();

    assert_eq!(stopping["status"], "stopping");
    assert_eq!(functions.now().millis_since(began), 20_000);
    assert_eq!(functions.executions.stops().len(), 1, "one stop in 20 s");
    assert_eq!(functions.tasks.stops().len(), 1);
    assert_eq!(functions.output("token-b"), None, "its task still runs");
    let late = functions.refused_beat(&grant, "token-a").await;
    assert_eq!(late, "Lockstep.LeaseLost");

    functions.put_task("a", task("busy", 2, true));
    let evicted = functions.operate(act("evict", force)).await.unwrap();

    assert_eq!(evicted["status"], "evicted");
    assert_eq!(functions.output("token-b").unwrap()["status"], "granted");
    let run = functions.run_of(&grant).unwrap().end.unwrap();
    assert_eq!(run.outcome.as_str(), "evicted");
    let evidence = run.evidence.unwrap();
    assert!(
        evidence.contains("upgrade (by jo@example.com)"),
        "{evidence}"
    );
    assert!(
        functions
            .event(EventKind::RunEvicted)
            .reason
            .contains("by jo@example.com")
    );
}

#[tokio::test]
async fn the_sweep_finishes_an_eviction() {
    let functions = Functions::new();
    functions.start(&["a"]);
    let with_work = json!({ "work": { "cluster": work().cluster } });
    let grant = functions.granted_with(ask_with("a", with_work)).await;
    functions.put_task("a", task("busy", 1, false));
    let force = json!({ "lock": "nightly", "holder": execution("a"), "force": true });
    let stopping = functions.operate(act("evict", force)).await.unwrap();
    assert_eq!(stopping["status"], "stopping");

    functions.put_task("a", task("busy", 2, true));
    functions.wait(120);
    functions.sweep().await;

    assert!(functions.holders("nightly").await.is_empty());
    let run = functions.run_of(&grant).unwrap().end.unwrap();
    assert_eq!(run.outcome.as_str(), "evicted");
}

#[tokio::test]
async fn work_that_does_not_belong_to_the_lock_is_not_stopped_by_force_either() {
    let functions = Functions::new();
    functions.start(&["victim"]);
    functions.executions.disown(&crate::scene::arn("victim"));
    functions.granted_with(ask("victim")).await;
    let force = json!({ "lock": "nightly", "holder": execution("victim"), "force": true });

    let response = functions.operate(act("evict", force)).await.unwrap();

    assert_eq!(response["status"], "stopping");
    assert!(functions.executions.stops().is_empty());
    let event = functions.event(EventKind::EvidenceMissing);
    assert!(event.reason.contains("names the lock"), "{}", event.reason);
}

#[tokio::test]
async fn a_waiter_is_dropped_by_its_holder_or_its_id_and_its_execution_ends() {
    let functions = Functions::new();
    functions.granted_with(ask("a")).await;
    for name in ["b", "c", "d"] {
        let token = format!("token-{name}");
        functions.acquire(waiting(name, &token)).await.unwrap();
    }
    let id = WaiterId::of(&HolderId::new(execution("c")).unwrap());
    for (act, name) in [
        (
            act(
                "drop-waiter",
                json!({ "lock": "nightly", "holder": execution("b") }),
            ),
            "b",
        ),
        (
            act(
                "drop-waiter",
                json!({ "lock": "nightly", "id": id.as_str() }),
            ),
            "c",
        ),
        (
            act(
                "evict",
                json!({ "lock": "nightly", "holder": execution("d") }),
            ),
            "d",
        ),
    ] {
        let dropped = functions.operate(act).await.unwrap();
        assert_eq!(dropped["status"], "dropped", "{name}");
        assert_eq!(dropped["holder"], execution(name));
        let output = functions.output(&format!("token-{name}")).unwrap();
        assert_eq!(output["status"], "gaveUp", "{name}");
    }
    assert!(functions.record("nightly").await.unwrap().queue.is_empty());
    assert_eq!(functions.events.kinds(), [EventKind::RunEvicted; 3]);
    let items = functions.store.items(&key("nightly"));
    let mut acts = items
        .runs
        .iter()
        .filter(|(id, _)| matches!(id, RunId::Act(_)));
    let note = acts
        .next()
        .and_then(|(_, act)| act.end.clone()?.evidence)
        .unwrap();
    assert_eq!(
        note,
        format!("waiter {}: upgrade (by jo@example.com)", execution("b"))
    );
}

#[tokio::test]
async fn a_waiter_without_a_readable_item_is_dropped_by_its_id_and_the_next_one_is_let_in() {
    let functions = Functions::new();
    functions.start(&["b", "c"]);
    let grant = functions.granted_with(ask("a")).await;
    functions.acquire(waiting("b", "token-b")).await.unwrap();
    functions.acquire(waiting("c", "token-c")).await.unwrap();
    let id = WaiterId::of(&HolderId::new(execution("b")).unwrap());
    let damaged = Faulty::damaged_waiter(&functions, id.clone());
    let release = json!({ "grant": grant, "outcome": "succeeded" });
    let stuck = functions
        .release_on(&damaged, release.clone())
        .await
        .unwrap_err();
    assert_eq!(
        stuck.name().as_str(),
        "Lockstep.Corrupt",
        "b keeps a from its release"
    );
    let shown = json!({ "act": "show", "lock": "nightly" });
    let shown = functions.operate_on(&damaged, shown).await.unwrap();
    assert_eq!(shown["waiters"][0]["id"], id.as_str());
    assert!(
        shown["waiters"][0]["problem"]
            .as_str()
            .unwrap()
            .contains("permits")
    );

    let drop = act(
        "drop-waiter",
        json!({ "lock": "nightly", "id": id.as_str() }),
    );
    let dropped = functions.operate_on(&damaged, drop).await.unwrap();

    assert_eq!(dropped["holder"], id.as_str());
    functions.release_on(&damaged, release).await.unwrap();
    assert_eq!(functions.output("token-c").unwrap()["status"], "granted");
    let item = functions
        .store
        .load_waiter(&key("nightly"), &id)
        .await
        .unwrap();
    assert_eq!(item, None);
}
