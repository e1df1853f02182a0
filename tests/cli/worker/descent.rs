//! Helpers that a program leaves behind while another message is at work. They end with their
//! message, unless the program keeps one on purpose.

use super::Scene;
use crate::support::{found, lives, scratch, signal_to, until_dead};
use lockstep_tests::stack::pause;
use std::fs;
use std::os::unix::fs::MetadataExt;

/// Ways to start a helper that has lost its environment, its session and its parent. Each notes its id.
const WAYS: [(&str, &str); 5] = [
    ("a cleared environment", "env -i sh -c \"$H\" & sleep 0.3"),
    (
        "and a session of its own",
        "env -i setsid sh -c \"$H\" > /dev/null 2>&1 & sleep 0.3",
    ),
    (
        "and no parent",
        "(env -i setsid sh -c \"$H\" > /dev/null 2>&1 &); sleep 0.3",
    ),
    (
        "by two forks of one process",
        r#"perl -e 'use POSIX; my $h = $ENV{H}; %ENV = (); exit 0 if fork(); setsid(); exit 0 if fork();
           exec "/bin/sh", "-c", $h'; sleep 0.3"#,
    ),
    (
        "as another user",
        "(env -i setsid setpriv --reuid 65534 --regid 65534 --clear-groups sh -c \"$H\" &); sleep 0.5",
    ),
];

#[tokio::test]
async fn no_helper_outlives_its_message_beside_another_one() {
    let is_root = fs::metadata("/proc/self").expect("/proc").uid() == 0;
    let ways = WAYS
        .iter()
        .filter(|(way, _)| is_root || *way != "as another user");
    for (way, script) in ways {
        let scene = Scene::new("descent", 9).await;
        let notes = scratch("descent");
        let path = notes.to_str().expect("a path of plain letters");
        fs::write(&notes, "").expect("a file");
        // A helper of another user writes to it too.
        fs::set_permissions(&notes, std::os::unix::fs::PermissionsExt::from_mode(0o666))
            .expect("a mode");
        let helper = format!("echo $$ >> {path}; exec sleep 300");
        let script =
            format!("read -r name; [ $name = helps ] || {{ say busy; exec sleep 300; }}; {script}");
        let flags = ["--concurrency", "2", "--grace", "1s"];
        let worker = scene.worker_with(&flags, &script, ("H", &helper));
        scene.send("busy").await;
        found("busy message", 30, async || {
            (scene.received() == ["busy"]).then_some(())
        })
        .await;

        scene.send("helps").await;
        worker.until_logged("command succeeded", 30).await;

        let ids = fs::read_to_string(&notes).expect("notes");
        let ids: Vec<u32> = ids.lines().map(|id| id.parse().expect("an id")).collect();
        assert_eq!(ids.len(), 1, "{way}");
        assert!(!lives(ids[0]), "{way}: {}", worker.log.text());
        worker.end().await;
    }
}

#[tokio::test]
async fn a_helper_that_is_kept_on_purpose_outlives_its_message() {
    for flags in [&["--concurrency", "2"][..], &[]] {
        let scene = Scene::new("kept", 9).await;
        let notes = scratch("kept");
        let path = notes.to_str().expect("a path of plain letters");
        // The child of a helper that is kept is kept too. A helper in the group of the program is
        // not.
        let script = "H='echo $$ >> $NOTES; sh -c \"echo \\$\\$ >> $NOTES; exec sleep 300\" & sleep 300'; \
            LOCKSTEP_MARK=keep setsid sh -c \"$H\" > /dev/null 2>&1 & \
            LOCKSTEP_MARK=keep sh -c 'echo $$ >> $NOTES.group; exec sleep 300' & \
            until [ \"$(cat $NOTES $NOTES.group 2> /dev/null | wc -l)\" = 3 ]; do sleep 0.1; done";
        let worker = scene.worker_with(flags, script, ("NOTES", path));

        scene.send("a").await;
        worker.until_logged("command succeeded", 30).await;
        pause(1_000).await;

        let ids = |path: &str| -> Vec<u32> {
            let ids = fs::read_to_string(path).expect("notes");
            ids.lines().map(|id| id.parse().expect("an id")).collect()
        };
        let (kept, in_group) = (ids(path), ids(&format!("{path}.group")));
        let left: Vec<_> = kept.iter().chain(&in_group).map(|id| lives(*id)).collect();
        worker.end().await;
        let after: Vec<_> = kept.iter().map(|id| lives(*id)).collect();
        for id in &kept {
            signal_to(id, "KILL").await;
        }
        until_dead(&kept, 5).await;
        assert_eq!(left, [true, true, false]);
        assert_eq!(after, [true, true], "the worker has ended");
    }
}
