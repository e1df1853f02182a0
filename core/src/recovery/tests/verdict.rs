//! The parts of a verdict that show, evict and settle use.

use super::{
    ABORTED, RUNNING, UNNAMED, after, described, ended, ending, evidence, hidden, lease, replaced,
    suspect, under,
};
use crate::domain::{EndingCause, ExecutionArn, ExecutionEnd, ExecutionState, Lease, StalePolicy};
use crate::recovery::{
    Action, Evidence, ExecutionObservation, Life, TaskObservation, Verdict, WorkObservation, judge,
};
use crate::testing::{task, variant};

/// Returns the verdict on the holder of `lease` at `second`.
fn verdict(lease: &Lease, evidence: Evidence, second: u32) -> Verdict {
    let described = evidence.execution.clone();
    let mut judged = evidence;
    let doubted = judged.doubt(lease, after(second));
    Verdict {
        judged_at: after(second),
        lease: lease.clone(),
        described,
        action: judge(lease, &judged, after(second)),
        evidence: judged,
        replacer: None,
        doubted,
    }
}

fn own_task(stopped: bool) -> Evidence {
    Evidence {
        task: TaskObservation::Seen(task("t", stopped)),
        ..evidence(ExecutionObservation::NotOne, UNNAMED)
    }
}

#[test]
fn the_end_of_a_run_without_a_permit_is_that_of_its_work() {
    let arn = ExecutionArn::new("arn:aws:states:eu-west-1:1:execution:etl:x".into()).unwrap();
    let end = ExecutionState::Ended(ExecutionEnd::Succeeded);
    let succeeded = WorkObservation::Execution(Some((arn, described(end, 0, Some(10)))));
    let own = lease();
    let execution = ended(ExecutionEnd::Aborted);

    let end = verdict(&own, evidence(execution, succeeded.clone()), 20).over();
    let running = verdict(&own, evidence(RUNNING, succeeded), 20).over();

    assert!(end.expect("it has ended").succeeded);
    assert_eq!(running, None);
}

#[test]
fn a_holder_lives_while_its_work_runs_or_its_lease_is_not_dead() {
    let nothing = || evidence(ExecutionObservation::NotOne, UNNAMED);
    let execution = |seen| evidence(seen, UNNAMED);
    let failed = || ended(ExecutionEnd::Failed);
    let hidden_task = || Evidence {
        task: TaskObservation::Hidden("denied".into()),
        ..nothing()
    };
    for (name, evidence, second, expected) in [
        ("runs", execution(RUNNING), 62, "its execution runs"),
        ("its task runs", own_task(false), 62, "its work runs"),
        ("its task stopped", own_task(true), 10, "Ended"),
        ("has failed", execution(failed()), 10, "Ended"),
        ("hidden", execution(hidden()), 61, "its lease lasts"),
        ("hidden and dead", execution(hidden()), 62, "Hidden"),
        ("its task is hidden", hidden_task(), 61, "its lease lasts"),
        ("its task is hidden, and dead", hidden_task(), 62, "Hidden"),
        ("nothing is known", nothing(), 59, "its lease lasts"),
        ("within the skew", nothing(), 61, "its lease lasts"),
        ("silent", nothing(), 62, "Silent"),
    ] {
        let life = verdict(&lease(), evidence, second).life(after(second));
        let found = match &life {
            Life::Alive(sign) => sign.clone(),
            other => variant(other),
        };
        assert!(found.contains(expected), "{name}: {life:?}");
    }
}

#[test]
fn an_end_that_a_redrive_may_have_overtaken_is_no_end() {
    let seen = super::seen(ABORTED, 0, Some(10));
    let renewed = lease().renewed(after(12), None, None);

    let life = verdict(&renewed, evidence(seen, UNNAMED), 15).life(after(15));

    assert!(matches!(life, Life::Alive(sign) if sign.contains("redriven")));
}

#[test]
fn the_next_action_has_the_first_time_of_a_check_that_takes_it() {
    let silent = |stale| suspect(under(stale));
    let execution = |seen| evidence(seen, UNNAMED);
    let over = ending(
        Lease {
            work: Some(crate::domain::Work::States),
            ..lease()
        },
        10,
        EndingCause::Over,
    );
    let states = WorkObservation::States(Some(Vec::new()));
    let limited = Lease {
        run_until: Some(after(100)),
        expires_at: after(900),
        ..lease()
    };
    for (name, lease, evidence, now, expected) in [
        ("healthy", lease(), execution(RUNNING), 10, ("Suspect", 62)),
        ("limited", limited, execution(RUNNING), 10, ("Stop", 160)),
        ("silent", lease(), execution(RUNNING), 70, ("Suspect", 70)),
        (
            "to be stopped",
            silent(StalePolicy::Terminate),
            execution(RUNNING),
            65,
            ("Stop", 82),
        ),
        (
            "to be frozen",
            silent(StalePolicy::Hold),
            execution(RUNNING),
            90,
            ("Freeze", 90),
        ),
        ("task stopped", lease(), own_task(true), 10, ("Recover", 10)),
        (
            "replaced",
            replaced(lease()),
            execution(RUNNING),
            10,
            ("Stop", 10),
        ),
        ("hidden", lease(), execution(hidden()), 10, ("Alert", 62)),
        (
            "hidden long",
            lease(),
            execution(hidden()),
            3_660,
            ("Freeze", 3_660),
        ),
        (
            "its states have ended",
            over,
            evidence(RUNNING, states),
            12,
            ("Recover", 41),
        ),
    ] {
        let next = verdict(&lease, evidence, now).next().unwrap();
        let found = (variant(&next.action), next.from);
        assert_eq!(found, (expected.0.to_owned(), after(expected.1)), "{name}");
    }
}

#[test]
fn a_holder_whose_replacer_cannot_be_described_is_judged_by_itself() {
    let of_replacer = Evidence {
        replacer: hidden(),
        ..evidence(RUNNING, UNNAMED)
    };
    for (lease, second, expected) in [
        (replaced(lease()), 10, ("Suspect", 62)),
        (
            suspect(replaced(under(StalePolicy::Hold))),
            90,
            ("Freeze", 90),
        ),
    ] {
        let next = verdict(&lease, of_replacer.clone(), second).next();

        let next = next.map(|next| (variant(&next.action), next.from));
        assert_eq!(next, Some((expected.0.into(), after(expected.1))));
    }
}

#[test]
fn a_run_that_renews_is_left() {
    let action = verdict(&lease(), evidence(RUNNING, UNNAMED), 10).action;

    assert_eq!(action, Action::Leave);
}
