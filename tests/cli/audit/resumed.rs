//! An audit that is stopped by SIGINT and started again.

use super::account::Account;
use super::report;
use crate::support::{Inside, Started, scratch, signal_to};
use lockstep_tests::stack::{now, pause, until};
use lockstep_tests::wire::{Fault, Wire};
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
    until_pages(&state, 3).await;
    // The next request comes half a second later: no request is under way.
    pause(200).await;
    signal_to(first.pid, "INT").await;
    let code = first.code().await;
    let found = report(on_the_wire()).await;

    assert_eq!(code, 130);
    let machines = found["stateMachines"].as_array().expect("a list");
    assert_eq!(machines.len(), 4, "{found:#}");
    assert!(machines.iter().all(|of| of["runs"] == 1_200), "{found:#}");
    let sent = wire.take_sent();
    let mut pages: Vec<_> = sent
        .iter()
        .filter(|sent| sent.operation == "ListExecutions")
        .map(|sent| String::from_utf8_lossy(&sent.body).into_owned())
        .collect();
    let all = pages.len();
    pages.sort();
    pages.dedup();
    assert_eq!(
        (all, pages.len()),
        (8, 8),
        "two pages of each state machine"
    );
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

/// Waits until the state has this number of pages of executions.
async fn until_pages(state: &Path, count: usize) {
    until("pages in the state", 120, async || {
        let text = fs::read_to_string(state).unwrap_or_default();
        text.lines()
            .filter(|line| line.contains("\"of\":\"executions/"))
            .count()
            >= count
    })
    .await;
}
