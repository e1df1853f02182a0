//! A dead run without evidence: its cluster was deleted.

use crate::stack;
use crate::support::at_work;
use lockstep_tests::stack::{Stack, unique, until};
use serde_json::json;

#[tokio::test]
async fn a_dead_run_whose_cluster_is_gone_freezes_its_lock_once() {
    let (stack, lock) = (stack().await, unique("hidden"));
    let mut feed = stack.feed(&lock).await;
    let cluster = stack
        .ecs("CreateCluster", &json!({ "clusterName": lock }))
        .await;
    let input = stack.batch_input(&lock).seconds(60.0);
    let mut input = input.with("leaseSeconds", 60);
    input.run_task()["Cluster"] = cluster["cluster"]["clusterArn"].clone();
    let first = at_work(&stack, &input).await;
    stack.drop_events(&lock).await;
    stack.abort(&first.arn).await;
    stack.wait(&first.arn, 10).await;
    stack
        .ecs("DeleteCluster", &json!({ "cluster": lock }))
        .await;
    let ask = stack.batch_input(&lock).seconds(0.3);

    stack.age_lease(&lock, &first.arn, 600).await;
    sweep(&stack).await;
    feed.wait(&stack, "Lockstep Evidence Missing", 20).await;
    let held = stack.run(&ask, 20).await;
    assert_eq!(held.answer(), "skipped", "ten minutes later: {held:?}");
    assert_eq!(stack.held(&lock).await, 1);

    stack.age_lease(&lock, &first.arn, 3000).await;
    until("freeze", 60, async || {
        sweep(&stack).await;
        let item = stack.lock_item(&lock).await.expect("a record");
        item["mode"].as_s().is_ok_and(|mode| mode == "frozen")
    })
    .await;
    let refused = stack.run(&ask, 20).await;
    assert_eq!(refused.error, "Lockstep.LockFrozen", "{refused:?}");
    feed.wait(&stack, "Lockstep Lock Frozen", 20).await;
    let missing = feed.count("Lockstep Evidence Missing");
    assert_eq!(missing, 1, "Evidence Missing is sent once");

    stack.resume_lock(&lock, "its host is gone").await;
    sweep(&stack).await;
    let item = stack.lock_item(&lock).await.expect("a record");
    let mode = item["mode"].as_s().map(String::as_str);
    assert_eq!(mode, Ok("open"), "{item:?}");
    stack.deliver_events(&lock).await;
}

async fn sweep(stack: &Stack) {
    let reaper = stack.output("ReaperFunctionArn");
    let swept = stack.invoke(reaper, &json!({ "sweep": true })).await;
    assert!(swept.is_ok(), "{swept:?}");
}
