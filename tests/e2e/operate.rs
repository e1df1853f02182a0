//! Operators on the deployed stack: many locks at once, an eviction, and calls that die.

use crate::stack;
use crate::support::{alone, at_work, connect, in_queue, ran_alone_but_stopped, runs_after};
use lockstep::domain::{Timestamp, rfc3339};
use lockstep_tests::judge::{Expected, Violation};
use lockstep_tests::stack::{FunctionError, Stack, now, pause, unique, until};
use serde_json::{Value, json};

/// Invokes operate with `act`, a note, an actor and the fields of `more`.
pub(crate) async fn operate(stack: &Stack, act: &str, more: Value) -> Result<Value, FunctionError> {
    let mut request = json!({ "act": act, "note": "e2e", "actor": "jo@example.com" });
    let fields = more.as_object().expect("fields").clone();
    request.as_object_mut().expect("an object").extend(fields);
    stack
        .invoke(stack.output("OperateFunctionArn"), &request)
        .await
}

/// Invokes view with `request`.
pub(crate) async fn view(stack: &Stack, request: Value) -> Value {
    let answer = stack
        .invoke(stack.output("ViewFunctionArn"), &request)
        .await;
    answer.unwrap_or_else(|error| panic!("{request}: {error:?}"))
}

/// Makes `count` idle locks with the prefix `name`. Each was granted and released once.
async fn idle_locks(stack: &Stack, name: &str, count: usize) {
    let locks: Vec<_> = (0..count)
        .map(|number| format!("{name}/{number:03}"))
        .collect();
    for some in locks.chunks(20) {
        let use_once = some.iter().map(async |lock| {
            let acquire = json!({ "lock": lock, "holder": "once" });
            let acquire = stack
                .invoke(stack.output("AcquireLockFunctionArn"), &acquire)
                .await;
            let grant = acquire.expect("a grant")["grant"].clone();
            let release = json!({ "grant": grant, "outcome": "succeeded" });
            let release = stack
                .invoke(stack.output("ReleaseLockFunctionArn"), &release)
                .await;
            release.expect("a release");
        });
        futures_util::future::join_all(use_once).await;
    }
    until("the index", 15, async || {
        listed(stack, name, None).await.len() == count
    })
    .await;
}

/// Returns the locks with the prefix from all pages of the list: those in `state`, or all.
async fn listed(stack: &Stack, prefix: &str, state: Option<&str>) -> Vec<String> {
    let mut request = json!({ "act": "list", "prefix": prefix, "limit": 100 });
    if let Some(state) = state {
        request["state"] = json!(state);
    }
    let mut locks = Vec::new();
    loop {
        let page = view(stack, request.clone()).await;
        let page_locks = page["locks"].as_array().expect("locks").iter();
        locks.extend(page_locks.map(|of| of["lock"].as_str().expect("a name").to_owned()));
        match page.get("next") {
            Some(next) => request["next"] = next.clone(),
            None => return locks,
        }
    }
}

/// Repeats the act with each `next` until all locks of the prefix are done. Returns how many locks
/// it changed.
async fn to_the_end(stack: &Stack, act: &str, mut fields: Value) -> u64 {
    let mut done = 0;
    loop {
        let answer = operate(stack, act, fields.clone())
            .await
            .expect("an answer");
        assert_eq!(answer.get("failed"), None, "{answer}");
        done += answer["done"].as_u64().expect("a count");
        match answer.get("next") {
            Some(next) => fields["next"] = next.clone(),
            None => return done,
        }
    }
}

#[tokio::test]
async fn two_hundred_locks_are_paused_by_prefix_and_resumed() {
    let (stack, name) = (stack().await, unique("many"));
    idle_locks(&stack, &name, 200).await;
    let began = now();

    let paused = to_the_end(&stack, "pause", json!({ "prefix": name })).await;
    let took = now() - began;
    let all = listed(&stack, &name, Some("paused")).await;
    let resumed = to_the_end(&stack, "resume", json!({ "prefix": name })).await;

    eprintln!("figure: 200 locks paused in {took} ms");
    assert_eq!((paused, all.len(), resumed), (200, 200, 200));
    assert!(all.is_sorted());
    assert_eq!(listed(&stack, &name, Some("idle")).await.len(), 200);
}

#[tokio::test]
async fn two_hundred_locks_are_paused_by_prefix_until_a_time_and_resumed_by_it() {
    let (stack, name) = (stack().await, unique("until"));
    idle_locks(&stack, &name, 200).await;
    let end = now() + 30_000;
    let until = rfc3339(Timestamp::from_millis(end));

    let paused = to_the_end(&stack, "pause", json!({ "prefix": name, "until": until })).await;
    let refused = format!("{name}/000");
    let refused = json!({ "lock": refused, "holder": "early", "overlap": "fail" });
    let acquire = stack.output("AcquireLockFunctionArn");
    let refused = stack.invoke(acquire, &refused).await;
    pause(end.saturating_sub(now())).await;
    let lock = format!("{name}/199");
    let granted = json!({ "lock": lock, "holder": "after" });
    let granted = stack.invoke(acquire, &granted).await.expect("an answer");
    until_resumed(&stack, &name).await;

    assert_eq!(paused, 200);
    let refused = refused.expect_err("it is paused");
    assert_eq!(refused.error_type, "Lockstep.LockPaused");
    assert!(refused.message.contains(&until), "{refused:?}");
    assert_eq!(granted["status"], "granted");
    eprintln!(
        "figure: 200 locks resumed {} ms after the end of their pause",
        now() - end
    );
}

/// Waits until the history shows the end of the pause of each of the 200 locks.
async fn until_resumed(stack: &Stack, prefix: &str) {
    until("resumption", 150, async || {
        let mut request = json!({ "act": "history", "prefix": prefix, "limit": 100 });
        let mut resumed = 0;
        loop {
            let page = view(stack, request.clone()).await;
            let entries = page["entries"].as_array().expect("entries").iter();
            resumed += entries
                .filter(|entry| entry["outcome"] == "resumed")
                .count();
            match page.get("next") {
                Some(next) => request["next"] = next.clone(),
                None => return resumed == 200,
            }
        }
    })
    .await;
}

#[tokio::test]
async fn two_operators_at_once_pause_each_lock_once() {
    let (stack, name) = (stack().await, unique("two"));
    idle_locks(&stack, &name, 30).await;

    let one = to_the_end(&stack, "pause", json!({ "prefix": name }));
    let other = to_the_end(&stack, "pause", json!({ "prefix": name }));
    let (one, other) = tokio::join!(one, other);

    assert_eq!(one + other, 30, "{one} and {other}");
    assert_eq!(listed(&stack, &name, Some("paused")).await.len(), 30);
}

#[tokio::test]
async fn an_act_that_dies_half_way_through_a_prefix_is_repeated() {
    let (stack, name) = (stack().await, unique("dies"));
    idle_locks(&stack, &name, 40).await;
    let middle = format!("{name}/020");
    let operator = stack.output("OperateFunctionArn");
    stack.kill_after(operator, "write", &middle).await;

    let died = operate(&stack, "pause", json!({ "prefix": name })).await;
    let half = listed(&stack, &name, Some("paused")).await.len();
    let rest = to_the_end(&stack, "pause", json!({ "prefix": name })).await;

    assert_eq!(died.expect_err("it died").error_type, "Runtime.ExitError");
    assert!((1..40).contains(&half), "{half} were paused");
    assert_eq!(half as u64 + rest, 40);
}

#[tokio::test]
async fn an_eviction_stops_a_living_run_and_the_next_one_starts() {
    let (stack, lock) = (stack().await, unique("evicted"));
    let input = stack.batch_input(&lock).seconds(0.5);
    let first = at_work(&stack, &input.clone().seconds(60.0)).await;
    stack.wait_task(&first.task, "RUNNING", 15).await;
    let next = in_queue(&stack, &input, 1).await;
    let evict = json!({ "lock": lock, "holder": first.arn });

    let refused = operate(&stack, "evict", evict.clone()).await;
    let shown = view(&stack, json!({ "act": "show", "lock": lock })).await;
    let began = now();
    let mut force = evict;
    force["force"] = json!(true);
    let evicted = operate(&stack, "evict", force).await.expect("an answer");

    assert_eq!(
        refused.expect_err("it is alive").error_type,
        "Lockstep.LockHeld"
    );
    assert_eq!(
        shown["holders"][0]["execution"]["status"], "RUNNING",
        "{shown}"
    );
    assert_eq!(shown["holders"][0]["tasks"][0]["stopped"], false, "{shown}");
    assert_eq!(shown["waiters"][0]["holder"], next);
    assert_eq!(evicted["status"], "evicted", "{evicted}");
    eprintln!(
        "figure: an eviction of a living run took {} ms",
        now() - began
    );
    assert_eq!(stack.wait(&first.arn, 10).await.status, "ABORTED");
    runs_after(&stack, "an eviction", &lock, &next, began).await;
    ran_alone_but_stopped(&stack, &lock, 2, &[&first.arn]).await;
    let history = view(&stack, json!({ "act": "history", "lock": lock })).await;
    let entries = history["entries"].as_array().expect("entries");
    let entry = entries.iter().find(|entry| entry["outcome"] == "evicted");
    let entry = entry.unwrap_or_else(|| panic!("no eviction in {history}"));
    let evidence = entry["evidence"].as_str().unwrap_or_default();
    assert!(evidence.contains("e2e (by jo@example.com)"), "{entry}");
}

#[tokio::test]
async fn a_lock_that_hold_has_frozen_is_freed_by_an_operator() {
    let (stack, lock) = (stack().await, unique("frozen"));
    let hangs = stack.batch_input(&lock).seconds(60.0);
    let hangs = hangs.with("stalePolicy", "hold").with("maxRunSeconds", 5);
    let first = at_work(&stack, &hangs.short_lease()).await;
    until("freeze", 30, async || {
        !listed(&stack, &lock, Some("frozen")).await.is_empty()
    })
    .await;
    let shown = view(&stack, json!({ "act": "show", "lock": lock })).await;
    let frees = shown["frees"].as_str().unwrap_or_default();
    assert!(frees.contains(&first.arn), "{shown}");
    assert!(
        shown["closed"]["note"]
            .as_str()
            .unwrap_or_default()
            .contains("maxRunSeconds")
    );

    let all = operate(&stack, "resume", json!({ "prefix": lock }))
        .await
        .expect("an answer");
    let evict = json!({ "lock": lock, "holder": first.arn, "force": true });
    let evicted = operate(&stack, "evict", evict).await.expect("an answer");
    let named = operate(&stack, "resume", json!({ "lock": lock }))
        .await
        .expect("an answer");

    assert_eq!(all["frozen"], json!([lock]), "a prefix leaves it frozen");
    assert_eq!(evicted["status"], "evicted", "{evicted}");
    assert_eq!(named["done"], 1);
    let input = stack.batch_input(&lock).seconds(0.3);
    assert!(stack.run(&input, 30).await.ran());
    ran_alone_but_stopped(&stack, &lock, 2, &[&first.arn]).await;
}

#[tokio::test]
async fn a_tick_that_is_forgotten_runs_once_more_although_its_lock_rests() {
    let (stack, lock) = (stack().await, unique("forgotten"));
    let input = stack.batch_input(&lock).seconds(0.3);
    let input = input
        .with("runKey", "tick-1")
        .with("minIntervalSeconds", 600);
    assert!(stack.run(&input, 30).await.ran());
    let duplicate = stack.run(&input, 30).await;

    let forget = json!({ "lock": lock, "runKey": "tick-1" });
    let forgotten = operate(&stack, "forget", forget).await.expect("an answer");
    let rests = stack.run(&input, 30).await;
    let clear = json!({ "lock": lock });
    let cleared = operate(&stack, "clear-rest", clear)
        .await
        .expect("an answer");

    assert_eq!(duplicate.answer(), "duplicate", "{duplicate:?}");
    assert_eq!(forgotten["status"], "forgotten");
    assert_eq!(rests.answer(), "skipped", "{rests:?}");
    assert_eq!(cleared["status"], "cleared");
    assert!(stack.run(&input, 30).await.ran());
    let containers = stack.containers(&lock, 60).await;
    assert_eq!(containers.len(), 2, "{containers:?}");
    // The operator asked for two successes under one run key.
    let found = Expected::permits(1).violations(&containers);
    let twice = matches!(found[..], [Violation::SucceededTwice { .. }]);
    assert!(twice, "{found:?}");
}

/// Runs alone, because the pause also closes the new locks of other tests.
#[tokio::test]
async fn a_pause_of_all_locks_holds_for_a_batch_that_has_never_run() {
    let _alone = alone().await;
    let stack = connect().await;
    let [skips, waits] = ["skips", "waits"].map(|name| unique(&format!("new-{name}")));
    let skipped = stack.batch_input(&skips).seconds(0.3);
    let waiting = stack.batch_input(&waits).seconds(0.3);
    let waiting = waiting.with("onPaused", "wait");

    to_the_end(&stack, "pause", json!({ "all": true })).await;
    let first = stack.run(&skipped, 30).await;
    let second = stack.start(&waiting).await;
    stack.wait_waiting(&waits, 1, 20).await;
    let listed = view(&stack, json!({ "act": "list", "prefix": skips })).await;
    to_the_end(&stack, "resume", json!({ "all": true })).await;
    let resumed = stack.wait(&second, 60).await;
    let third = stack.run(&skipped, 30).await;

    assert_eq!(first.answer(), "skipped", "{first:?}");
    assert_eq!(listed["locks"], json!([]), "a skipped start leaves no lock");
    assert_eq!(listed["newLocks"]["note"], "e2e (by jo@example.com)");
    assert!(resumed.ran() && third.ran(), "{resumed:?} {third:?}");
}

#[tokio::test]
async fn view_refuses_to_write() {
    let stack = stack().await;
    let pause = json!({ "act": "pause", "all": true, "note": "e2e", "actor": "jo" });
    let refused = stack.invoke(stack.output("ViewFunctionArn"), &pause).await;
    let refused = refused.expect_err("a refusal");
    assert_eq!(refused.error_type, "Lockstep.InvalidRequest");
    assert!(refused.message.contains("view only reads"), "{refused:?}");
}

/// A rule of EventBridge writes the events to the log group that view reads.
#[tokio::test]
async fn starts_without_a_permit_count_until_the_next_grant() {
    let (stack, lock) = (stack().await, unique("not-started"));
    let acquire = async |holder: &str| {
        let request = json!({ "lock": lock, "holder": holder, "overlap": "skip" });
        let function = stack.output("AcquireLockFunctionArn");
        stack.invoke(function, &request).await.expect("an answer")
    };
    let grant = acquire("first").await["grant"].clone();
    for holder in ["b", "c"] {
        assert_eq!(acquire(holder).await["status"], "skipped");
    }
    let show = json!({ "act": "show", "lock": lock });
    until("two skips", 20, async || {
        view(&stack, show.clone()).await["skippedInARow"] == 2
    })
    .await;
    let release = json!({ "grant": grant, "outcome": "succeeded" });
    let function = stack.output("ReleaseLockFunctionArn");
    stack.invoke(function, &release).await.expect("a release");

    let history = view(&stack, json!({ "act": "history", "lock": lock })).await;
    let entries = history["entries"].as_array().expect("entries");
    let outcomes: Vec<_> = entries.iter().map(|entry| &entry["outcome"]).collect();
    assert_eq!(outcomes, ["skipped", "succeeded"], "{history}");
    assert_eq!(
        (&entries[0]["starts"], &entries[0]["holder"]),
        (&json!(2), &json!("c"))
    );
    let list = view(&stack, json!({ "act": "list", "prefix": lock })).await;
    assert_eq!(list["locks"][0]["skippedInARow"], 2, "{list}");

    acquire("d").await;
    assert_eq!(view(&stack, show).await["skippedInARow"], 0);
}
