use super::{Container, Expected, Stop, Violation};

/// Returns a container of the lock `nightly` under `token`, whose holder is named after the token.
/// It runs from `started` to `ended` and exits with 0.
fn container(token: u64, started: u64, ended: u64) -> Container {
    Container {
        task: format!("task-{token}-{started}"),
        lock: "nightly".into(),
        holder: format!("holder-{token}"),
        token,
        run_key: None,
        started,
        ended: Some(ended),
        exit_code: Some(0),
        stopped: None,
    }
}

fn keyed(token: u64, started: u64, ended: u64) -> Container {
    Container {
        run_key: Some("2026-03-01".into()),
        ..container(token, started, ended)
    }
}

fn stopped(container: Container) -> Container {
    Container {
        exit_code: Some(143),
        stopped: Some(Stop {
            at: container.started + 1,
            reason: "lease lost".into(),
        }),
        ..container
    }
}

fn of(holder: &str, container: Container) -> Container {
    Container {
        holder: holder.into(),
        ..container
    }
}

#[test]
fn runs_one_after_the_other_break_no_rule() {
    let runs = [
        container(1, 0, 10),
        container(2, 10, 20),
        container(3, 25, 30),
    ];
    assert_eq!(Expected::permits(1).violations(&runs), []);
}

#[test]
fn more_at_once_than_permits_is_an_overlap() {
    let mut endless = container(1, 0, 10);
    endless.ended = None;
    let cases = [
        (1, vec![container(1, 0, 11), container(2, 10, 20)], 1),
        (1, vec![endless.clone(), container(2, 99, 100)], 1),
        (2, vec![container(1, 0, 11), container(2, 10, 20)], 0),
        (2, vec![endless, container(2, 1, 20), container(3, 2, 9)], 1),
    ];
    for (permits, runs, expected) in cases {
        let found = Expected::permits(permits).violations(&runs);
        assert_eq!(found.len(), expected, "{permits} permits: {found:?}");
        let overlaps = found.iter().all(|v| matches!(v, Violation::Overlap { .. }));
        assert!(overlaps, "{found:?}");
    }
}

#[test]
fn containers_of_two_locks_do_not_overlap() {
    let mut other = container(1, 5, 15);
    other.lock = "hourly".into();
    let runs = [container(1, 0, 10), other];
    assert_eq!(Expected::permits(1).violations(&runs), []);
}

#[test]
fn a_run_that_was_named_may_go_on_beside_the_next() {
    let runs = [container(1, 0, 30), container(2, 10, 20)];
    let expected = Expected::permits(1).runs_beside("holder-1");
    assert_eq!(expected.violations(&runs), []);
    let others = [container(2, 10, 20), container(3, 15, 25)];
    assert_eq!(expected.violations(&others).len(), 1);
}

#[test]
fn one_token_has_one_container_at_a_time_with_any_permits() {
    let again = |started| [container(7, 0, 20), container(7, started, 40)];
    let expected = Expected::permits(5).runs_beside("holder-7");
    let shared = Violation::SharedToken {
        token: 7,
        tasks: ["task-7-0".into(), "task-7-19".into()],
    };
    assert_eq!(expected.violations(&again(19)), [shared]);
    assert_eq!(expected.violations(&again(20)), [], "a redrive");
}

#[test]
fn one_token_of_two_holders_is_shared_even_one_after_the_other() {
    let runs = [container(7, 0, 10), of("another", container(7, 20, 30))];
    let found = Expected::permits(1).violations(&runs);
    assert!(matches!(
        found[..],
        [Violation::SharedToken { token: 7, .. }]
    ));
}

#[test]
fn a_later_container_has_no_smaller_token_on_a_lock_of_one_permit() {
    let runs = [container(2, 0, 10), container(1, 10, 20)];
    let fell = Violation::TokenFell {
        tasks: ["task-2-0".into(), "task-1-10".into()],
    };
    assert_eq!(Expected::permits(1).violations(&runs), [fell]);
    assert_eq!(Expected::permits(2).violations(&runs), []);
}

#[test]
fn a_run_key_succeeds_in_one_container() {
    let failed = Container {
        exit_code: Some(1),
        ..keyed(1, 0, 10)
    };
    let done = [keyed(2, 10, 20), keyed(3, 20, 30)];
    let twice = Violation::SucceededTwice {
        run_key: "2026-03-01".into(),
        tasks: vec!["task-2-10".into(), "task-3-20".into()],
    };
    assert_eq!(Expected::permits(1).violations(&done), [twice]);
    let cases = [
        vec![failed, keyed(2, 10, 20)],
        vec![stopped(keyed(1, 0, 10)), keyed(2, 10, 20)],
        vec![container(1, 0, 10), container(2, 10, 20)],
    ];
    for runs in cases {
        let expected = Expected::permits(1).stops("holder-1");
        assert_eq!(expected.violations(&runs), []);
    }
}

#[test]
fn a_container_that_got_sigterm_and_exits_with_0_has_not_succeeded() {
    let mut obedient = stopped(keyed(1, 0, 10));
    obedient.exit_code = Some(0);
    let runs = [obedient, keyed(2, 10, 20)];
    let expected = Expected::permits(1).stops("holder-1");
    assert_eq!(expected.violations(&runs), []);
}

#[test]
fn only_work_that_the_test_ended_is_stopped() {
    let runs = [stopped(container(1, 0, 10)), container(2, 10, 20)];
    let found = Expected::permits(1).stops("holder-2").violations(&runs);
    let live = Violation::LiveStopped {
        task: "task-1-0".into(),
        holder: "holder-1".into(),
        reason: "lease lost".into(),
    };
    assert_eq!(found, [live]);
    let expected = Expected::permits(1).stops("holder-1");
    assert_eq!(expected.violations(&runs), []);
}
