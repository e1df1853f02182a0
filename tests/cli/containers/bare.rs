//! Containers that have next to nothing: no certificates, no users, no place to write.

use super::image::LOCKSTEP;
use super::{Fleet, Work};
use crate::support::lock;
use lockstep_tests::stack::until;
use serde_json::json;

/// Where the pipe for progress is, in a container with a read-only root file system whose user no
/// file of the image knows. Returns also the requests to the table through it.
async fn pipe_of(fleet: &Fleet, change: impl Fn(Work) -> Work) -> String {
    let lock = lock("bare");
    let script = format!(
        "echo \"{{\\\"event\\\":\\\"pipe\\\",\\\"env\\\":{{\\\"is\\\":\\\"$LOCKSTEP_PROGRESS\\\"}}}}\"; \
         {LOCKSTEP} progress 'file 3 of 9' && sleep 60"
    );
    let work = Work::guarded(&lock, &["--lease", "10s"]).script(&script);
    let work = change(work.with("readonlyRootFilesystem", true));

    let task = fleet.start(&work).await;
    let logged = fleet.until_logged(&task, "pipe", 30).await;
    until(&format!("progress of {lock}"), 20, async || {
        let record = fleet.record(&lock).await.expect("a record");
        let mut leases = record.holders.values();
        leases.any(|lease| lease.progress.as_deref() == Some("file 3 of 9"))
    })
    .await;
    fleet.stop(&task).await;
    assert_eq!(fleet.ended(&task, 30).await.code, 143);
    logged.value("is").to_owned()
}

#[tokio::test]
async fn a_read_only_container_from_scratch_has_its_pipe_where_it_can_be_written() {
    let fleet = Fleet::open().await;
    let scratch = |work: Work| {
        work.of_task("volumes", json!([{ "name": "scratch" }]))
            .with(
                "mountPoints",
                json!([{ "sourceVolume": "scratch", "containerPath": "/tmp" }]),
            )
    };

    let nothing = pipe_of(&fleet, |work| work).await;
    let volume = pipe_of(&fleet, scratch).await;
    // A volume of ECS belongs to root; this user exists in no file of the image.
    let unprivileged = pipe_of(&fleet, |work| scratch(work).with("user", "1000:1000")).await;

    assert!(nothing.starts_with("/dev/shm/"), "{nothing}");
    assert!(volume.starts_with("/tmp/"), "{volume}");
    assert!(unprivileged.starts_with("/dev/shm/"), "{unprivileged}");
}
