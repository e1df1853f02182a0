//! MFA codes, and the sessions that they open.

use super::laptop::Laptop;
use super::profile;
use super::services::CODE;
use crate::support::Inside;
use std::process::Stdio;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// Runs `command` at its terminal and types `code`. Returns the exit code and what the terminal
/// shows.
async fn typed(mut command: Command, code: &str) -> (Option<i32>, String) {
    command.stdout(Stdio::piped()).kill_on_drop(true);
    let mut asked = command.spawn().expect("script");
    let mut typed = asked.stdin.take().expect("a pipe");
    typed
        .write_all(format!("{code}\n").as_bytes())
        .await
        .expect("a line");
    let ended = asked.wait_with_output().await.expect("an end");
    drop(typed);
    let text = String::from_utf8_lossy(&ended.stdout).into_owned();
    (ended.status.code(), text)
}

#[tokio::test]
async fn an_mfa_code_is_asked_for_at_the_terminal_once() {
    for (name, code, expected) in [
        (
            "mfa",
            CODE,
            "AssumeRole by keys in eu-west-1, DescribeStacks by role-of-keys in eu-west-1",
        ),
        (
            "mfa-below",
            CODE,
            "AssumeRole by keys in eu-west-1, AssumeRole by role-of-keys in eu-west-1, DescribeStacks by role-of-role-of-keys in eu-west-1",
        ),
        ("mfa", "654321", "AssumeRole by keys in eu-west-1"),
    ] {
        let laptop = Laptop::new().await;
        let command = laptop.at_terminal(&["locks"], &profile(name));

        let (ended, text) = typed(command, code).await;

        assert_eq!(
            text.matches("Enter MFA code for arn:aws:iam::111122223333:mfa/jo: ")
                .count(),
            1,
            "{text}"
        );
        assert_eq!(laptop.services.calls().join(", "), expected, "{text}");
        let accepted = code == CODE;
        assert_eq!(ended, Some(if accepted { 64 } else { 69 }), "{text}");
        assert!(
            accepted
                || text.contains("STS AssumeRole: AccessDenied: MultiFactorAuthentication failed"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_run_ends_with_its_lease_when_the_mfa_session_has_ended() {
    let (inside, name) = Inside::with_lock("mfa").await;
    let laptop = Laptop::new().await;
    let mut variables = inside.environment();
    let is_own = |name: &str| {
        name.starts_with("AWS_") && name != "AWS_ENDPOINT_URL_DYNAMODB" && name != "AWS_REGION"
    };
    variables.retain(|(name, _)| !is_own(name));
    variables.push(("AWS_PROFILE".into(), "mfa-short".into()));
    let variables: Vec<_> = variables
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let args = ["run", "--lock", &name, "--lease", "5s", "--", "sleep", "99"];
    let command = laptop.at_terminal(&args, &variables);

    let (ended, text) = typed(command, CODE).await;

    assert_eq!(ended, Some(76), "{text}");
    let why = "the MFA session of the profile mfa-short has ended";
    assert!(text.contains(why), "{text}");
    assert_eq!(text.matches("Enter MFA code").count(), 1, "{text}");
}
