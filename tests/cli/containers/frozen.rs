//! A whole container that is frozen, as by its host, and comes back late.

use super::relay::relay;
use super::{Fleet, Work};
use crate::support::{FencedResource, lock};
use lockstep_tests::stack::now;

/// Writes to the resource fifty times a second, from a session of its own: what left its group lives a
/// few moments longer than the command, and writes late.
const WRITER: &str = r#"
    host=${AWS_ENDPOINT_URL#http://}; host=${host%%:*}
    export host
    /bin/busybox setsid /bin/sh -c '
        while :; do echo "$LOCKSTEP_LOCK $LOCKSTEP_FENCING_TOKEN $ROLE"; sleep 0.02; done |
            /bin/busybox nc "$host" "$LEDGER_PORT" > /dev/null' &
    wait"#;

#[tokio::test]
async fn a_container_that_wakes_up_late_is_fenced_off_and_ends_with_76() {
    let fleet = Fleet::open().await;
    let (lock, resource) = (lock("frozen"), FencedResource::open().await);
    let port = relay(resource.variable().1).await;
    let flags = ["--lease", "6s", "--overlap", "queue", "--grace", "1s"];
    let work = |role| {
        let work = Work::guarded(&lock, &flags).script(WRITER);
        work.env("LEDGER_PORT", port).env("ROLE", role)
    };
    let active = fleet.start(&work("active")).await;
    resource.until_received("active", 5, 30).await;
    let standby = fleet.start_in_line(&lock, &work("standby"), 1).await;

    let frozen = now();
    fleet.docker("pause", &active).await;
    resource.until_received("standby", 20, 40).await;
    // It was never seen to stop, so its lease alone made it give way.
    let status = fleet.stack().task(&active.arn).await["lastStatus"].clone();
    let resumed = now();
    fleet.docker("unpause", &active).await;
    let ended = fleet.ended(&active, 20).await;

    let begun = resource.received("standby")[0].at;
    let late: Vec<_> = resource
        .received("active")
        .into_iter()
        .filter(|e| e.at >= resumed)
        .collect();
    eprintln!(
        "figure: frozen, lease 6s: the next works {} ms later; woken up, the first ends after {} ms, \
         {} late writes came, none was taken",
        begun - frozen,
        ended.at.saturating_sub(resumed),
        late.len()
    );
    assert_eq!((status.as_str(), ended.code), (Some("RUNNING"), 76));
    assert!(late.iter().all(|entry| !entry.taken), "{late:?}");
    assert!(resource.received("standby").iter().all(|entry| entry.taken));
    fleet.stop(&standby).await;
    assert_eq!(fleet.ended(&standby, 20).await.code, 143);
}
