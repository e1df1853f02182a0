//! A grant that a workflow hands down: verified before the command starts, renewed while it runs,
//! never released.

use crate::support::{Scene, Started, output};
use lockstep::contract::Grant;
use lockstep_tests::stack::{now, until};
use serde_json::{Value, json};
use tokio::process::Command;

/// Returns a grant of the deployed acquire-lock, as a workflow gets it.
async fn grant(scene: &Scene) -> Grant {
    grant_with(scene, json!({ "leaseSeconds": 6 })).await
}

async fn grant_with(scene: &Scene, mut request: Value) -> Grant {
    let lock = &scene.lock;
    request["lock"] = json!(lock);
    request["holder"] = json!(format!("arn:test#{lock}"));
    let answer = scene.invoke("AcquireLockFunctionArn", request).await;
    assert_eq!(answer["status"], "granted", "{answer}");
    serde_json::from_value(answer["grant"].clone()).expect("a receipt")
}

/// Returns `run` with the grant in its environment.
fn with_grant(mut run: Command, grant: &Grant) -> Command {
    run.env("LOCKSTEP_LOCK", &grant.lock)
        .env("LOCKSTEP_HOLDER", &grant.holder)
        .env("LOCKSTEP_FENCING_TOKEN", grant.token.to_string());
    run
}

fn adopt(scene: &Scene, grant: &Grant, command: &[&str]) -> Command {
    let run = scene.command(&[&["run", "--"], command].concat());
    with_grant(run, grant)
}

async fn release(scene: &Scene, grant: &Grant) -> Value {
    let request = json!({ "grant": grant, "outcome": "failed" });
    scene.invoke("ReleaseLockFunctionArn", request).await
}

#[tokio::test]
async fn a_grant_of_a_workflow_is_renewed_by_the_run_and_not_released() {
    let scene = Scene::open("adopted").await;
    let grant = grant(&scene).await;

    // Longer than the lease: only renewals keep the grant.
    let command = ["sh", "-c", "sleep 9; echo $LOCKSTEP_FENCING_TOKEN"];
    let (code, out, stderr) = output(adopt(&scene, &grant, &command)).await;

    assert_eq!((code, out), (0, format!("{}\n", grant.token)), "{stderr}");
    assert_eq!(scene.held().await, 1, "the workflow releases");
    assert_eq!(release(&scene, &grant).await["status"], "released");
}

#[tokio::test]
async fn a_grant_that_is_over_starts_nothing_and_exits_with_76() {
    let scene = Scene::open("overtaken").await;
    let old = grant(&scene).await;
    release(&scene, &old).await;
    // Another run holds the lock by the time that the execution is redriven.
    let _active = scene.holder().await;

    let (code, out, stderr) = output(adopt(&scene, &old, &["echo", "ran"])).await;

    assert_eq!((code, out.as_str()), (76, ""), "{stderr}");
    for part in ["Lockstep.LeaseLost", "held by host:"] {
        assert!(stderr.contains(part), "{stderr}");
    }
}

#[tokio::test]
async fn a_run_that_its_workflow_released_is_stopped() {
    let scene = Scene::open("released").await;
    let grant = grant(&scene).await;
    let mut run = Started::of(adopt(&scene, &grant, &["sleep", "300"]));
    until("the command", 10, async || !run.children().is_empty()).await;

    release(&scene, &grant).await;

    assert_eq!(run.code().await, 76);
}

/// A grant with `work` and without times has a lease of 15 minutes.
#[tokio::test]
async fn a_long_lease_delays_neither_progress_nor_the_news_of_its_loss() {
    let scene = Scene::open("long-lease").await;
    let limited = json!({ "work": { "cluster": "batch" }, "noProgressSeconds": 60 });
    let grant = grant_with(&scene, limited).await;
    let script = "echo 'rows 1' > \"$LOCKSTEP_PROGRESS\"; sleep 300";
    let mut run = Started::of(adopt(&scene, &grant, &["sh", "-c", script]));

    until("the progress", 40, async || {
        let record = scene.record().await;
        let progress = record
            .holders
            .values()
            .next()
            .and_then(|lease| lease.progress.as_ref());
        progress.is_some_and(|progress| progress.as_str() == "rows 1")
    })
    .await;
    release(&scene, &grant).await;
    let released = now();

    assert_eq!(run.code().await, 76);
    assert!(now() - released < 30_000, "{} ms", now() - released);
}

#[tokio::test]
async fn a_second_lock_is_acquired_beside_the_lock_of_the_workflow() {
    let (outer, inner) = (Scene::open("outer").await, Scene::open("inner").await);
    let run = inner.bash(&[], "echo $LOCKSTEP_LOCK");

    let (code, out, stderr) = output(with_grant(run, &grant(&outer).await)).await;

    assert_eq!((code, out), (0, format!("{}\n", inner.lock)), "{stderr}");
    assert_eq!((outer.held().await, inner.held().await), (1, 0));
}

#[tokio::test]
async fn a_fencing_token_that_is_no_number_exits_with_64() {
    let scene = Scene::open("no-number").await;
    let grant = json!({ "lock": scene.lock, "holder": "h", "token": 1 });
    let grant: Grant = serde_json::from_value(grant).expect("a grant");
    let mut run = adopt(&scene, &grant, &["echo", "ran"]);
    run.env("LOCKSTEP_FENCING_TOKEN", "latest");

    let (code, out, stderr) = output(run).await;

    assert_eq!((code, out.as_str()), (64, ""));
    for part in ["LOCKSTEP_FENCING_TOKEN", "latest"] {
        assert!(stderr.contains(part), "{stderr}");
    }
}
