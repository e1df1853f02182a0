use super::*;

const NOW: Instant = Instant::from_millis(1_000);

/// Whose pauses are over at once.
fn hasty() -> Pace {
    Pace::with(Backoff::new(Duration::ZERO, Duration::ZERO, 7))
}

/// In trouble that `messages` met together, after its pause.
fn troubled(messages: usize) -> Pace {
    let mut pace = hasty();
    for _ in 0..messages {
        pace.handed_out();
    }
    for _ in 0..messages {
        pace.shown(Shown::Trouble, NOW);
    }
    pace.go_on();
    pace
}

#[test]
fn without_trouble_as_many_are_received_as_there_is_room_for_whatever_the_others_are_doing() {
    let mut pace = hasty();
    for _ in 0..3 {
        pace.handed_out();
    }

    assert_eq!((pace.most(7), pace.most(0)), (7, 0));
}

#[test]
fn nothing_is_received_during_a_pause() {
    let mut pace = hasty();

    pace.not_received(NOW);
    let during = (pace.most(5), pace.resume());
    pace.go_on();

    assert_eq!((during, pace.most(5)), ((0, Some(NOW)), 5));
}

#[test]
fn in_trouble_one_is_received_and_no_other_before_it_has_shown_something() {
    let mut pace = troubled(1);
    assert_eq!((pace.most(5), pace.most(0)), (1, 0));

    pace.handed_out();
    let undecided = pace.most(4);
    pace.shown(Shown::Trouble, NOW);
    pace.go_on();

    assert_eq!((undecided, pace.most(5)), (0, 1));
}

#[test]
fn messages_that_were_out_when_trouble_began_are_waited_for() {
    let mut pace = hasty();
    for _ in 0..3 {
        pace.handed_out();
    }

    pace.shown(Shown::Trouble, NOW);
    pace.go_on();
    let with_two_out = pace.most(5);
    pace.shown(Shown::Nothing, NOW);
    pace.shown(Shown::Nothing, NOW);

    assert_eq!((with_two_out, pace.most(5)), (0, 1));
}

#[test]
fn only_a_message_that_came_through_ends_trouble() {
    let mut pace = troubled(1);

    pace.handed_out();
    pace.shown(Shown::Nothing, NOW);
    let malformed = pace.most(5);
    pace.handed_out();
    pace.shown(Shown::Works, NOW);

    assert_eq!((malformed, pace.most(5)), (1, 5));
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
        pace.handed_out();

        let pause = pace.shown(Shown::Trouble, NOW).unwrap();
        pace.go_on();

        assert!(pause <= Duration::from_secs(bound), "{pause:?} {bound}");
    }
}

#[test]
fn a_failed_receive_does_not_shorten_the_pause_of_trouble() {
    let mut pace = Pace::new(7);
    pace.handed_out();
    pace.shown(Shown::Trouble, NOW + Duration::from_secs(100));
    let resume = pace.resume();

    pace.not_received(NOW);

    assert_eq!(pace.resume(), resume);
}
