use super::*;
use crate::agent::job::JobOutcome;
use crate::lease::held::{Held, Hold};
use crate::lease::timing::LeaseTiming;
use serde_json::json;
use std::rc::Rc;
use std::time::Duration;

/// When a job is lost and when its lease ends, in milliseconds: the lease is 60 s long in its record, the job
/// has 10 s to stop, and 0.3 s are left before the end.
const STOP: u64 = 49_700;
const END: u64 = 60_000;

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn job<P>(guard: P) -> Job<P> {
    let grant = json!({ "lock": "exports", "holder": "h", "token": 7 });
    let held = Held {
        grant: serde_json::from_value(grant).unwrap(),
        times: LeaseTiming::of_record(Duration::from_secs(60), Duration::from_secs(10)),
        sent: at(0),
        environment: Vec::new(),
        hold: Hold::Acquired,
    };
    Job::begun("export".into(), held, "first".into(), guard)
}

/// Returns a registry with the job `j`, begun at 0, and the guard of the job.
fn registry() -> (JobRegistry<Rc<()>>, Rc<()>) {
    limited(None, None)
}

/// Returns the same with these limits of the job.
fn limited(
    max_run: Option<Duration>,
    no_progress: Option<Duration>,
) -> (JobRegistry<Rc<()>>, Rc<()>) {
    let (mut registry, guard) = (JobRegistry::default(), Rc::new(()));
    let job = job(Rc::clone(&guard)).limited(max_run, no_progress);
    begin(&mut registry, "j", job);
    (registry, guard)
}

fn begin<P>(registry: &mut JobRegistry<P>, id: &str, job: Job<P>) {
    registry.reserve().unwrap();
    registry.begun(id.into(), job);
}

/// Returns a registry without jobs that has reserved capacity for this many.
fn reserving(jobs: usize) -> JobRegistry<()> {
    let mut registry = JobRegistry::default();
    for _ in 0..jobs {
        registry.reserve().unwrap();
    }
    registry
}

/// Returns the reasons of the jobs that are lost at this time.
fn lost(registry: &mut JobRegistry<Rc<()>>, millis: u64) -> Vec<&'static str> {
    let lost = registry.tick(at(millis)).into_iter();
    lost.map(|(_, reason)| reason).collect()
}

fn renew<T>(registry: &mut JobRegistry<T>, millis: u64, expires_at: &str) -> Option<Phase> {
    let renewed = registry.renewed("j", (at(millis), expires_at.into()), None);
    renewed.cloned()
}

fn end(outcome: JobOutcome) -> JobEnd {
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
    let (mut registry, _) = registry();

    let [soon, later] = [9_999, 10_000].map(|millis| registry.beat("j", None, at(millis)));

    assert_eq!(soon, Beat::Fresh("first".into()));
    assert!(matches!(later, Beat::Renew(_, _, None)));
}

#[test]
fn new_progress_is_written_at_once_and_old_progress_is_not() {
    let (mut registry, _) = registry();
    let one = || Some("row 1".to_owned());

    let first = registry.beat("j", one().as_deref(), at(1));
    // The lock table did not answer, so the next beat writes the progress, even if that beat reports none.
    let again = registry.beat("j", None, at(2));
    registry.renewed("j", (at(2), "second".into()), one());
    let known = registry.beat("j", one().as_deref(), at(3));

    assert!(matches!(first, Beat::Renew(_, _, progress) if progress == one()));
    assert!(matches!(again, Beat::Renew(_, _, progress) if progress == one()));
    assert_eq!(known, Beat::Fresh("second".into()));
}

#[test]
fn a_job_without_a_beat_is_lost_before_its_lease_ends() {
    let (mut registry, guard) = registry();

    let counts = [STOP - 1, STOP, END - 1].map(|millis| lost(&mut registry, millis).len());
    let counts_while_it_stops = (Rc::strong_count(&guard), registry.open());
    registry.tick(at(END));

    assert_eq!(counts, [0, 1, 0], "it is reported once");
    assert_eq!(counts_while_it_stops, (2, 1));
    assert_eq!((Rc::strong_count(&guard), registry.open()), (1, 0));
    assert!(is_lost(&registry), "it is kept to answer later requests");
}

#[test]
fn the_next_deadline_is_when_a_job_has_to_stop_then_when_its_lease_ends() {
    let (mut registry, _) = registry();

    let deadlines = [0, STOP, END].map(|millis| {
        registry.tick(at(millis));
        registry.next_deadline()
    });

    assert_eq!(deadlines, [Some(at(STOP)), Some(at(END)), None]);
}

#[test]
fn a_renewal_moves_the_end_and_a_late_or_older_one_does_not() {
    let (mut registry, _) = registry();

    renew(&mut registry, 20_000, "second");
    renew(&mut registry, 10_000, "older");
    let lost = [1, 0].map(|early| lost(&mut registry, 20_000 + STOP - early).len());
    let late = renew(&mut registry, 60_000, "third");

    assert_eq!(lost, [0, 1]);
    assert_eq!(registry.get("j").unwrap().expires_at, "second");
    assert!(matches!(late, Some(Phase::Lost(_))), "{late:?}");
    let beat = registry.beat("j", None, at(60_001));
    assert!(matches!(beat, Beat::Over(_)));
}

#[test]
fn a_job_that_exceeds_a_time_limit_is_lost_although_it_beats() {
    let (max_run, no_progress) = (Duration::from_secs(30), Duration::from_secs(20));
    let (mut long, _) = limited(Some(max_run), None);
    let (mut stuck, _) = limited(None, Some(no_progress));
    renew(&mut long, 20_000, "second");
    stuck.beat("j", Some("row 1"), at(15_000));
    stuck.beat("j", Some("row 1"), at(34_000));

    let ends = [(long, 30_000), (stuck, 35_000)].into_iter();
    for ((mut registry, end), field) in ends.zip(["maxRunSeconds", "noProgressSeconds"]) {
        let [before, lost] = [end - 1, end].map(|millis| lost(&mut registry, millis));

        assert!(before.is_empty(), "{field}: {before:?}");
        assert!(lost[0].contains(field), "{lost:?}");
    }
}

#[test]
fn every_end_returns_the_first_one_and_the_guard_is_dropped() {
    let (mut registry, guard) = registry();

    let first = registry.ended("j", end(JobOutcome::Succeeded));
    let again = registry.ended("j", end(JobOutcome::Failed));

    assert_eq!(first, Some(end(JobOutcome::Succeeded)));
    assert_eq!(again, first);
    assert_eq!((Rc::strong_count(&guard), registry.open()), (1, 0));
    assert_eq!(registry.tick(at(END)), []);
}

#[test]
fn a_lost_job_can_still_be_ended_once_and_an_ended_one_cannot_be_lost() {
    let (mut evicted, _) = registry();
    let (mut expired, _) = registry();
    evicted.lost("j", "evicted");
    lost(&mut expired, STOP);
    lost(&mut expired, END);

    for mut registry in [evicted, expired] {
        assert!(is_lost(&registry));
        registry.ended("j", end(JobOutcome::Failed));
        registry.lost("j", "again");

        assert!(matches!(registry.get("j").unwrap().phase, Phase::Ended(_)));
        assert_eq!((registry.closed.len(), registry.open()), (1, 0));
    }
}

#[test]
fn jobs_that_are_being_begun_count_towards_the_limit() {
    let mut registry = JobRegistry::default();
    for number in 0..OPEN_MAX - 1 {
        begin(&mut registry, &number.to_string(), job(()));
    }
    registry.reserve().unwrap();

    let full = registry.reserve();
    registry.capacity.begin_finished();

    assert_eq!(
        (full, registry.reserve()),
        (Err(BeginRefused::Full), Ok(()))
    );
}

#[test]
fn the_oldest_closed_jobs_are_forgotten() {
    let mut registry = JobRegistry::default();
    for number in 0..=CLOSED_MAX {
        let id = number.to_string();
        begin(&mut registry, &id, job(()));
        registry.ended(&id, end(JobOutcome::Succeeded));
    }

    assert!(registry.get("0").is_none() && registry.get("1").is_some());
    assert_eq!(registry.beat("0", None, at(1)), Beat::Unknown);
}

#[test]
fn a_stopping_agent_begins_no_job_and_waits_for_those_being_begun() {
    let mut registry = reserving(1);

    registry.capacity.stop();

    assert_eq!(registry.reserve(), Err(BeginRefused::Stopping));
    assert!(!registry.capacity.is_settled());
    registry.capacity.begin_finished();
    assert!(registry.capacity.is_settled());
}

#[test]
fn an_unconfirmed_grant_counts_towards_the_limit() {
    let mut registry = reserving(OPEN_MAX);

    registry.capacity.add_unconfirmed("h", "a");
    let unconfirmed = ["a", "other"].map(|lock| registry.capacity.is_unconfirmed(lock));
    let full = registry.reserve();
    registry.capacity.remove_unconfirmed("h");

    assert_eq!(unconfirmed, [true, false]);
    assert_eq!(
        (full, registry.reserve()),
        (Err(BeginRefused::Full), Ok(()))
    );
}

#[test]
fn a_stopping_agent_is_settled_despite_an_unconfirmed_grant() {
    let mut registry = reserving(1);

    registry.capacity.add_unconfirmed("h", "a");
    registry.capacity.stop();

    assert!(registry.capacity.is_settled());
    assert_eq!(registry.capacity.unconfirmed_count(), 1);
}
