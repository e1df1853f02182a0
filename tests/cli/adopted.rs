//! A grant that a workflow handed down: verified before the command starts, kept, never released.

use crate::support::{Inside, Started, lock, output};
use lockstep::contract::Grant;
use lockstep_tests::stack::until;
use serde_json::{Value, json};
use tokio::process::Command;

/// The grant of a lock that the deployed acquire-lock gave out, as a workflow does.
async fn grant(inside: &Inside, lock: &str) -> Grant {
    let request = json!({ "lock": lock, "holder": format!("arn:test#{lock}"), "leaseSeconds": 6 });
    let answer = inside.invoke("AcquireLockFunctionArn", request).await;
    assert_eq!(answer["status"], "granted", "{answer}");
    serde_json::from_value(answer["grant"].clone()).expect("a receipt")
}

fn adopt(inside: &Inside, grant: &Grant, command: &[&str]) -> Command {
    let mut run = inside.command(&[&["run", "--"], command].concat());
    run.env("LOCKSTEP_LOCK", &grant.lock)
        .env("LOCKSTEP_HOLDER", &grant.holder)
        .env("LOCKSTEP_FENCING_TOKEN", grant.token.to_string());
    run
}

async fn release(inside: &Inside, grant: &Grant) -> Value {
    let request = json!({ "grant": grant, "outcome": "failed" });
    inside.invoke("ReleaseLockFunctionArn", request).await
}

#[tokio::test]
async fn a_good_grant_is_kept_as_long_as_the_command_runs_and_is_left_to_its_workflow() {
    let (inside, lock) = Inside::with_lock("adopted").await;
    let grant = grant(&inside, &lock).await;

    // Longer than the lease: only renewals keep it.
    let (code, out, stderr) = output(adopt(
        &inside,
        &grant,
        &["sh", "-c", "sleep 9; echo $LOCKSTEP_FENCING_TOKEN"],
    ))
    .await;

    assert_eq!((code, out), (0, format!("{}\n", grant.token)), "{stderr}");
    assert_eq!(inside.held(&lock).await, 1, "the workflow releases");
    assert_eq!(release(&inside, &grant).await["status"], "released");
}

#[tokio::test]
async fn a_grant_that_is_over_starts_nothing_and_exits_with_76() {
    let (inside, lock) = Inside::with_lock("overtaken").await;
    let old = grant(&inside, &lock).await;
    release(&inside, &old).await;
    // Somebody else runs by the time that the execution is redriven.
    let active = Started::of(inside.run(&lock, &[], &["sleep", "300"]));
    inside.until_held(&lock, 1, 10).await;

    let (code, out, stderr) = output(adopt(&inside, &old, &["echo", "ran"])).await;

    assert_eq!((code, out.as_str()), (76, ""), "{stderr}");
    assert!(
        stderr.contains("Lockstep.LeaseLost") && stderr.contains("held by host:"),
        "{stderr}"
    );
    drop(active);
}

#[tokio::test]
async fn a_run_that_its_workflow_released_is_stopped() {
    let (inside, lock) = Inside::with_lock("released").await;
    let grant = grant(&inside, &lock).await;
    let mut run = Started::of(adopt(&inside, &grant, &["sleep", "300"]));
    until("the command", 10, async || !run.children().is_empty()).await;

    release(&inside, &grant).await;

    assert_eq!(run.code().await, 76);
}

#[tokio::test]
async fn another_lock_than_the_workflows_is_taken_beside_it() {
    let inside = Inside::open().await;
    let (outer, inner) = (lock("outer"), lock("inner"));
    let grant = grant(&inside, &outer).await;
    let mut run = inside.run(&inner, &[], &["sh", "-c", "echo $LOCKSTEP_LOCK"]);
    run.env("LOCKSTEP_LOCK", &grant.lock)
        .env("LOCKSTEP_HOLDER", &grant.holder)
        .env("LOCKSTEP_FENCING_TOKEN", grant.token.to_string());

    let (code, out, stderr) = output(run).await;

    assert_eq!((code, out), (0, format!("{inner}\n")), "{stderr}");
    assert_eq!(
        (inside.held(&outer).await, inside.held(&inner).await),
        (1, 0)
    );
}

#[tokio::test]
async fn a_token_that_is_no_number_is_a_fault_of_the_environment() {
    let inside = Inside::open().await;
    let mut grant = Grant {
        lock: lock("no-number"),
        holder: "h".into(),
        token: 1,
        run_key: None,
        expect_every_seconds: None,
        no_progress_seconds: None,
    };
    grant.token = 1;
    let mut run = adopt(&inside, &grant, &["echo", "ran"]);
    run.env("LOCKSTEP_FENCING_TOKEN", "latest");

    let (code, out, stderr) = output(run).await;

    assert_eq!((code, out.as_str()), (64, ""));
    assert!(
        stderr.contains("LOCKSTEP_FENCING_TOKEN") && stderr.contains("latest"),
        "{stderr}"
    );
}
