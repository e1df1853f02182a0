//! `lockstep audit` on state machines of the local stack: its figures beside an independent count,
//! calls that IAM denies, and an audit that is stopped and resumed.

mod account;
mod counted;
mod resumed;

use crate::support::{Inside, assert_refused, output, scratch};
use account::Account;
use counted::{Counted, Times};
use lockstep::domain::{Timestamp, rfc3339};
use lockstep_tests::stack::{now, pause};
use lockstep_tests::wire::{Fault, Wire};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use tokio::process::Command;

/// Returns the report that `command` prints as JSON.
async fn report(command: Command) -> Value {
    let (code, out, stderr) = output(command).await;
    assert_eq!(code, 0, "{stderr}");
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
}

fn names(list: &Value) -> Vec<&str> {
    let list = list.as_array().expect("a list").iter();
    list.map(|of| of["name"].as_str().expect("a name"))
        .collect()
}

#[tokio::test]
async fn figures_equal_a_count_of_each_millisecond() {
    let inside = Inside::open().await;
    let account = Account::new(&inside, "audit-count");
    let waits = account.machine("waits", "STANDARD").await;
    let express = account.machine("quick", "EXPRESS").await;
    let mut started = Vec::new();
    for (seconds, then) in [(4, 1_500), (3, 0), (1, 5_000), (1, 2_500), (30, 1_200)] {
        started.push(
            inside
                .stack
                .start_machine(&waits, &json!({ "seconds": seconds }))
                .await,
        );
        pause(then).await;
    }
    inside.stack.abort(&started[4]).await;
    inside.stack.wait_all(&started, 60).await;
    let mut times = Vec::new();
    for arn in &started {
        times.push(Times::described(&inside.stack, arn).await);
    }

    let found = report(account.audit(&["--output", "json"])).await;
    let (_, table, _) = output(account.audit(&[])).await;

    let counted = Counted::of(&times);
    let machine = &found["stateMachines"][0];
    assert!(
        counted.overlapping >= 2 && counted.doubles >= 1,
        "{counted:?}"
    );
    assert_eq!(Counted::reported(machine), counted, "{found:#}");
    let endings = json!({ "succeeded": 4, "failed": 0, "timedOut": 0, "aborted": 1, "running": 0, "other": 0 });
    assert_eq!(machine["endings"], endings);
    assert_eq!(
        names(&found["notSeen"]),
        [account.name("quick")],
        "{express}"
    );
    let row = table
        .lines()
        .find(|line| line.starts_with(&account.name("waits")[..20]));
    assert!(
        row.is_some_and(|row| row.contains(&format!(" {} ", counted.overlapping))),
        "{table}"
    );
}

#[tokio::test]
async fn the_report_shows_schedules_and_rules_beside_the_runs() {
    let inside = Inside::open().await;
    let account = Account::new(&inside, "audit-schedules");
    let machine = account.machine("nightly", "STANDARD").await;
    account
        .schedule(
            "direct",
            "cron(0 6 ? * MON-FRI *)",
            &format!("{machine}:PROD"),
            None,
        )
        .await;
    let start = "arn:aws:scheduler:::aws-sdk:sfn:startExecution";
    account
        .schedule("universal", "rate(3 hours)", start, Some(&machine))
        .await;
    account
        .schedule(
            "of-another",
            "rate(1 hour)",
            start,
            Some("arn:aws:states:us-east-1:000000000000:stateMachine:x"),
        )
        .await;
    account
        .rule("tick", "rate(5 minutes)", "DISABLED", &machine)
        .await;
    let day = 86_400_000;
    let runs: Vec<_> = (1..29)
        .map(|n| (now() - n * day, now() - n * day + 60_000))
        .collect();
    account.past(&machine, &runs).await;

    let found = report(account.audit(&["--output", "json"])).await;

    let schedules = found["stateMachines"][0]["schedules"]
        .as_array()
        .expect("schedules");
    let interval = |of: &Value| {
        let name = of["name"].as_str().expect("a name");
        let name = name.rsplit('/').next().expect("a name");
        let name = name
            .strip_prefix(account.prefix.as_str())
            .expect("a name of the test");
        (name.to_owned(), of["intervalSeconds"].clone())
    };
    let intervals: BTreeMap<_, _> = schedules.iter().map(interval).collect();
    let expected = [
        ("-direct", 86_400.0),
        ("-tick", 300.0),
        ("-universal", 10_800.0),
    ];
    let expected = expected.map(|(name, seconds)| (name.to_owned(), json!(seconds)));
    assert_eq!(intervals, expected.into(), "{found:#}");
}

#[tokio::test]
async fn a_tick_that_started_nothing_is_named_with_its_schedule() {
    let inside = Inside::open().await;
    let account = Account::new(&inside, "audit-missed");
    let machine = account.machine("nightly", "STANDARD").await;
    let (hour, day) = (3_600_000, 86_400_000);
    // The newest tick was twelve hours ago, so the rule does not fire during the test.
    let newest = now() / hour * hour - 12 * hour;
    let hour_of_day = newest / hour % 24;
    let tick = |nth: u64| newest - (nth - 1) * day;
    let rule = account.name("tick");
    account
        .rule(
            "tick",
            &format!("cron(0 {hour_of_day} * * ? *)"),
            "ENABLED",
            &machine,
        )
        .await;
    let lost = [3, 4, 7];
    let runs = (1..=10).filter(|nth| !lost.contains(nth));
    let runs: Vec<_> = runs
        .map(|nth| (tick(nth) + 900, tick(nth) + 60_000))
        .collect();
    account.past(&machine, &runs).await;

    let found = report(account.audit(&["--output", "json"])).await;
    let (_, table, _) = output(account.audit(&[])).await;

    let ticks = &found["stateMachines"][0]["ticks"];
    let named = |nth: &u64| {
        let at = rfc3339(Timestamp::from_millis(tick(*nth)));
        json!({ "at": at, "count": 1, "schedules": [rule] })
    };
    let expected: Vec<Value> = lost.iter().map(named).collect();
    assert_eq!(ticks["latestMissed"], json!(expected), "{found:#}");
    assert_eq!((&ticks["missed"], &ticks["late"]), (&json!(3), &json!(0)));
    assert!(table.contains("3 of "), "{table}");
    assert!(table.contains(" had no start: "), "{table}");
}

#[tokio::test]
async fn the_window_keeps_older_runs_out_and_the_report_readable() {
    let inside = Inside::open().await;
    let account = Account::new(&inside, "audit-window");
    let long = "夜".repeat(30);
    let machine = account.machine(&long, "STANDARD").await;
    let hour = 3_600_000;
    let at = now();
    // A hundred runs of an hour, one every forty minutes. Some 36 of them started in the last 24
    // hours.
    let runs: Vec<_> = (1..=100)
        .map(|n| at - n * hour * 2 / 3)
        .map(|start| (start, start + hour))
        .collect();
    account.past(&machine, &runs).await;
    let page = scratch("audit-window").with_extension("html");
    let page = page.to_str().expect("a path");

    let (code, table, stderr) = output(account.audit(&["--since", "24h", "--html", page])).await;
    let found = report(account.audit(&["--since", "1d", "--output", "json"])).await;

    assert_eq!(code, 0, "{stderr}");
    let runs = found["stateMachines"][0]["runs"]
        .as_u64()
        .expect("a number");
    assert!((34..=36).contains(&runs), "{runs}");
    assert_eq!(found["stateMachines"][0]["replay"]["queue"]["grows"], true);
    let columns = |line: &str| {
        line.chars()
            .map(|c| if c.is_ascii() { 1 } else { 2 })
            .sum::<usize>()
    };
    assert!(table.lines().all(|line| columns(line) <= 120), "{table}");
    let html = fs::read_to_string(page).expect("a page");
    assert!(html.contains(&account.name(&long)), "the page names it");
    for absent in ["<script", "http://", "https://", "@import", "url("] {
        assert!(!html.contains(absent), "{absent}");
    }
}

#[tokio::test]
async fn what_iam_denies_is_named_and_the_rest_is_reported() {
    let inside = Inside::open().await;
    let account = Account::new(&inside, "audit-denied");
    let (open, closed) = (
        account.machine("open", "STANDARD").await,
        account.machine("closed", "STANDARD").await,
    );
    account.schedule("tick", "rate(1 hour)", &open, None).await;
    let policy = account::policy_of_the_page();
    let without = |actions: &[&str]| {
        let mut policy = policy.clone();
        let statements = policy["Statement"].as_array_mut().expect("statements");
        for statement in statements.iter_mut() {
            let allowed = statement["Action"].as_array_mut().expect("actions");
            allowed.retain(|action| !actions.contains(&action.as_str().expect("a text")));
        }
        // IAM takes no statement without an action.
        statements.retain(|statement| statement["Action"] != json!([]));
        policy
    };
    let mut one = policy.clone();
    for statement in one["Statement"].as_array_mut().expect("statements") {
        if statement["Action"] == json!(["states:ListExecutions"]) {
            statement["Resource"] = json!(open);
        }
    }

    let whole = report(account.audit_as(&policy, &["-o", "json"]).await).await;
    let no_schedules = without(&["scheduler:GetSchedule", "events:ListRules"]);
    let no_schedules = report(account.audit_as(&no_schedules, &["-o", "json"]).await).await;
    let of_one = report(account.audit_as(&one, &["-o", "json"]).await).await;
    let nothing = account
        .audit_as(&without(&["states:ListStateMachines"]), &[])
        .await;

    assert_eq!(whole["denied"], json!([]), "{whole:#}");
    assert_eq!(
        names(&whole["stateMachines"]),
        [account.name("closed"), account.name("open")]
    );
    let denied = no_schedules["denied"].as_array().expect("a list").iter();
    let denied: Vec<_> = denied.map(|of| of["action"].clone()).collect();
    assert_eq!(denied, ["events:ListRules", "scheduler:GetSchedule"]);
    assert_eq!(
        names(&of_one["stateMachines"]),
        [account.name("open")],
        "{of_one:#}"
    );
    assert_eq!(
        names(&of_one["notSeen"]),
        [account.name("closed")],
        "{closed}"
    );
    let reason = of_one["notSeen"][0]["reason"].as_str().expect("a text");
    assert!(
        reason.contains("states:ListExecutions is denied"),
        "{reason}"
    );
    assert_refused(nothing, 69, "states:ListStateMachines is denied").await;
}

#[tokio::test]
async fn throttling_slows_an_audit_and_does_not_end_it() {
    let inside = Inside::open().await;
    let account = Account::new(&inside, "audit-throttled");
    account.machine("a", "STANDARD").await;
    let wire = Wire::to(&inside.stack.endpoint).await;
    for _ in 0..2 {
        let fault = Fault::error(400, "ThrottlingException");
        wire.fail_next("ListExecutions", fault);
    }
    let mut command = account.audit(&["--output", "json"]);
    command.env("AWS_ENDPOINT_URL", wire.endpoint());

    let found = report(command).await;

    assert_eq!(names(&found["stateMachines"]), [account.name("a")]);
    assert_eq!(wire.take_counts()["ListExecutions"], 3);
}

#[tokio::test]
async fn each_mistake_is_one_line_with_the_code_of_its_kind() {
    let inside = Inside::open().await;
    let account = Account::new(&inside, "audit-mistakes");
    account.machine("a", "STANDARD").await;
    let plain = |args: &[&str]| inside.command(&[&["audit"], args].concat());
    let other = scratch("audit-other");
    fs::write(&other, "notes\n").expect("a file");
    let other = other.to_str().expect("a path");
    let mut away = account.audit(&[]);
    away.env("AWS_ENDPOINT_URL", "http://127.0.0.1:1");

    assert_refused(plain(&["--since", "91d"]), 64, "1m to 90d").await;
    assert_refused(plain(&["--rate", "0"]), 64, "0.1 to 100").await;
    assert_refused(plain(&["no-such-machine"]), 64, "no such state machine").await;
    assert_refused(
        account.audit(&["--state", other]),
        64,
        "not a state file of an audit",
    )
    .await;
    assert_refused(away, 69, "AWS_ENDPOINT_URL").await;
    let nowhere = account.audit(&["--html", "/no/such/folder/a.html"]);
    let (code, report, stderr) = output(nowhere).await;
    assert_eq!(code, 73, "{stderr}");
    assert!(
        stderr.contains("--html /no/such/folder/a.html cannot be written"),
        "{stderr}"
    );
    assert!(report.contains("1 state machine of"), "{report}");
    let both = account.audit(&["--state", other, "--html", other]);
    assert_refused(both, 64, "--state and --html name the same file").await;
    let endless = account.audit(&["--state", "/dev/zero"]);
    assert_refused(endless, 64, "not a regular file").await;
}
