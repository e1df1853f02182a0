use super::*;
use crate::lease::timing::LeaseTiming;
use lockstep::contract::ReleaseOutcome;
use std::rc::Rc;
use std::time::Duration;

/// A lease of 60 s in its record, with 10 s to stop: told at 49.7 s.
const STOP: u64 = 49_700;
const END: u64 = 60_000;

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn terms() -> Terms {
    let times = LeaseTiming::of_record(Duration::from_secs(60), Duration::from_secs(10));
    Terms {
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

/// A book with the job `j`, begun at 0 under `terms`, and what is kept for it.
fn book(terms: Terms) -> (JobRegistry<Rc<()>>, Rc<()>) {
    let (mut book, kept) = (JobRegistry::default(), Rc::new(()));
    book.reserve().unwrap();
    book.begun("j".into(), terms, (at(0), "first".into()), Rc::clone(&kept));
    (book, kept)
}

fn ending(outcome: ReleaseOutcome) -> Ending {
    Ending {
        outcome,
        held_seconds: Some(1.0),
    }
}

fn is_lost(book: &JobRegistry<Rc<()>>) -> bool {
    matches!(book.look("j").unwrap().phase, Phase::Lost(_))
}

#[test]
fn a_beat_soon_after_a_renewal_is_answered_from_memory() {
    let (mut book, _) = book(terms());

    assert_eq!(book.beat("j", None, at(9_999)), Beat::Fresh("first".into()));
    assert!(matches!(
        book.beat("j", None, at(10_000)),
        Beat::Renew(_, None)
    ));
}

#[test]
fn new_progress_is_written_at_once_and_old_progress_is_not() {
    let (mut book, _) = book(terms());
    let one = || Some("row 1".to_owned());

    let first = book.beat("j", one().as_deref(), at(1));
    // The table gave no answer: it is told with the next beat, whatever that brings.
    let again = book.beat("j", None, at(2));
    book.renewed("j", (at(2), "second".into()), one());
    let known = book.beat("j", one().as_deref(), at(3));

    assert!(matches!(first, Beat::Renew(_, told) if told == one()));
    assert!(matches!(again, Beat::Renew(_, told) if told == one()));
    assert_eq!(known, Beat::Fresh("second".into()));
}

#[test]
fn a_job_without_a_beat_is_told_to_stop_before_its_lease_ends_and_counts_until_then() {
    let (mut book, kept) = book(terms());

    let early = book.tick(at(STOP - 1));
    let lost = book.tick(at(STOP));
    let counts_while_it_stops = Rc::strong_count(&kept);
    let told_once = book.tick(at(END - 1));
    let open = book.open();
    book.tick(at(END));

    assert_eq!((early.len(), lost.len(), told_once.len()), (0, 1, 0));
    assert_eq!((counts_while_it_stops, open), (2, 1));
    assert_eq!((Rc::strong_count(&kept), book.open()), (1, 0));
    assert!(is_lost(&book), "it is remembered");
}

#[test]
fn the_book_is_looked_at_when_a_job_has_to_stop_and_when_its_lease_ends() {
    let (mut book, _) = book(terms());

    let first = book.next();
    book.tick(at(STOP));
    let second = book.next();
    book.tick(at(END));

    assert_eq!(
        (first, second, book.next()),
        (Some(at(STOP)), Some(at(END)), None)
    );
}

#[test]
fn a_renewal_moves_the_end_and_a_late_or_older_one_does_not() {
    let (mut book, _) = book(terms());

    book.renewed("j", (at(20_000), "second".into()), None);
    book.renewed("j", (at(10_000), "older".into()), None);
    let lost = book.tick(at(20_000 + STOP - 1));
    book.tick(at(20_000 + STOP));
    let late = book
        .renewed("j", (at(60_000), "third".into()), None)
        .cloned();

    assert!(lost.is_empty());
    assert_eq!(book.look("j").unwrap().expires_at, "second");
    assert!(matches!(late, Some(Phase::Lost(_))), "{late:?}");
    assert!(matches!(book.beat("j", None, at(60_001)), Beat::Over(_)));
}

#[test]
fn a_job_stops_at_the_end_of_its_time_however_well_it_beats() {
    let (mut book, _) = book(Terms {
        max_run: Some(Duration::from_secs(30)),
        ..terms()
    });
    book.renewed("j", (at(20_000), "second".into()), None);

    let before = book.tick(at(29_999));
    let lost = book.tick(at(30_000));

    assert!(before.is_empty());
    assert!(lost[0].1.contains("maxRunSeconds"), "{lost:?}");
}

#[test]
fn only_a_change_counts_as_progress() {
    let (mut book, _) = book(Terms {
        no_progress: Some(Duration::from_secs(20)),
        ..terms()
    });

    book.beat("j", Some("row 1"), at(15_000));
    book.beat("j", Some("row 1"), at(34_000));
    let before = book.tick(at(34_999));
    let lost = book.tick(at(35_000));

    assert!(before.is_empty());
    assert!(lost[0].1.contains("noProgressSeconds"), "{lost:?}");
}

#[test]
fn an_end_comes_back_however_often_it_is_told_and_lets_go_of_what_was_kept() {
    let (mut book, kept) = book(terms());

    let first = book.ended("j", ending(ReleaseOutcome::Succeeded));
    let again = book.ended("j", ending(ReleaseOutcome::Failed));

    assert_eq!(first, Some(ending(ReleaseOutcome::Succeeded)));
    assert_eq!(again, first);
    assert_eq!((Rc::strong_count(&kept), book.open()), (1, 0));
    assert_eq!(book.tick(at(END)), []);
}

#[test]
fn a_lost_job_can_still_be_ended_and_an_ended_one_cannot_be_lost() {
    let (mut book, _) = book(terms());

    book.lost("j", "evicted");
    let lost = is_lost(&book);
    book.ended("j", ending(ReleaseOutcome::Failed));
    book.lost("j", "again");

    assert!(lost);
    assert!(matches!(book.look("j").unwrap().phase, Phase::Ended(_)));
}

#[test]
fn a_job_that_was_ended_after_its_lease_was_over_is_remembered_once() {
    let (mut book, _) = book(terms());
    book.tick(at(STOP));
    book.tick(at(END));

    book.ended("j", ending(ReleaseOutcome::Failed));

    assert_eq!((book.closed.len(), book.open()), (1, 0));
}

#[test]
fn as_many_jobs_are_open_as_may_be_those_that_begin_counted() {
    let mut book = JobRegistry::default();
    for number in 0..OPEN_MAX - 1 {
        book.reserve().unwrap();
        book.begun(number.to_string(), terms(), (at(0), String::new()), ());
    }
    book.reserve().unwrap();

    let full = book.reserve();
    book.places.left();
    let room = book.reserve();

    assert_eq!((full, room), (Err(NoRoom::Full), Ok(())));
}

#[test]
fn the_oldest_of_those_that_are_over_are_forgotten() {
    let mut book = JobRegistry::default();
    for number in 0..=KEPT {
        book.reserve().unwrap();
        let id = number.to_string();
        book.begun(id.clone(), terms(), (at(0), String::new()), ());
        book.ended(&id, ending(ReleaseOutcome::Succeeded));
    }

    assert!(book.look("0").is_none() && book.look("1").is_some());
    assert_eq!(book.beat("0", None, at(1)), Beat::Unknown);
}

#[test]
fn no_job_begins_once_the_agent_stops_and_those_that_were_beginning_are_waited_for() {
    let mut book: JobRegistry<()> = JobRegistry::default();
    book.reserve().unwrap();

    book.places.stop();

    assert_eq!(book.reserve(), Err(NoRoom::Stopping));
    assert!(!book.places.is_settled());
    book.places.left();
    assert!(book.places.is_settled());
}

#[test]
fn a_job_in_doubt_keeps_its_place_and_is_not_waited_for() {
    let mut book: JobRegistry<()> = JobRegistry::default();
    for _ in 0..OPEN_MAX {
        book.reserve().unwrap();
    }

    book.places.doubted("h", "a");
    let doubted = (book.places.is_doubted("a"), book.places.is_doubted("other"));
    let full = book.reserve();
    book.places.resolved("h");
    let room = book.reserve();

    assert_eq!(doubted, (true, false));
    assert_eq!((full, room), (Err(NoRoom::Full), Ok(())));
}

#[test]
fn an_agent_that_stops_does_not_wait_for_what_is_in_doubt() {
    let mut book: JobRegistry<()> = JobRegistry::default();
    book.reserve().unwrap();

    book.places.doubted("h", "a");
    book.places.stop();

    assert!(book.places.is_settled());
    assert_eq!(book.places.doubts(), 1);
}
