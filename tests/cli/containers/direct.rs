//! `lockstep` as the first process of containers that the engine starts by itself, on the host's
//! network and with the host's tools. ECS lets no task choose who reads its streams, nor gives it a
//! terminal; and a proxy before the table listens on the host alone.

use super::Fleet;
use super::image::LOCKSTEP;
use crate::agent::Agent;
use crate::support::{Started, lock, output, scratch};
use crate::{agent, lossy, not_started, streams};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use tokio::process::Command;

/// The same `lockstep` with the same environment, in a container whose client passes signals, streams
/// and the exit code on.
fn first(fleet: &Fleet, command: &Command, options: &[&str]) -> Command {
    let command = command.as_std();
    let mut docker = Command::new("docker");
    docker.args([
        "--host",
        fleet.stack().setting("DOCKER_HOST"),
        "run",
        "--rm",
    ]);
    docker.args(["--network", "host", "--entrypoint", LOCKSTEP]);
    for folder in ["/bin", "/lib", "/lib64", "/usr/bin", "/usr/lib"] {
        docker.args(["--volume", &format!("{folder}:{folder}:ro")]);
    }
    let scratch = env!("CARGO_TARGET_TMPDIR");
    docker.args(["--volume", &format!("{scratch}:{scratch}")]);
    for (name, value) in command.get_envs().filter(|(_, value)| value.is_some()) {
        let (name, value) = (
            name.to_string_lossy(),
            value.unwrap_or_default().to_string_lossy(),
        );
        docker.args(["--env", &format!("{name}={value}")]);
    }
    docker
        .args(options)
        .arg(fleet.image())
        .args(command.get_args());
    docker
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    docker
}

#[tokio::test]
async fn a_log_without_a_reader_does_not_hold_up_the_renewals_of_a_first_process() {
    let fleet = Fleet::open().await;
    streams::renews_unread(&fleet, |run| first(&fleet, &run, &["--log-driver", "none"])).await;
}

#[tokio::test]
async fn an_outage_of_a_fifth_of_the_lease_costs_a_first_process_nothing() {
    let fleet = Fleet::open().await;
    lossy::outlives_a_short_outage(&fleet, |run| first(&fleet, &run, &[])).await;
}

#[tokio::test]
async fn a_first_process_that_never_had_an_answer_gives_its_grant_back_and_ends_with_69() {
    let fleet = Fleet::open().await;
    lossy::gives_an_unseen_grant_back(&fleet, |run| first(&fleet, &run, &[])).await;
}

#[tokio::test]
async fn a_first_process_gives_up_in_time_on_a_table_that_never_answers() {
    let fleet = Fleet::open().await;
    lossy::gives_up_on_a_silent_table(&fleet, |run| first(&fleet, &run, &[])).await;
}

#[tokio::test]
async fn ctrl_z_does_not_stop_a_command_below_a_first_process() {
    let fleet = Fleet::open().await;
    let on_terminal = ["--interactive", "--tty"];
    streams::goes_on_after_ctrl_z(&fleet, |run| first(&fleet, &run, &on_terminal)).await;
}

#[tokio::test]
async fn a_client_of_an_agent_that_is_a_first_process_has_ten_seconds_for_its_request() {
    let fleet = Fleet::open().await;
    let change = |command: &mut Command| *command = first(&fleet, command, &[]);
    let agent = Agent::start_with(&fleet, &[], change).await;
    agent::bounds_slow_clients(&agent).await;
}

#[tokio::test]
async fn a_first_process_shows_what_another_container_holds() {
    let (fleet, lock) = Fleet::with_lock("first-shows").await;
    let holder = first(&fleet, &fleet.run(&lock, &[], &["sleep", "300"]), &[]);
    let mut holder = Started::of(holder);
    fleet.until_held(&lock, 1, 20).await;

    let show = fleet.command(&["show", &lock, "--output", "json"]);
    let (code, out, stderr) = output(first(&fleet, &show, &[])).await;

    let shown: Value =
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {stderr}"));
    let record = fleet.record(&lock).await.expect("a record");
    let name = record.holders.keys().next().expect("a holder").as_str();
    assert_eq!((code, &shown["holders"][0]["holder"]), (0, &json!(name)));
    holder.signal("TERM").await;
    assert_eq!(holder.code().await, 143);
}

#[tokio::test]
async fn a_first_process_that_starts_nothing_ends_with_the_code_that_says_why() {
    let fleet = Fleet::open().await;
    let garbage = scratch("garbage");
    std::fs::write(&garbage, b"\0\x01\x02 garbage").expect("a file");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&garbage, mode).expect("its mode");
    let garbage = garbage.to_str().expect("a path");
    let lock = lock("first-codes");
    let run = |command| fleet.run(&lock, &[], &[command]);
    let keys = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];
    let cases = [
        (run(garbage), &[][..], 126),
        (run("/usr/bin"), &[], 126),
        (run("no-such-command"), &[], 127),
        (run("true"), &["AWS_REGION"], 64),
        (run("true"), &keys, 69),
        (fleet.command(&["progress", "1"]), &[], 64),
    ];
    for (command, without, expected) in cases {
        let (code, logged) =
            not_started::code_without(command, without, |run| first(&fleet, &run, &[])).await;
        assert_eq!(code, expected, "{logged}");
    }
    assert_eq!(fleet.held(&lock).await, 0);
}
