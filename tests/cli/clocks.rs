//! A machine whose clock differs from that of the table.
//!
//! No test sets a clock: a proxy shifts the dates in the answers of the table.

use crate::agent::Agent;
use crate::support::{Inside, Scene, Started};
use lockstep::contract::parse_time;
use lockstep_tests::stack::{now, until};
use serde_json::json;
use tokio::process::Command;

#[tokio::test]
async fn a_dead_holders_lease_ends_by_the_clock_of_the_table() {
    let scene = Scene::open("dead-by-the-table").await;
    let dead = Started::of(scene.run(&["--lease", "60s"], &["sleep", "300"]));
    scene.until_held(1, 10).await;
    let proxy = scene.table_proxy().await;
    proxy.move_dates(90);
    let flags = ["--overlap", "queue", "--max-wait", "60s"];
    let run = scene.run(&flags, &["echo", "ran"]);
    dead.signal("KILL").await;
    let died = now();

    let mut next = Started::with_stderr(proxy.before(run));
    let code = next.code().await;

    let (after, stderr) = (now() - died, next.rest_of_stderr().await);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("clock_off"), "{stderr}");
    assert!(stderr.contains("behind that of the table"), "{stderr}");
    // By the machine's clock, the lease lasts a minute longer.
    assert!(after < 20_000, "{after} ms");
}

#[tokio::test]
async fn a_machine_that_is_behind_writes_leases_by_the_clock_of_the_table() {
    let scene = Scene::open("slow-clock").await;
    let proxy = scene.table_proxy().await;
    proxy.move_dates(30);
    let run = proxy.before(scene.run(&["--lease", "9s"], &["sleep", "300"]));
    let mut run = Started::with_stderr(run);

    scene.until_held(1, 10).await;
    let by_table = now() + 29_000;
    until("a lease by the table's clock", 3, async || {
        scene.lease_end().await > by_table
    })
    .await;

    run.signal("TERM").await;
    assert_eq!(run.code().await, 143);
    assert!(
        run.rest_of_stderr()
            .await
            .contains("behind that of the table")
    );
}

#[tokio::test]
async fn an_agent_tells_the_end_of_a_lease_by_the_clock_of_its_machine() {
    for shift in [-60, 60] {
        let (inside, lock) = Inside::with_lock("agents-clock").await;
        let proxy = inside.table_proxy().await;
        proxy.move_dates(shift);
        let beside = |command: &mut Command| {
            command.env("AWS_ENDPOINT_URL_DYNAMODB", proxy.endpoint());
        };
        let agent = Agent::start_with(&inside, &[], beside).await;
        // The first response shows the date, and the second request uses it.
        let first = agent
            .begin(json!({ "name": lock, "lock": lock, "leaseSeconds": 60 }))
            .await;
        agent.end(&first, "succeeded").await;

        let second = agent
            .begin(json!({ "name": lock, "lock": lock, "leaseSeconds": 60 }))
            .await;

        let ends = second.body["expiresAt"].as_str().expect("a time");
        let ends = parse_time("expiresAt", ends).expect("a time").millis();
        let left = ends.saturating_sub(now());
        assert!((50_000..70_000).contains(&left), "{shift} s: {left} ms");
    }
}
