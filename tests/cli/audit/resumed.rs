//! An audit that is stopped by SIGINT and started again.

use super::account::Account;
use super::report;
use crate::support::{Inside, Started, scratch, signal_to};
use lockstep_tests::stack::{now, until};
use lockstep_tests::wire::{Fault, Sent, Wire};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

#[tokio::test]
async fn an_audit_that_is_interrupted_asks_for_no_page_twice() {
    let inside = Inside::open().await;
    let account = Account::new(&inside, "audit-resumed");
    for n in 0..4 {
        let machine = account.machine(&n.to_string(), "STANDARD").await;
        // The largest page that Step Functions returns has 1,000 executions.
        let runs: Vec<_> = (0..1_200)
            .map(|k| (now() - k * 60_000 - 9_000, now() - k * 60_000))
            .collect();
        account.past(&machine, &runs).await;
    }
    let wire = Wire::to(&inside.stack.endpoint).await;
    let state = scratch("audit-resumed");
    let flags = [
        "--state",
        state.to_str().expect("a path"),
        "--output",
        "json",
        "--rate",
        "2",
    ];
    let on_the_wire = || {
        let mut command = account.audit(&flags);
        command.env("AWS_ENDPOINT_URL", wire.endpoint());
        command
    };
    wire.take_sent();

    let mut first = Started::of(on_the_wire());
    until("pages in the state", 120, async || pages_in(&state) >= 3).await;
    signal_to(first.pid, "INT").await;
    let code = first.code().await;
    let known = pages_in(&state);
    let mut sent = wire.take_sent();
    let found = report(on_the_wire()).await;
    let asked = wire.take_sent();

    assert_eq!(code, 130);
    let machines = found["stateMachines"].as_array().expect("a list");
    assert_eq!(machines.len(), 4, "{found:#}");
    assert!(machines.iter().all(|of| of["runs"] == 1_200), "{found:#}");
    // A request may have been under way at the signal, so only the pages in the state are known.
    assert_eq!(
        pages_of(&asked).len(),
        8 - known,
        "the pages that were not known"
    );
    sent.extend(asked);
    let pages: BTreeSet<_> = pages_of(&sent).into_iter().collect();
    assert_eq!(pages.len(), 8, "two pages of each state machine");
    let listed = sent
        .iter()
        .filter(|sent| sent.operation == "ListStateMachines");
    assert_eq!(listed.count(), 1);
    let again = report(on_the_wire()).await;
    assert_eq!(again["requests"], 0, "all is known");
    let mode = fs::metadata(&state).expect("a state").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "nobody else reads it");
    fs::remove_file(state).expect("a state");
}

#[tokio::test]
async fn a_list_whose_token_has_expired_is_read_anew() {
    let inside = Inside::open().await;
    let account = Account::new(&inside, "audit-expired");
    let machine = account.machine("a", "STANDARD").await;
    let runs: Vec<_> = (0..1_200)
        .map(|k| (now() - k * 60_000 - 9_000, now() - k * 60_000))
        .collect();
    account.past(&machine, &runs).await;
    let wire = Wire::to(&inside.stack.endpoint).await;
    wire.let_pass("ListExecutions");
    wire.fail_next("ListExecutions", Fault::error(400, "InvalidToken"));
    let mut command = account.audit(&["--output", "json"]);
    command.env("AWS_ENDPOINT_URL", wire.endpoint());

    let found = report(command).await;

    assert_eq!(found["stateMachines"][0]["runs"], 1_200);
    assert_eq!(wire.take_counts()["ListExecutions"], 4, "two pages, twice");
}

/// Returns the number of pages of executions in a state.
fn pages_in(state: &Path) -> usize {
    let text = fs::read_to_string(state).unwrap_or_default();
    let of_executions = |line: &&str| line.contains("\"of\":\"executions/");
    text.lines().filter(of_executions).count()
}

/// Returns the bodies of the requests for pages of executions.
fn pages_of(sent: &[Sent]) -> Vec<String> {
    let listed = sent
        .iter()
        .filter(|sent| sent.operation == "ListExecutions");
    listed
        .map(|sent| String::from_utf8_lossy(&sent.body).into_owned())
        .collect()
}
