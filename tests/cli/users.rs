//! Programs that run as another user can use what `lockstep` hands to them.

use crate::containers::docker;
use crate::stops::shapes::in_container;
use crate::support::{Inside, Scene, binary, lock, output, scratch};
use lockstep_tests::stack::unique;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

/// Command lines that start a script of another user, which is their last word.
const BECOME: [(&str, &[&str]); 3] = [
    (
        "setpriv",
        &[
            "setpriv",
            "--reuid",
            "65534",
            "--regid",
            "65534",
            "--clear-groups",
            "sh",
            "-c",
        ],
    ),
    ("su", &["su", "-s", "/bin/sh", "nobody", "-c"]),
    (
        "python",
        &[
            "python3",
            "-c",
            "import os, sys; os.setgroups([]); os.setgid(65534); os.setuid(65534); \
             os.execvp('sh', ['sh', '-c', sys.argv[1]])",
        ],
    ),
];

/// Returns a script that reports progress for seven seconds, by the command and by hand.
fn reports() -> String {
    format!(
        "umask 077; set -e; for i in 1 2 3 4 5; do {} progress \"file $i\"; sleep 0.7; \
         echo \"row $i\" > $LOCKSTEP_PROGRESS; sleep 0.7; done",
        binary().display()
    )
}

fn is_root() -> bool {
    fs::metadata("/proc/self").expect("/proc").uid() == 0
}

#[tokio::test]
async fn a_program_of_another_user_reports_its_progress() {
    for (way, command) in BECOME.iter().filter(|_| is_root()) {
        let scene = Scene::open("user-progress").await;
        let reports = reports();
        let command = [command, &[reports.as_str()][..]].concat();
        let flags = ["--no-progress", "5s"];

        let (code, _, stderr) = output(scene.run(&flags, &command)).await;

        assert_eq!(code, 0, "{way}: {stderr}");
    }
}

#[tokio::test]
async fn progress_of_another_user_needs_neither_tmp_nor_a_writable_root() {
    let inside = Inside::open().await;
    let lock = lock("user-bare");
    let folder = scratch("user-bare");
    fs::create_dir(&folder).expect("a folder");
    fs::set_permissions(&folder, Permissions::from_mode(0o777)).expect("a mode");
    let binary = binary();
    let binary = binary.to_str().expect("a path of plain letters");
    let reports = reports() + "; echo ${LOCKSTEP_PROGRESS%/*/*} > folder";
    let flags = ["--no-progress", "5s", "--"];
    let line = [
        &[binary, "run", "--lock", &lock][..],
        &flags,
        BECOME[0].1,
        &[&reports],
    ]
    .concat();
    let mut environment = inside.environment();
    environment.retain(|(name, _)| name != "TMPDIR");
    let name = unique("user-bare");

    let run = in_container(
        &inside,
        &name,
        &folder,
        environment,
        (&["--read-only"], &line),
    );
    let (code, _, stderr) = output(run).await;

    docker(&inside.stack, &["rm", "--force", &name]).await;
    assert_eq!(code, 0, "{stderr}");
    let used = fs::read_to_string(folder.join("folder")).expect("a note");
    assert_eq!(used, "/dev/shm\n");
    fs::remove_dir_all(folder).expect("a folder that can be removed");
}

#[tokio::test]
async fn the_progress_fifo_avoids_a_folder_closed_to_other_users() {
    let scene = Scene::open("user-closed").await;
    let folder = scratch("user-closed");
    fs::create_dir(&folder).expect("a folder");
    fs::set_permissions(&folder, Permissions::from_mode(0o700)).expect("a mode");
    let mut run = scene.bash(&[], "echo $LOCKSTEP_PROGRESS");
    run.env("TMPDIR", &folder);

    let (code, out, stderr) = output(run).await;

    assert_eq!(code, 0, "{stderr}");
    assert!(
        !out.starts_with(folder.to_str().expect("a path of plain letters")),
        "{out}"
    );
    fs::remove_dir(folder).expect("an empty folder");
}

#[tokio::test]
async fn a_command_of_another_user_may_open_its_standard_input() {
    use crate::worker::read_as;
    for (way, command) in BECOME.iter().filter(|_| is_root()) {
        let said = read_as(command).await;
        assert_eq!(said, "the body", "{way}");
    }
}
