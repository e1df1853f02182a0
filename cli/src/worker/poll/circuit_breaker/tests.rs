use super::*;

const NOW: Instant = Instant::from_millis(1_000);

/// Whose pauses are over at once, and whose table has answered.
fn hasty() -> CircuitBreaker {
    let mut breaker = CircuitBreaker::with(Backoff::new(Duration::ZERO, Duration::ZERO, 7));
    breaker.looked(true, NOW);
    breaker
}

/// With so many messages that have shown nothing yet.
fn with_out(messages: usize) -> CircuitBreaker {
    let mut breaker = hasty();
    for _ in 0..messages {
        breaker.handed_out();
    }
    breaker
}

/// In trouble, its pause over, and the table answers.
fn troubled() -> CircuitBreaker {
    let mut breaker = with_out(1);
    breaker.shown(Health::Failing, NOW);
    breaker.go_on();
    breaker.looked(true, NOW);
    breaker
}

#[test]
fn before_the_first_receive_the_table_has_answered() {
    let mut breaker = CircuitBreaker::new(7);
    let first = breaker.step(5);

    let silent = breaker.looked(false, NOW).is_some();
    let paused = breaker.step(5);
    breaker.go_on();
    let again = breaker.step(5);
    breaker.looked(true, NOW);

    assert_eq!(
        (first, silent, paused, again),
        (Step::Look, true, Step::Wait, Step::Look)
    );
    assert_eq!(
        breaker.step(5),
        Step::Receive(1),
        "who had no answer tries with one"
    );
}

#[test]
fn without_trouble_as_many_are_received_as_there_is_room_for_whatever_the_others_are_doing() {
    let breaker = with_out(3);

    assert_eq!(
        (breaker.step(7), breaker.step(0)),
        (Step::Receive(7), Step::Wait)
    );
}

#[test]
fn nothing_is_received_during_a_pause() {
    let mut breaker = hasty();

    breaker.not_received(NOW);
    let during = (breaker.step(5), breaker.resume());
    breaker.go_on();

    assert_eq!(
        (during, breaker.step(5)),
        ((Step::Wait, Some(NOW)), Step::Receive(5))
    );
}

#[test]
fn in_trouble_the_table_is_tried_without_a_message_first() {
    let mut breaker = with_out(1);

    breaker.shown(Health::Failing, NOW);
    breaker.go_on();
    let first = breaker.step(5);
    breaker.looked(false, NOW);
    breaker.go_on();
    let second = breaker.step(5);

    assert_eq!((first, second), (Step::Look, Step::Look));
}

#[test]
fn in_trouble_one_is_received_and_no_other_before_it_has_shown_something() {
    let mut breaker = troubled();
    assert_eq!(
        (breaker.step(5), breaker.step(0)),
        (Step::Receive(1), Step::Wait)
    );

    breaker.handed_out();
    let undecided = breaker.step(4);
    breaker.shown(Health::Failing, NOW);
    breaker.go_on();

    assert_eq!((undecided, breaker.step(5)), (Step::Wait, Step::Look));
}

#[test]
fn messages_that_were_out_when_trouble_began_are_waited_for() {
    let mut breaker = with_out(3);

    breaker.shown(Health::Failing, NOW);
    breaker.go_on();
    let with_two_out = breaker.step(5);
    breaker.shown(Health::Unknown, NOW);
    breaker.shown(Health::Unknown, NOW);

    assert_eq!((with_two_out, breaker.step(5)), (Step::Wait, Step::Look));
}

#[test]
fn only_a_message_that_came_through_ends_trouble() {
    let mut breaker = troubled();

    breaker.handed_out();
    breaker.shown(Health::Unknown, NOW);
    let malformed = breaker.step(5);
    breaker.handed_out();
    breaker.shown(Health::Ok, NOW);

    assert_eq!(
        (malformed, breaker.step(5)),
        (Step::Receive(1), Step::Receive(5))
    );
}

#[test]
fn what_many_meet_at_once_is_one_trouble_and_has_one_pause() {
    let mut breaker = CircuitBreaker::new(7);
    for _ in 0..3 {
        breaker.handed_out();
    }

    let pauses = [(); 3].map(|()| breaker.shown(Health::Failing, NOW).is_some());

    assert_eq!((pauses, breaker.troubles), ([true, false, false], 1));
}

#[test]
fn trouble_after_trouble_pauses_for_longer_and_a_minute_at_most() {
    let mut breaker = CircuitBreaker::new(7);
    for bound in [2, 4, 8, 16, 32, 60, 60] {
        let pause = breaker.looked(false, NOW).unwrap();
        breaker.go_on();

        assert!(pause <= Duration::from_secs(bound), "{pause:?} {bound}");
    }
}

#[test]
fn a_failed_receive_does_not_shorten_the_pause_of_trouble() {
    let mut breaker = CircuitBreaker::new(7);
    breaker.looked(false, NOW + Duration::from_secs(100));
    let resume = breaker.resume();

    breaker.not_received(NOW);

    assert_eq!(breaker.resume(), resume);
}
