//! The rules of the protocol, one by one.

use super::decide;
use crate::domain::{
    Acquire, Command, FencingToken, HolderId, LockRecord, Outcome, Permits, Refusal, Release, Run,
    RunEnd, RunId, RunKey, RunOutcome, Seconds, Snapshot, Timestamp, Transition,
};

const LEASE: Seconds = Seconds::of(60);

fn at(second: u64) -> Timestamp {
    Timestamp::from_millis(1_000_000 + second * 1000)
}

fn acquire(holder: &str, permits: i64, run_key: Option<&str>) -> Acquire {
    Acquire {
        holder: HolderId::new(holder).unwrap(),
        permits: Permits::new(permits).unwrap(),
        lease: LEASE,
        max_run: None,
        min_interval: None,
        run_key: run_key.map(|key| RunKey::new(key).unwrap()),
        retention: Seconds::of(86_400),
    }
}

/// The lock after these grants, each `(holder, run key, second)`.
fn granted(permits: i64, grants: &[(&str, Option<&str>, u64)]) -> Snapshot {
    let mut seen = Snapshot {
        record: None,
        run: None,
    };
    for (holder, run_key, second) in grants {
        let command = Command::Acquire(acquire(holder, permits, *run_key));
        seen.record = decide(&seen, &command, at(*second)).unwrap().next;
    }
    seen
}

fn ask(seen: &Snapshot, acquire: Acquire, second: u64) -> Result<Transition, Refusal> {
    decide(seen, &Command::Acquire(acquire), at(second))
}

fn holders(record: Option<&LockRecord>) -> Vec<&str> {
    record
        .into_iter()
        .flat_map(|r| r.holders.keys())
        .map(HolderId::as_str)
        .collect()
}

#[test]
fn an_expired_lease_is_taken_over_one_second_after_its_end_and_not_before() {
    let seen = granted(1, &[("old", None, 0)]);

    let early = ask(&seen, acquire("new", 1, None), 60);
    let later = ask(&seen, acquire("new", 1, None), 61).unwrap();

    assert!(matches!(early, Err(Refusal::Held { .. })), "{early:?}");
    assert_eq!(holders(later.next.as_ref()), ["new"]);
    let Outcome::Granted { taken_from, .. } = later.outcome else {
        panic!("not granted")
    };
    assert_eq!(taken_from[0].0.as_str(), "old");
}

#[test]
fn a_takeover_records_that_the_old_run_was_lost() {
    let seen = granted(1, &[("old", None, 0)]);

    let taken = ask(&seen, acquire("new", 1, None), 61).unwrap();

    let (_, write) = &taken.runs[0];
    assert_eq!(write.run.holder.as_str(), "old");
    assert_eq!(write.run.end.unwrap().outcome, RunOutcome::Lost);
}

#[test]
fn a_free_permit_displaces_no_expired_holder() {
    let seen = granted(2, &[("late", None, 0)]);

    let next = ask(&seen, acquire("new", 2, None), 100).unwrap().next;

    assert_eq!(holders(next.as_ref()), ["late", "new"]);
}

#[test]
fn a_dead_holder_of_the_same_run_key_always_makes_room_for_the_next_attempt() {
    let seen = granted(2, &[("dead", Some("tick"), 0)]);

    let next = ask(&seen, acquire("new", 2, Some("tick")), 100)
        .unwrap()
        .next;

    assert_eq!(holders(next.as_ref()), ["new"]);
}

#[test]
fn a_run_key_that_runs_is_a_duplicate_even_where_another_holder_is_dead() {
    let seen = granted(2, &[("dead", None, 0), ("live", Some("tick"), 50)]);

    let answer = ask(&seen, acquire("new", 2, Some("tick")), 70);

    assert!(
        matches!(answer, Err(Refusal::Duplicate { .. })),
        "{answer:?}"
    );
}

#[test]
fn a_success_keeps_its_run_key_until_its_retention_is_over() {
    let end = RunEnd {
        outcome: RunOutcome::Succeeded,
        at: at(5),
        retain_until: at(1000),
    };
    let run = Run {
        holder: HolderId::new("first").unwrap(),
        token: FencingToken::from_number(7),
        end: Some(end),
    };
    let seen = Snapshot {
        record: None,
        run: Some(run),
    };

    let within = ask(&seen, acquire("new", 1, Some("tick")), 999);
    let after = ask(&seen, acquire("new", 1, Some("tick")), 1000);

    assert!(
        matches!(within, Err(Refusal::Duplicate { .. })),
        "{within:?}"
    );
    assert!(after.is_ok(), "{after:?}");
}

#[test]
fn a_clock_that_steps_back_still_gives_a_larger_token() {
    let mut seen = granted(1, &[("first", None, 500)]);
    let token = seen.record.as_ref().unwrap().last_token;
    seen.record.as_mut().unwrap().holders.clear();

    let next = ask(&seen, acquire("second", 1, None), 100).unwrap();

    assert_eq!(
        next.outcome.token(),
        Some(FencingToken::from_number(token.number() + 1))
    );
}

#[test]
fn an_idle_lock_that_was_purged_goes_on_with_larger_tokens() {
    let before = granted(1, &[("first", None, 0)]).record.unwrap().last_token;

    let after = granted(1, &[("second", None, 1)])
        .record
        .unwrap()
        .last_token;

    assert!(after > before);
}

#[test]
fn the_same_holder_gets_its_lease_back_after_it_ran_out_if_nobody_took_over() {
    let seen = granted(1, &[("me", None, 0)]);

    let again = ask(&seen, acquire("me", 1, None), 100).unwrap();

    let Outcome::AlreadyHeld { lease } = &again.outcome else {
        panic!("{:?}", again.outcome)
    };
    assert_eq!(lease.expires_at, at(160));
    assert_eq!(lease.token, seen.record.unwrap().last_token);
}

#[test]
fn a_release_leaves_a_run_alone_that_another_holder_has_taken_over() {
    let seen = granted(2, &[("late", Some("tick"), 0)]);
    let token = seen.record.as_ref().unwrap().last_token;
    let other = Run {
        holder: HolderId::new("other").unwrap(),
        token: FencingToken::from_number(token.number() + 5),
        end: None,
    };
    let release = Command::Release(Release {
        holder: HolderId::new("late").unwrap(),
        token,
        run_key: Some(RunKey::new("tick").unwrap()),
        outcome: RunOutcome::Succeeded,
        retention: Seconds::of(86_400),
    });

    let done = decide(
        &Snapshot {
            run: Some(other),
            ..seen
        },
        &release,
        at(100),
    )
    .unwrap();

    assert!(done.runs.is_empty());
    assert!(matches!(
        done.outcome,
        Outcome::Released { already: false, .. }
    ));
}

#[test]
fn a_release_under_a_wrong_run_key_still_ends_the_run_of_its_lease() {
    let seen = granted(1, &[("me", Some("tick"), 0)]);
    let token = seen.record.as_ref().unwrap().last_token;
    let wrong = Run {
        holder: HolderId::new("other").unwrap(),
        token: FencingToken::from_number(1),
        end: None,
    };
    let release = Command::Release(Release {
        holder: HolderId::new("me").unwrap(),
        token,
        run_key: Some(RunKey::new("another-tick").unwrap()),
        outcome: RunOutcome::Succeeded,
        retention: Seconds::of(86_400),
    });

    let done = decide(
        &Snapshot {
            run: Some(wrong),
            ..seen
        },
        &release,
        at(1),
    )
    .unwrap();

    let (_, write) = &done.runs[0];
    assert_eq!(write.id, RunId::Key(RunKey::new("tick").unwrap()));
}

#[test]
fn a_new_capacity_over_a_hundred_dead_holders_fits_into_one_transaction() {
    let names: Vec<_> = (0..100).map(|n| format!("dead-{n}")).collect();
    let grants: Vec<_> = names.iter().map(|name| (name.as_str(), None, 0)).collect();
    let seen = granted(100, &grants);

    let next = ask(&seen, acquire("new", 1, Some("tick")), 100).unwrap();

    assert_eq!(holders(next.next.as_ref()), ["new"]);
    assert!(next.runs.len() < 99, "{} runs", next.runs.len());
}
