use super::*;

const NOW: Instant = Instant::from_millis(1_000);

/// Whose pauses are over at once, and whose table has answered.
fn hasty() -> Pace {
    let mut pace = Pace::with(Backoff::new(Duration::ZERO, Duration::ZERO, 7));
    pace.looked(true, NOW);
    pace
}

/// With so many messages that have shown nothing yet.
fn with_out(messages: usize) -> Pace {
    let mut pace = hasty();
    for _ in 0..messages {
        pace.handed_out();
    }
    pace
}

/// In trouble, its pause over, and the table answers.
fn troubled() -> Pace {
    let mut pace = with_out(1);
    pace.shown(Shown::Trouble, NOW);
    pace.go_on();
    pace.looked(true, NOW);
    pace
}

#[test]
fn before_the_first_receive_the_table_has_answered() {
    let mut pace = Pace::new(7);
    let first = pace.step(5);

    let silent = pace.looked(false, NOW).is_some();
    let paused = pace.step(5);
    pace.go_on();
    let again = pace.step(5);
    pace.looked(true, NOW);

    assert_eq!(
        (first, silent, paused, again),
        (Step::Look, true, Step::Wait, Step::Look)
    );
    assert_eq!(
        pace.step(5),
        Step::Receive(1),
        "who had no answer tries with one"
    );
}

#[test]
fn without_trouble_as_many_are_received_as_there_is_room_for_whatever_the_others_are_doing() {
    let pace = with_out(3);

    assert_eq!((pace.step(7), pace.step(0)), (Step::Receive(7), Step::Wait));
}

#[test]
fn nothing_is_received_during_a_pause() {
    let mut pace = hasty();

    pace.not_received(NOW);
    let during = (pace.step(5), pace.resume());
    pace.go_on();

    assert_eq!(
        (during, pace.step(5)),
        ((Step::Wait, Some(NOW)), Step::Receive(5))
    );
}

#[test]
fn in_trouble_the_table_is_tried_without_a_message_first() {
    let mut pace = with_out(1);

    pace.shown(Shown::Trouble, NOW);
    pace.go_on();
    let first = pace.step(5);
    pace.looked(false, NOW);
    pace.go_on();
    let second = pace.step(5);

    assert_eq!((first, second), (Step::Look, Step::Look));
}

#[test]
fn in_trouble_one_is_received_and_no_other_before_it_has_shown_something() {
    let mut pace = troubled();
    assert_eq!((pace.step(5), pace.step(0)), (Step::Receive(1), Step::Wait));

    pace.handed_out();
    let undecided = pace.step(4);
    pace.shown(Shown::Trouble, NOW);
    pace.go_on();

    assert_eq!((undecided, pace.step(5)), (Step::Wait, Step::Look));
}

#[test]
fn messages_that_were_out_when_trouble_began_are_waited_for() {
    let mut pace = with_out(3);

    pace.shown(Shown::Trouble, NOW);
    pace.go_on();
    let with_two_out = pace.step(5);
    pace.shown(Shown::Nothing, NOW);
    pace.shown(Shown::Nothing, NOW);

    assert_eq!((with_two_out, pace.step(5)), (Step::Wait, Step::Look));
}

#[test]
fn only_a_message_that_came_through_ends_trouble() {
    let mut pace = troubled();

    pace.handed_out();
    pace.shown(Shown::Nothing, NOW);
    let malformed = pace.step(5);
    pace.handed_out();
    pace.shown(Shown::Works, NOW);

    assert_eq!(
        (malformed, pace.step(5)),
        (Step::Receive(1), Step::Receive(5))
    );
}

#[test]
fn what_many_meet_at_once_is_one_trouble_and_has_one_pause() {
    let mut pace = Pace::new(7);
    for _ in 0..3 {
        pace.handed_out();
    }

    let pauses = [(); 3].map(|()| pace.shown(Shown::Trouble, NOW).is_some());

    assert_eq!((pauses, pace.troubles), ([true, false, false], 1));
}

#[test]
fn trouble_after_trouble_pauses_for_longer_and_a_minute_at_most() {
    let mut pace = Pace::new(7);
    for bound in [2, 4, 8, 16, 32, 60, 60] {
        let pause = pace.looked(false, NOW).unwrap();
        pace.go_on();

        assert!(pause <= Duration::from_secs(bound), "{pause:?} {bound}");
    }
}

#[test]
fn a_failed_receive_does_not_shorten_the_pause_of_trouble() {
    let mut pace = Pace::new(7);
    pace.looked(false, NOW + Duration::from_secs(100));
    let resume = pace.resume();

    pace.not_received(NOW);

    assert_eq!(pace.resume(), resume);
}
