//! What an operator types after each deployment: the commands of both versions, against the functions of one.

use crate::stack::Stack;
use serde_json::Value;
use std::path::{Path, PathBuf};
use tokio::process::Command;

/// The checks of doctor that the versions have a part in. The others are about the account and the locks.
const CHECKS: [&str; 3] = ["stack", "versions", "function View"];

/// Runs the commands of both versions on a lock of their own, and returns what was refused. `stage` names the
/// deployment.
pub(super) async fn refused(
    stack: &Stack,
    commands: &[PathBuf; 2],
    lock: &str,
    stage: &str,
) -> Vec<String> {
    let acts: [&[&str]; 6] = [
        &["run", "--lock", lock, "--", "true"],
        &["locks"],
        &["show", lock],
        &["history", lock],
        &["pause", lock, "--note", "proof"],
        &["resume", lock, "--note", "proof"],
    ];
    let mut refused = Vec::new();
    for (version, command) in ["From", "To"].into_iter().zip(commands) {
        let place = format!("{version}, {stage}");
        for words in acts {
            if let Err(said) = typed(stack, command, words).await {
                refused.push(format!("{} by {place}: {said}", words.join(" ")));
            }
        }
        for check in checks(stack, command).await {
            refused.push(format!("doctor by {place}: {check}"));
        }
    }
    refused
}

/// Returns the checks of doctor that failed, of those in [`CHECKS`]. Its exit code is about all checks.
async fn checks(stack: &Stack, command: &Path) -> Vec<String> {
    let said = typed(stack, command, &["doctor", "--output", "json"]).await;
    let (Ok(text) | Err(text)) = said;
    let report: Value = serde_json::from_str(&text).unwrap_or_default();
    let failed = CHECKS.iter().filter_map(|name| {
        let mut checks = report["checks"].as_array().into_iter().flatten();
        match checks.find(|check| check["name"] == *name) {
            Some(check) if check["status"] == "ok" => None,
            Some(check) => Some(check.to_string()),
            None => Some(format!("no check {name} in {text:?}")),
        }
    });
    failed.collect()
}

/// Runs a command. Returns its output, or with an exit code other than 0 its output and its errors.
async fn typed(stack: &Stack, command: &Path, words: &[&str]) -> Result<String, String> {
    let mut typed = Command::new(command);
    typed.args(words).envs(&stack.settings);
    typed
        .env("LOCKSTEP_TABLE", stack.output("LockTableName"))
        .env("LOCKSTEP_ACTOR", "proof@example.com")
        .kill_on_drop(true);
    let done = typed.output().await;
    let done = done.unwrap_or_else(|error| panic!("{typed:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    let (out, errors) = (text(&done.stdout), text(&done.stderr));
    if done.status.success() {
        return Ok(out);
    }
    Err(if out.is_empty() { errors } else { out })
}
