use super::*;
use crate::lease::timing::LeaseTiming;
use lockstep::contract::ReleaseOutcome;
use std::rc::Rc;
use std::time::Duration;

/// A lease of 60 s in its record, with 10 s to stop: lost at 49.7 s.
const STOP: u64 = 49_700;
const END: u64 = 60_000;

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn terms() -> JobTerms {
    let times = LeaseTiming::of_record(Duration::from_secs(60), Duration::from_secs(10));
    JobTerms {
        name: "export".into(),
        grant: Grant {
            lock: "exports".into(),
            holder: "h".into(),
            token: 7,
            run_key: None,
        },
        times,
        max_run: None,
        no_progress: None,
    }
}

/// A registry with the job `j`, begun at 0 with `terms`, and the job's guard.
fn registry(terms: JobTerms) -> (JobRegistry<Rc<()>>, Rc<()>) {
    let (mut registry, guard) = (JobRegistry::default(), Rc::new(()));
    registry.reserve().unwrap();
    registry.begun(
        "j".into(),
        terms,
        (at(0), "first".into()),
        Rc::clone(&guard),
    );
    (registry, guard)
}

fn end(outcome: ReleaseOutcome) -> JobEnd {
    JobEnd {
        outcome,
        held_seconds: Some(1.0),
    }
}

fn is_lost(registry: &JobRegistry<Rc<()>>) -> bool {
    matches!(registry.get("j").unwrap().phase, Phase::Lost(_))
}

#[test]
fn a_beat_soon_after_a_renewal_is_answered_from_memory() {
    let (mut registry, _) = registry(terms());

    assert_eq!(
        registry.beat("j", None, at(9_999)),
        Beat::Fresh("first".into())
    );
    assert!(matches!(
        registry.beat("j", None, at(10_000)),
        Beat::Renew(_, None)
    ));
}

#[test]
fn new_progress_is_written_at_once_and_old_progress_is_not() {
    let (mut registry, _) = registry(terms());
    let one = || Some("row 1".to_owned());

    let first = registry.beat("j", one().as_deref(), at(1));
    // The lock table gave no answer: the next beat writes the progress, even if it has none.
    let again = registry.beat("j", None, at(2));
    registry.renewed("j", (at(2), "second".into()), one());
    let known = registry.beat("j", one().as_deref(), at(3));

    assert!(matches!(first, Beat::Renew(_, progress) if progress == one()));
    assert!(matches!(again, Beat::Renew(_, progress) if progress == one()));
    assert_eq!(known, Beat::Fresh("second".into()));
}

#[test]
fn a_job_without_a_beat_is_lost_before_its_lease_ends_and_counts_until_then() {
    let (mut registry, guard) = registry(terms());

    let early = registry.tick(at(STOP - 1));
    let lost = registry.tick(at(STOP));
    let counts_while_it_stops = Rc::strong_count(&guard);
    let reported_once = registry.tick(at(END - 1));
    let open = registry.open();
    registry.tick(at(END));

    assert_eq!((early.len(), lost.len(), reported_once.len()), (0, 1, 0));
    assert_eq!((counts_while_it_stops, open), (2, 1));
    assert_eq!((Rc::strong_count(&guard), registry.open()), (1, 0));
    assert!(is_lost(&registry), "it is kept to answer later requests");
}

#[test]
fn the_next_deadline_is_when_a_job_has_to_stop_then_when_its_lease_ends() {
    let (mut registry, _) = registry(terms());

    let first = registry.next_deadline();
    registry.tick(at(STOP));
    let second = registry.next_deadline();
    registry.tick(at(END));

    assert_eq!(
        (first, second, registry.next_deadline()),
        (Some(at(STOP)), Some(at(END)), None)
    );
}

#[test]
fn a_renewal_moves_the_end_and_a_late_or_older_one_does_not() {
    let (mut registry, _) = registry(terms());

    registry.renewed("j", (at(20_000), "second".into()), None);
    registry.renewed("j", (at(10_000), "older".into()), None);
    let lost = registry.tick(at(20_000 + STOP - 1));
    registry.tick(at(20_000 + STOP));
    let late = registry
        .renewed("j", (at(60_000), "third".into()), None)
        .cloned();

    assert!(lost.is_empty());
    assert_eq!(registry.get("j").unwrap().expires_at, "second");
    assert!(matches!(late, Some(Phase::Lost(_))), "{late:?}");
    assert!(matches!(
        registry.beat("j", None, at(60_001)),
        Beat::Over(_)
    ));
}

#[test]
fn a_job_past_its_max_run_is_lost_despite_its_beats() {
    let (mut registry, _) = registry(JobTerms {
        max_run: Some(Duration::from_secs(30)),
        ..terms()
    });
    registry.renewed("j", (at(20_000), "second".into()), None);

    let before = registry.tick(at(29_999));
    let lost = registry.tick(at(30_000));

    assert!(before.is_empty());
    assert!(lost[0].1.contains("maxRunSeconds"), "{lost:?}");
}

#[test]
fn only_a_change_counts_as_progress() {
    let (mut registry, _) = registry(JobTerms {
        no_progress: Some(Duration::from_secs(20)),
        ..terms()
    });

    registry.beat("j", Some("row 1"), at(15_000));
    registry.beat("j", Some("row 1"), at(34_000));
    let before = registry.tick(at(34_999));
    let lost = registry.tick(at(35_000));

    assert!(before.is_empty());
    assert!(lost[0].1.contains("noProgressSeconds"), "{lost:?}");
}

#[test]
fn every_end_returns_the_first_one_and_the_guard_is_dropped() {
    let (mut registry, guard) = registry(terms());

    let first = registry.ended("j", end(ReleaseOutcome::Succeeded));
    let again = registry.ended("j", end(ReleaseOutcome::Failed));

    assert_eq!(first, Some(end(ReleaseOutcome::Succeeded)));
    assert_eq!(again, first);
    assert_eq!((Rc::strong_count(&guard), registry.open()), (1, 0));
    assert_eq!(registry.tick(at(END)), []);
}

#[test]
fn a_lost_job_can_still_be_ended_and_an_ended_one_cannot_be_lost() {
    let (mut registry, _) = registry(terms());

    registry.lost("j", "evicted");
    let lost = is_lost(&registry);
    registry.ended("j", end(ReleaseOutcome::Failed));
    registry.lost("j", "again");

    assert!(lost);
    assert!(matches!(registry.get("j").unwrap().phase, Phase::Ended(_)));
}

#[test]
fn a_job_that_ends_after_its_lease_expired_is_closed_once() {
    let (mut registry, _) = registry(terms());
    registry.tick(at(STOP));
    registry.tick(at(END));

    registry.ended("j", end(ReleaseOutcome::Failed));

    assert_eq!((registry.closed.len(), registry.open()), (1, 0));
}

#[test]
fn jobs_that_are_being_begun_count_towards_the_limit() {
    let mut registry = JobRegistry::default();
    for number in 0..OPEN_MAX - 1 {
        registry.reserve().unwrap();
        registry.begun(number.to_string(), terms(), (at(0), String::new()), ());
    }
    registry.reserve().unwrap();

    let full = registry.reserve();
    registry.capacity.begin_finished();
    let room = registry.reserve();

    assert_eq!((full, room), (Err(NoRoom::Full), Ok(())));
}

#[test]
fn the_oldest_closed_jobs_are_forgotten() {
    let mut registry = JobRegistry::default();
    for number in 0..=CLOSED_MAX {
        registry.reserve().unwrap();
        let id = number.to_string();
        registry.begun(id.clone(), terms(), (at(0), String::new()), ());
        registry.ended(&id, end(ReleaseOutcome::Succeeded));
    }

    assert!(registry.get("0").is_none() && registry.get("1").is_some());
    assert_eq!(registry.beat("0", None, at(1)), Beat::Unknown);
}

#[test]
fn a_stopping_agent_begins_no_job_and_waits_for_those_being_begun() {
    let mut registry: JobRegistry<()> = JobRegistry::default();
    registry.reserve().unwrap();

    registry.capacity.stop();

    assert_eq!(registry.reserve(), Err(NoRoom::Stopping));
    assert!(!registry.capacity.is_settled());
    registry.capacity.begin_finished();
    assert!(registry.capacity.is_settled());
}

#[test]
fn an_unconfirmed_grant_counts_towards_the_limit() {
    let mut registry: JobRegistry<()> = JobRegistry::default();
    for _ in 0..OPEN_MAX {
        registry.reserve().unwrap();
    }

    registry.capacity.add_unconfirmed("h", "a");
    let unconfirmed = (
        registry.capacity.is_unconfirmed("a"),
        registry.capacity.is_unconfirmed("other"),
    );
    let full = registry.reserve();
    registry.capacity.remove_unconfirmed("h");
    let room = registry.reserve();

    assert_eq!(unconfirmed, (true, false));
    assert_eq!((full, room), (Err(NoRoom::Full), Ok(())));
}

#[test]
fn a_stopping_agent_is_settled_despite_an_unconfirmed_grant() {
    let mut registry: JobRegistry<()> = JobRegistry::default();
    registry.reserve().unwrap();

    registry.capacity.add_unconfirmed("h", "a");
    registry.capacity.stop();

    assert!(registry.capacity.is_settled());
    assert_eq!(registry.capacity.unconfirmed_count(), 1);
}
