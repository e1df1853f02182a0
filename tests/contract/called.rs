//! How an operator names a holder or a waiter: by the whole name, by a part of the name, or not at all.

use crate::functions::Functions;
use crate::operate::act;
use crate::scene::{ask_with, assert_fails, execution, merged, status_of};
use serde_json::{Value, json};

fn evict(more: &Value) -> Value {
    act(
        "evict",
        merged(json!({ "lock": "nightly", "force": true }), more),
    )
}

/// Returns the functions with the holders `monday` and `tuesday`, and the waiters `wednesday` and `thursday`.
async fn crowded() -> Functions {
    let functions = Functions::running(&["monday", "tuesday", "wednesday", "thursday"]);
    for name in ["monday", "tuesday"] {
        functions
            .granted_with(ask_with(name, json!({ "permits": 2 })))
            .await;
    }
    for name in ["wednesday", "thursday"] {
        let token = format!("token-{name}");
        let more = json!({ "permits": 2, "overlap": "queue", "taskToken": token });
        assert_eq!(functions.status(ask_with(name, more)).await, "queued");
    }
    functions
}

#[tokio::test]
async fn a_part_of_one_name_only_stands_for_that_name() {
    for (part, status, expected) in [
        ("monday", "evicted", "monday"),
        ("tues", "evicted", "tuesday"),
        ("…uesda", "evicted", "tuesday"),
        ("wednes", "dropped", "wednesday"),
    ] {
        let functions = crowded().await;

        let evicted = functions.operate(evict(&json!({ "holder": part }))).await;

        assert_eq!(status_of(&evicted), status, "{part}");
        assert_eq!(evicted.unwrap()["holder"], execution(expected), "{part}");
    }
}

#[tokio::test]
async fn a_part_of_several_names_or_of_none_is_refused_with_the_names() {
    let functions = crowded().await;
    for (part, says) in [
        (
            "sday",
            vec![
                execution("tuesday"),
                execution("wednesday"),
                execution("thursday"),
            ],
        ),
        ("execution:report", vec!["none has this name".into()]),
        ("mon", vec!["4 characters or more".into()]),
        (
            "friday",
            vec!["a holder or a waiter of lock nightly".into()],
        ),
    ] {
        let refused = functions.operate(evict(&json!({ "holder": part }))).await;

        let mut says: Vec<_> = says.iter().map(String::as_str).collect();
        says.extend(["holder", part]);
        assert_fails(refused, "Lockstep.InvalidRequest", &says);
    }
    assert!(functions.executions.stops().is_empty());
    assert!(functions.events.published().is_empty());
}

/// Tables show an execution by its name without the state machine. That name may be the beginning of another
/// one.
#[tokio::test]
async fn a_whole_name_wins_over_the_same_text_in_a_longer_name() {
    for called in [execution("batch"), "batch".into()] {
        let functions = Functions::running(&["batch", "batch-2"]);
        for name in ["batch", "batch-2"] {
            let ask = ask_with(name, json!({ "permits": 2 }));
            functions.granted_with(ask).await;
        }

        let evicted = functions.operate(evict(&json!({ "holder": called }))).await;

        assert_eq!(evicted.unwrap()["holder"], execution("batch"), "{called}");
    }
}

#[tokio::test]
async fn the_only_holder_needs_no_name_once_it_has_held_for_a_minute() {
    let (functions, _) = Functions::held(&["monday"]).await;
    functions.wait(59);
    let early = functions.operate(evict(&json!({}))).await;
    functions.wait(1);

    let evicted = functions.operate(evict(&json!({}))).await;

    let parts = ["holder", &execution("monday"), "59 s ago"];
    assert_fails(early, "Lockstep.InvalidRequest", &parts);
    assert_eq!(evicted.unwrap()["holder"], execution("monday"));
}

#[tokio::test]
async fn without_a_name_none_of_several_holders_is_evicted() {
    let functions = crowded().await;
    functions.granted("other", "in-a-process").await;
    functions.ran("idle", "in-a-process").await;
    functions.wait(120);
    for (lock, says) in [
        ("nightly", [execution("monday"), execution("tuesday")]),
        (
            "idle",
            ["a waiter of lock idle".into(), "has no holder".into()],
        ),
    ] {
        let refused = functions.operate(evict(&json!({ "lock": lock }))).await;

        let says: Vec<_> = says.iter().map(String::as_str).collect();
        assert_fails(refused, "Lockstep.InvalidRequest", &says);
    }
    assert!(functions.executions.stops().is_empty());
}

/// An abandoned permit is freed while the work may still run, so the operator has to give the whole name.
#[tokio::test]
async fn a_permit_is_abandoned_by_the_whole_name_only() {
    let (functions, _) = Functions::at_work(&["monday"]).await;
    functions.wait(120);
    let stopping = functions.operate(evict(&json!({}))).await;
    assert_eq!(status_of(&stopping), "stopping");
    for (holder, says) in [
        (json!("monday"), execution("monday")),
        (Value::Null, "given".into()),
    ] {
        let mut request = evict(&json!({ "abandon": true }));
        if !holder.is_null() {
            request["holder"] = holder;
        }
        let refused = functions.operate(request).await;
        assert_fails(refused, "Lockstep.InvalidRequest", &["holder", &says]);
    }
    let whole = json!({ "abandon": true, "holder": execution("monday") });

    let abandoned = functions.operate(evict(&whole)).await;

    assert_eq!(status_of(&abandoned), "abandoned");
}

#[tokio::test]
async fn a_waiter_is_dropped_by_a_part_of_its_name_and_a_holder_is_not() {
    let functions = crowded().await;
    let drop = |part| act("drop-waiter", json!({ "lock": "nightly", "holder": part }));

    let refused = functions.operate(drop("monday")).await;
    let dropped = functions.operate(drop("thurs")).await;

    assert_fails(
        refused,
        "Lockstep.InvalidRequest",
        &["holder", "monday", "a waiter of lock"],
    );
    assert_eq!(dropped.unwrap()["holder"], execution("thursday"));
    assert_eq!(functions.record("nightly").await.unwrap().queue.len(), 1);
}

#[tokio::test]
async fn a_refusal_lists_five_names_and_counts_the_others() {
    for (count, more) in [(5, None), (7, Some("and 2 more"))] {
        let names: Vec<_> = (1..=count)
            .map(|number| format!("night-{number}"))
            .collect();
        let functions = Functions::new();
        for name in &names {
            functions.start(&[name]);
            let ask = ask_with(name, json!({ "permits": count }));
            functions.granted_with(ask).await;
        }

        let refused = functions
            .operate(evict(&json!({ "holder": "night" })))
            .await;

        let mut says: Vec<_> = names[..5].iter().map(|name| execution(name)).collect();
        says.extend(more.map(str::to_owned));
        let says: Vec<_> = says.iter().map(String::as_str).collect();
        let message = refused.as_ref().unwrap_err().to_string();
        assert_eq!(message.contains(" more"), more.is_some(), "{message}");
        assert!(!message.contains("night-6"), "{message}");
        assert_fails(refused, "Lockstep.InvalidRequest", &says);
    }
}
