//! Answers of the lock table that are lost on their way.

use super::Agent;
use crate::support::{FaultProxy, Inside, lock, output};
use lockstep::domain::RunOutcome;
use serde_json::json;

#[tokio::test]
async fn a_permit_that_nobody_heard_of_is_given_back_long_before_its_lease_ends() {
    let inside = Inside::open().await;
    let lock = lock("agent-unheard");
    // From then on there is a record, and one request takes a permit.
    output(inside.run(&lock, &[], &["true"])).await;
    let proxy = FaultProxy::open(inside.stack.setting("AWS_ENDPOINT_URL_DYNAMODB")).await;
    let agent = Agent::start_with(&inside, &["--lease", "1h"], |command| {
        command.env("AWS_ENDPOINT_URL_DYNAMODB", proxy.endpoint());
    })
    .await;
    let wish = json!({ "name": "export", "lock": lock });

    proxy.hold_answers();
    let begun = agent.ask(wish.clone()).await;
    let held = inside.held(&lock).await;
    // What was not answered by now never is.
    proxy.cut_connections();
    inside.until_held(&lock, 0, 60).await;
    let run = inside.latest_run(&lock).await.expect("a history");
    let next = agent.ask(wish).await;

    assert_eq!(begun.error(), (503, "Lockstep.Unavailable"));
    assert_eq!(held, 1);
    assert_eq!(run.outcome(), Some(RunOutcome::Failed));
    assert_eq!(next.status, 201, "{next:?}");
}
