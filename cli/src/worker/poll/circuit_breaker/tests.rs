use super::*;

const NOW: Instant = Instant::from_millis(1_000);

/// A closed breaker without pauses, whose table has answered.
fn closed() -> CircuitBreaker {
    let mut breaker = CircuitBreaker::with(Backoff::new(Duration::ZERO, Duration::ZERO, 7));
    breaker.record_probe(true, NOW);
    breaker
}

/// A closed breaker with that many messages in flight without a health signal.
fn closed_with_in_flight(messages: usize) -> CircuitBreaker {
    let mut breaker = closed();
    for _ in 0..messages {
        breaker.dispatched();
    }
    breaker
}

/// A breaker after a failure, its pause and a probe that the table answered.
fn half_open() -> CircuitBreaker {
    let mut breaker = closed_with_in_flight(1);
    breaker.record_health(Health::Failing, NOW);
    breaker.end_pause();
    breaker.record_probe(true, NOW);
    breaker
}

#[test]
fn the_table_is_probed_before_the_first_receive() {
    let mut breaker = CircuitBreaker::new(7);
    let first = breaker.step(5);

    let silent = breaker.record_probe(false, NOW).is_some();
    let paused = breaker.step(5);
    breaker.end_pause();
    let resumed = breaker.step(5);
    breaker.record_probe(true, NOW);

    assert_eq!(
        (first, silent, paused, resumed),
        (Step::Probe, true, Step::Wait, Step::Probe)
    );
    assert_eq!(
        breaker.step(5),
        Step::Receive(1),
        "after a failed probe one message is received"
    );
}

#[test]
fn a_closed_breaker_receives_as_many_as_there_is_room_for_whatever_is_in_flight() {
    let breaker = closed_with_in_flight(3);

    assert_eq!(
        (breaker.step(7), breaker.step(0)),
        (Step::Receive(7), Step::Wait)
    );
}

#[test]
fn nothing_is_received_during_a_pause() {
    let mut breaker = closed();

    breaker.receive_failed(NOW);
    let during = (breaker.step(5), breaker.resume_at());
    breaker.end_pause();

    assert_eq!(
        (during, breaker.step(5)),
        ((Step::Wait, Some(NOW)), Step::Receive(5))
    );
}

#[test]
fn an_open_breaker_probes_the_table_before_it_receives_a_message() {
    let mut breaker = closed_with_in_flight(1);

    breaker.record_health(Health::Failing, NOW);
    breaker.end_pause();
    let first = breaker.step(5);
    breaker.record_probe(false, NOW);
    breaker.end_pause();
    let second = breaker.step(5);

    assert_eq!((first, second), (Step::Probe, Step::Probe));
}

#[test]
fn a_half_open_breaker_receives_one_message_and_no_other_before_its_health_signal() {
    let mut breaker = half_open();
    assert_eq!(
        (breaker.step(5), breaker.step(0)),
        (Step::Receive(1), Step::Wait)
    );

    breaker.dispatched();
    let undecided = breaker.step(4);
    breaker.record_health(Health::Failing, NOW);
    breaker.end_pause();

    assert_eq!((undecided, breaker.step(5)), (Step::Wait, Step::Probe));
}

#[test]
fn an_open_breaker_waits_for_the_messages_that_were_in_flight_when_it_opened() {
    let mut breaker = closed_with_in_flight(3);

    breaker.record_health(Health::Failing, NOW);
    breaker.end_pause();
    let with_two_in_flight = breaker.step(5);
    breaker.record_health(Health::Unknown, NOW);
    breaker.record_health(Health::Unknown, NOW);

    assert_eq!(
        (with_two_in_flight, breaker.step(5)),
        (Step::Wait, Step::Probe)
    );
}

#[test]
fn only_a_message_that_gets_through_closes_the_breaker() {
    let mut breaker = half_open();

    breaker.dispatched();
    breaker.record_health(Health::Unknown, NOW);
    let malformed = breaker.step(5);
    breaker.dispatched();
    breaker.record_health(Health::Ok, NOW);

    assert_eq!(
        (malformed, breaker.step(5)),
        (Step::Receive(1), Step::Receive(5))
    );
}

#[test]
fn failures_of_several_messages_at_once_count_as_one_and_begin_one_pause() {
    let mut breaker = CircuitBreaker::new(7);
    for _ in 0..3 {
        breaker.dispatched();
    }

    let pauses = [(); 3].map(|()| breaker.record_health(Health::Failing, NOW).is_some());

    assert_eq!((pauses, breaker.failures), ([true, false, false], 1));
}

#[test]
fn consecutive_failures_pause_for_longer_and_a_minute_at_most() {
    let mut breaker = CircuitBreaker::new(7);
    for bound in [2, 4, 8, 16, 32, 60, 60] {
        let pause = breaker.record_probe(false, NOW).unwrap();
        breaker.end_pause();

        assert!(pause <= Duration::from_secs(bound), "{pause:?} {bound}");
    }
}

#[test]
fn a_failed_receive_does_not_shorten_the_pause_of_an_open_breaker() {
    let mut breaker = CircuitBreaker::new(7);
    breaker.record_probe(false, NOW + Duration::from_secs(100));
    let resume = breaker.resume_at();

    breaker.receive_failed(NOW);

    assert_eq!(breaker.resume_at(), resume);
}
