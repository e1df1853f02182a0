//! A machine whose clock is not that of the table.
//!
//! Nothing here sets a clock: a proxy shows other dates in the answers of the table, beside which the machine's clock is off.

use crate::support::{Scene, Started};
use lockstep_tests::stack::{now, until};

#[tokio::test]
async fn a_dead_holders_lease_ends_by_the_clock_of_the_table() {
    let scene = Scene::open("fast-clock").await;
    let dead = Started::of(scene.run(&["--lease", "5s"], &["sleep", "300"]));
    scene.until_held(1, 10).await;
    let proxy = scene.table_proxy().await;
    proxy.move_dates(-10);
    let flags = ["--overlap", "queue", "--max-wait", "60s"];
    let run = scene.run(&flags, &["echo", "ran"]);
    dead.signal("KILL").await;
    let died = now();

    let mut next = Started::with_stderr(proxy.before(run));
    let code = next.code().await;

    let (after, stderr) = (now() - died, next.rest_of_stderr().await);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("clock_off"), "{stderr}");
    assert!(stderr.contains("ahead of that of the table"), "{stderr}");
    // The rest of the lease, by a clock that is nine to ten seconds behind.
    assert!(after > 11_000, "{after} ms");
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
