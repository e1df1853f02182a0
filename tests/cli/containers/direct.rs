//! `lockstep` as the first process of containers that the engine starts directly, on the host's
//! network and with the host's tools. ECS lets no task choose the readers of its streams, and gives
//! it no terminal. A proxy before the table listens on the host alone.

use super::Fleet;
use super::image::LOCKSTEP;
use crate::agent::Agent;
use crate::support::{Started, lock, output};
use crate::{agent, lossy, not_started, streams};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::process::Stdio;
use tokio::process::Command;

/// Returns the same `lockstep` with the same environment, in a container. The client of the engine
/// passes on signals, streams and the exit code.
fn first(fleet: &Fleet, command: &Command, options: &[&str]) -> Command {
    let command = command.as_std();
    let mut docker = Command::new("docker");
    let host = fleet.stack().setting("DOCKER_HOST");
    docker.args(["--host", host, "run", "--rm"]);
    docker.args(["--network", "host", "--entrypoint", LOCKSTEP]);
    for folder in ["/bin", "/lib", "/lib64", "/usr/bin", "/usr/lib"] {
        docker.args(["--volume", &format!("{folder}:{folder}:ro")]);
    }
    let scratch = env!("CARGO_TARGET_TMPDIR");
    docker.args(["--volume", &format!("{scratch}:{scratch}")]);
    let set = command.get_envs();
    for (name, value) in set.filter_map(|(name, value)| Some((name, value?))) {
        docker.arg("--env").arg([name, value].join(OsStr::new("=")));
    }
    docker.args(options).arg(fleet.image());
    docker.args(command.get_args()).stdin(Stdio::null());
    docker.stdout(Stdio::null()).stderr(Stdio::null());
    docker
}

#[tokio::test]
async fn a_log_without_a_reader_holds_up_no_renewal_of_pid_1() {
    let fleet = Fleet::open().await;
    streams::renews_unread(|run| first(&fleet, &run, &["--log-driver", "none"])).await;
}

#[tokio::test]
async fn an_outage_of_a_fifth_of_the_lease_costs_a_first_process_nothing() {
    let fleet = Fleet::open().await;
    lossy::outlives_a_short_outage(|run| first(&fleet, &run, &[])).await;
}

#[tokio::test]
async fn a_pid_1_without_an_answer_releases_its_grant_and_exits_with_69() {
    let fleet = Fleet::open().await;
    lossy::gives_an_unseen_grant_back(|run| first(&fleet, &run, &[])).await;
}

#[tokio::test]
async fn a_first_process_gives_up_in_time_on_a_table_that_never_answers() {
    let fleet = Fleet::open().await;
    lossy::gives_up_on_a_silent_table(|run| first(&fleet, &run, &[])).await;
}

#[tokio::test]
async fn ctrl_z_does_not_stop_a_command_below_a_first_process() {
    let fleet = Fleet::open().await;
    let on_terminal = ["--interactive", "--tty"];
    streams::goes_on_after_ctrl_z(|run| first(&fleet, &run, &on_terminal)).await;
}

#[tokio::test]
async fn a_client_of_an_agent_as_pid_1_has_10_s_for_its_request() {
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

    let shown: Value = serde_json::from_str(&out).expect(&stderr);
    let name = json!(fleet.holders(&lock).await[0]);
    assert_eq!((code, &shown["holders"][0]["holder"]), (0, &name));
    holder.signal("TERM").await;
    assert_eq!(holder.code().await, 143);
}

#[tokio::test]
async fn a_first_process_that_starts_nothing_ends_with_the_code_that_says_why() {
    let fleet = Fleet::open().await;
    let garbage = not_started::executable(b"\0\x01\x02 garbage");
    let lock = lock("first-codes");
    let run = |command| fleet.run(&lock, &[], &[command]);
    let keys = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];
    let cases = [
        (run(&garbage), &[][..], 126),
        (run("/usr/bin"), &[], 126),
        (run("no-such-command"), &[], 127),
        (run("true"), &["AWS_REGION"], 64),
        (run("true"), &keys, 69),
        (fleet.command(&["progress", "1"]), &[], 64),
    ];
    for (command, without, expected) in cases {
        let command = not_started::stripped(command, without);
        let (code, _, logged) = output(first(&fleet, &command, &[])).await;
        assert_eq!(code, expected, "{logged}");
    }
    assert_eq!(fleet.held(&lock).await, 0);
}
