//! A task token shows in no log line, event or error, because whoever knows it can end the state.

use crate::bad_input::with;
use crate::faulty::Faulty;
use crate::functions::{Functions, key};
use crate::operate::act;
use crate::scene::{ask, ask_with, assert_says, at_work, audit_note, execution, task, waiting};
use lockstep::domain::{Command, DropWaiter, ExecutionEnd, HolderId};
use lockstep::executions::memory::ExecutionsCall;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::io;
use std::sync::Once;
use tracing_subscriber::filter::LevelFilter;

thread_local! {
    /// The log of this thread.
    static LOG: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

struct ThreadLog;

impl io::Write for ThreadLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOG.with_borrow_mut(|log| log.extend_from_slice(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Keeps the log lines of every level on every thread. A subscriber for one thread is not enough: `tracing`
/// caches for all threads whether a call site has a listener.
fn keep_log() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let lines = tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE);
        lines.json().with_writer(|| ThreadLog).init();
    });
}

/// Puts three runs with secret task tokens into the queue.
async fn wait_with_secrets(functions: &Functions) {
    for name in ["b", "c", "d"] {
        let token = format!("SECRET-{name}");
        functions.acquire(waiting(name, &token)).await.unwrap();
    }
}

/// Makes runs wait, get woken, fail to be woken, renew and be dropped, all with secret task tokens. Returns
/// all errors.
async fn everything(functions: &Functions) -> Vec<String> {
    let mut errors = Vec::new();
    functions.start(&["a", "b", "c", "d"]);
    let first = functions.granted_with(ask("a")).await;
    functions.beat(&first, "SECRET-beat-a").await;
    functions.tasks.refuse_protection("MISSING", "not there");
    let protect = json!({ "cluster": "batch", "task": task("t", 1, false).arn });
    let wish = json!({ "grant": first, "taskToken": "SECRET-beat-a2", "protect": protect });
    functions.heartbeat(wish.clone()).await.unwrap();
    let wrong = with(&wish, "protect.cluster", json!("other"));
    errors.extend(functions.heartbeat(wrong).await.err());
    wait_with_secrets(functions).await;
    let full = json!({ "overlap": "queue", "maxQueue": 1, "taskToken": "SECRET-e" });
    errors.extend(functions.acquire(ask_with("e", full)).await.err());
    let cut_off = Faulty::cut_off_after(functions, 0);
    let unavailable = functions.acquire_on(&cut_off, waiting("f", "SECRET-f"));
    errors.extend(unavailable.await.err());
    functions.lose_every(ExecutionsCall::EndState);
    let end = json!({ "grant": first, "outcome": "succeeded" });
    errors.extend(functions.release(end).await.err());
    errors.extend(functions.acquire(waiting("b", "SECRET-b2")).await.err());
    functions.executions.heal();
    functions.wait(62);
    functions.sweep().await;
    errors.extend(functions.try_beat(&first, "SECRET-late").await.err());
    let waiter = HolderId::new(execution("d")).unwrap();
    let drop = DropWaiter::of(waiter, audit_note("not today"));
    functions
        .command("nightly", Command::DropWaiter(drop))
        .await;
    functions.end("b", ExecutionEnd::Failed);
    functions.wait(62);
    functions.sweep().await;
    let stale = json!({ "token": 7, "lock": "nightly", "holder": "x" });
    for token in ["SECRET-stale", "SECRET SECRET"] {
        errors.extend(functions.try_beat(&stale, token).await.err());
    }
    errors.iter().map(ToString::to_string).collect()
}

/// Carries out the acts on a lock whose holder and waiters have secret task tokens. Returns the responses and
/// the errors as text.
async fn every_act(functions: &Functions) -> Vec<String> {
    functions.start(&["a", "b", "c", "d"]);
    let grant = functions.granted_with(at_work("a")).await;
    functions.put_task("a", task("busy", 1, false));
    functions.beat(&grant, "SECRET-beat-a").await;
    wait_with_secrets(functions).await;
    let one = |name: &str| json!({ "lock": "nightly", "holder": execution(name) });
    let force = json!({ "lock": "nightly", "holder": execution("a"), "force": true });
    let show = json!({ "act": "show", "lock": "nightly" });
    let mut texts = Vec::new();
    for request in [
        show.clone(),
        act("pause", json!({ "lock": "nightly" })),
        act("resume", json!({ "all": true })),
        act("drop-waiter", one("b")),
        act("evict", one("c")),
        act("evict", one("a")),
        act("evict", force.clone()),
        act("evict", one("SECRET-unknown")),
    ] {
        texts.push(text_of(functions.operate(request).await));
    }
    // The last waiter gets the permit, and its grant keeps the task token of its waiting state.
    functions.put_task("a", task("busy", 2, true));
    functions.lose_every(ExecutionsCall::EndState);
    texts.push(text_of(functions.operate(act("evict", force)).await));
    let damaged = Faulty::corrupt(functions, "nightly");
    let list = json!({ "act": "list" });
    let history = json!({ "act": "history", "lock": "nightly" });
    for request in [show.clone(), list.clone(), history] {
        texts.push(text_of(functions.view(request).await));
    }
    for request in [show, list] {
        texts.push(text_of(functions.operate_on(&damaged, request).await));
    }
    texts
}

fn text_of(answer: Result<Value, lockstep::error::Error>) -> String {
    answer.map_or_else(|error| error.to_string(), |value| value.to_string())
}

#[tokio::test]
async fn no_task_token_shows_in_a_log_line_an_event_or_an_error() {
    let functions = Functions::new();
    keep_log();

    let errors = everything(&functions).await;

    let log = LOG.with_borrow(|log| String::from_utf8(log.clone()).unwrap());
    let events = format!("{:?}", functions.events.published());
    let items = format!("{:?}", functions.store.items(&key("nightly")));
    for part in [
        "queued",
        "released",
        "waiter_woken",
        "holder_checked",
        "protection_refused",
        "state_end_failed",
    ] {
        assert!(log.contains(part), "no log line has {part:?}");
    }
    assert!(errors.len() >= 6, "{errors:?}");
    assert!(!events.is_empty());
    for text in errors.iter().chain([&log, &events, &items]) {
        assert!(!text.contains("SECRET"), "a task token shows: {text}");
    }
}

#[tokio::test]
async fn no_task_token_shows_in_what_operators_see_or_in_their_log() {
    let functions = Functions::new();
    keep_log();

    let texts = every_act(&functions).await;

    let record = functions.record("nightly").await.unwrap();
    let called = record.holders.values().next().unwrap().call.clone();
    let token = called.unwrap().task_token.unwrap();
    assert_eq!(
        token.reveal(),
        "SECRET-d",
        "the grant of the holder keeps the secret"
    );
    for part in [
        "\"done\":1",
        "\"status\":\"dropped\"",
        "force: true",
        "\"status\":\"stopping\"",
        "\"status\":\"evicted\"",
        "\"waiters\"",
        "unreadable",
        "\"outcome\":\"evicted\"",
    ] {
        assert!(texts.iter().any(|text| text.contains(part)), "no {part}");
    }
    let log = LOG.with_borrow(|log| String::from_utf8(log.clone()).unwrap());
    assert_says(&log, "state_end_failed");
    let metrics = format!("{:?}", functions.metrics.all());
    for text in texts.iter().chain([&log, &metrics]) {
        let text = text.replace("SECRET-unknown", "");
        assert!(!text.contains("SECRET"), "a task token shows: {text}");
    }
}

#[tokio::test]
async fn a_heartbeat_keeps_its_task_token_sealed() {
    let (functions, grant) = Functions::held(&["a"]).await;
    functions.executions.seal_tokens();

    functions.beat(&grant, "SECRET").await;

    let record = functions.record("nightly").await.unwrap();
    let beats: Vec<_> = record.holders.values().map(|lease| &lease.beat).collect();
    let [Some(token)] = &beats[..] else {
        panic!("{beats:?}")
    };
    assert_eq!(token.as_sealed(), Some("SECRET"));
}
