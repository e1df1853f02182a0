use super::*;
use crate::contract::{EventKind, WorkFailure};
use lockstep_core::domain::{FencingToken, LockKey, RunKey, Timestamp};
use serde_json::{Value, json};

const RUN: &str = "arn:aws:states:eu-west-1:1:execution:exclusive-run:night-7";

fn event(kind: EventKind, holder: Option<&str>, failed: Option<FailedRun>) -> Event {
    Event {
        kind,
        lock: LockKey::new("nightly").unwrap(),
        holder: holder.map(|holder| HolderId::new(holder).unwrap()),
        token: Some(FencingToken::from_number(7)),
        reason: "why \"so\"".into(),
        advice: "look: docs/runbook.md#run-failed".into(),
        at: Timestamp::from_millis(1_767_225_600_000),
        state: None,
        failed,
    }
}

fn message(event: &Event) -> Value {
    serde_json::to_value(Message::of(event, &event.reason, &event.advice)).unwrap()
}

#[test]
fn a_message_is_a_custom_notification_with_the_lock_as_its_thread() {
    let message = message(&event(EventKind::LeaseLost, Some("a"), None));

    let expected = json!({
        "version": "1.0",
        "source": "custom",
        "content": {
            "textType": "client-markdown",
            "title": "Lockstep Lease Lost: nightly",
            "description": "why \"so\"\nHolder: a\nTime: 2026-01-01T00:00:00Z",
            "nextSteps": ["look: docs/runbook.md#run-failed"],
        },
        "metadata": {
            "threadId": "nightly",
            "summary": "Lockstep Lease Lost: nightly",
            "eventType": "Lockstep Lease Lost",
            "relatedResources": [],
            "additionalContext": { "at": "2026-01-01T00:00:00Z", "holder": "a", "lock": "nightly", "token": "7" },
        },
    });
    assert_eq!(message, expected);
}

#[test]
fn every_kind_has_a_message_but_a_failure_that_repeats_another_event() {
    for kind in EventKind::ALL {
        let bare = event(kind, None, None);
        let failed = event(kind, None, Some(FailedRun::default()));

        assert_eq!(
            message(&bare).is_null(),
            kind == EventKind::RunFailed,
            "{kind}"
        );
        assert!(!message(&failed).is_null(), "{kind}");
    }
}

#[test]
fn a_failed_run_links_to_its_execution_workflow_and_logs() {
    let task = "arn:aws:ecs:eu-west-1:1:task/batch/4f0c";
    let child = "arn:aws:states:eu-west-1:1:execution:etl:lockstep-nightly-7-0";
    let failed = FailedRun {
        task: TaskArn::new(task).ok(),
        work: ExecutionArn::new(child.into()).ok(),
        run_key: RunKey::new("day").ok(),
        attempt: Some(2),
        redrives: 1,
        took_ms: Some(725_900),
        usual: Some(UsualLength {
            median_ms: 7_265_000,
            longest_ms: 9_000_000,
            successes: 12,
        }),
        ..FailedRun::default()
    };

    let message = message(&event(EventKind::RunFailed, Some(RUN), Some(failed)));

    let content = &message["content"];
    let lines = "why \"so\"\nHolder: execution night-7 of exclusive-run\nRun key: day\nAttempt: 2; failed \
                 attempts of the same caller before it: 1\nRedrives: 1\nTook: 12 min 5 s; usually 2 h 1 min, the median of \
                 12 successes\nTime: 2026-01-01T00:00:00Z";
    assert_eq!(content["description"], lines);
    let console = "https://eu-west-1.console.aws.amazon.com";
    let details = format!("{console}/states/home?region=eu-west-1#/v2/executions/details");
    let steps = json!([
        "look: docs/runbook.md#run-failed",
        format!("Execution: {details}/{RUN}"),
        format!("Workflow: {details}/{child}"),
        format!("Logs: {console}/ecs/v2/clusters/batch/tasks/4f0c/logs?region=eu-west-1"),
    ]);
    assert_eq!(content["nextSteps"], steps);
    assert_eq!(
        message["metadata"]["relatedResources"],
        json!([RUN, child, task])
    );
    let context = &message["metadata"]["additionalContext"];
    for (field, value) in [
        ("runKey", "day"),
        ("attempt", "2"),
        ("redrives", "1"),
        ("tookSeconds", "725"),
        ("usualSeconds", "7265"),
    ] {
        assert_eq!(context[field], value);
    }
}

#[test]
fn a_message_shows_the_length_of_a_run_and_the_usual_length() {
    let usual = |successes| UsualLength {
        median_ms: 90_000_000,
        longest_ms: 90_000_000,
        successes,
    };
    for (took, usual, expected) in [
        (450, None, "Took: 0.4 s"),
        (
            59_999,
            Some(usual(1)),
            "Took: 59.9 s; the last success took 1 d 1 h",
        ),
        (
            60_000,
            Some(usual(2)),
            "Took: 1 min 0 s; usually 1 d 1 h, the median of 2 successes",
        ),
    ] {
        assert_eq!(length_line(took, usual), expected);
    }
}

#[test]
fn the_runbook_follows_the_advice() {
    let mut message = Message::of(&event(EventKind::LeaseLost, Some(RUN), None), "why", "look");
    let message = message.as_mut().expect("a message");

    message.link_runbook("https://wiki/nightly");

    let steps = &message.content.next_steps;
    assert_eq!(steps[..2], ["look", "Runbook: https://wiki/nightly"]);
    assert!(steps[2].starts_with("Execution: "), "{steps:?}");
}

#[test]
fn a_holder_is_shown_by_the_names_in_its_arn() {
    let long = "x".repeat(101);
    let cut = format!("{}…", "x".repeat(100));
    for (holder, expected) in [
        (RUN, "execution night-7 of exclusive-run"),
        (&format!("{RUN}#2"), "execution night-7#2 of exclusive-run"),
        (
            "arn:aws:ecs:eu-west-1:1:task/batch/4f0c#id/job",
            "task 4f0c of cluster batch",
        ),
        ("worker-1", "worker-1"),
        (&long, &cut),
    ] {
        let name = short_name(&HolderId::new(holder).unwrap());
        assert_eq!(name, expected, "{holder}");
    }
}

#[test]
fn a_holder_with_unsafe_characters_is_not_a_fact_of_the_message() {
    for (holder, is_fact) in [
        (RUN, true),
        ("arn:aws:ecs:eu-west-1:1:task/batch/4f0c#id/job", true),
        ("jo@example.com+1=2", true),
        (r#"a","force":true,"b":""#, false),
        ("a\\", false),
        ("$lock", false),
        ("a`b`", false),
        ("a;b", false),
        ("a\"b", false),
    ] {
        let message = message(&event(EventKind::LeaseLost, Some(holder), None));
        let fact = &message["metadata"]["additionalContext"]["holder"];
        assert_eq!(!fact.is_null(), is_fact, "{holder}");
    }
}

#[test]
fn the_reason_of_a_failed_run_is_error_and_cause() {
    let failure = |error: Option<&str>, cause: Option<&str>| WorkFailure {
        error: error.map(str::to_owned),
        cause: cause.map(str::to_owned),
    };
    let unknown = "the run reported that its work failed, without a reason";
    for (failure, expected) in [
        (Some(failure(Some("E"), Some("a\nb"))), "E: a b"),
        (Some(failure(None, Some("exit code 3"))), "exit code 3"),
        (Some(failure(Some("E"), Some(""))), "E"),
        (Some(failure(None, None)), unknown),
        (None, unknown),
    ] {
        let failed = FailedRun::of(failure.as_ref(), None);
        assert_eq!(failed.reason(), expected, "{failure:?}");
    }
}
