use super::*;

const NOW: Instant = Instant::from_millis(1_000);
/// A script of a failure, its pause and a probe that the table answers.
const HALF_OPEN: &str = "sent failing resume answers ";

/// Returns a closed breaker without pauses, whose table has answered.
fn closed() -> CircuitBreaker {
    let mut breaker = CircuitBreaker::with(Backoff::new(Duration::ZERO, Duration::ZERO, 7));
    breaker.record_probe(true, NOW);
    breaker
}

/// Plays the words of `script`: `answers` or `silent` to a probe, `sent` for a dispatched message,
/// its health signal, `refused` for a failed receive, `resume` for the end of the pause. `5=2` is a
/// step with room for five messages that receives at most two.
fn play(mut breaker: CircuitBreaker, script: &str) -> CircuitBreaker {
    for (index, word) in script.split_whitespace().enumerate() {
        let opened = match word {
            "answers" | "silent" => breaker.record_probe(word == "answers", NOW),
            "failing" => breaker.record_health(Health::Failing, NOW),
            "unknown" => breaker.record_health(Health::Unknown, NOW),
            "ok" => breaker.record_health(Health::Ok, NOW),
            _ => None,
        };
        match word {
            "sent" => breaker.dispatched(),
            "refused" => breaker.receive_failed(NOW),
            "resume" => breaker.end_pause(),
            "silent" => assert!(opened.is_some(), "word {index} of {script}"),
            step => {
                let Some((room, expected)) = step.split_once('=') else {
                    continue;
                };
                let expected = match expected {
                    "wait" => Step::Wait,
                    "probe" => Step::Probe,
                    most => Step::Receive(most.parse().unwrap()),
                };
                let next = breaker.step(room.parse().unwrap());
                assert_eq!(next, expected, "word {index} of {script}");
            }
        }
    }
    breaker
}

#[test]
fn the_table_is_probed_before_the_first_receive() {
    // After a failed probe, the first receive is of one message.
    play(
        CircuitBreaker::new(7),
        "5=probe silent 5=wait resume 5=probe answers 5=1",
    );
}

#[test]
fn a_closed_breaker_receives_as_many_as_there_is_room_for() {
    play(closed(), "sent sent sent 7=7 0=wait");
}

#[test]
fn nothing_is_received_during_a_pause() {
    let breaker = play(closed(), "refused 5=wait");

    assert_eq!(breaker.resume_at(), Some(NOW));
    play(breaker, "resume 5=5");
}

#[test]
fn an_open_breaker_probes_the_table_before_it_receives_a_message() {
    play(
        closed(),
        "sent failing resume 5=probe silent resume 5=probe",
    );
}

#[test]
fn a_half_open_breaker_has_one_message_until_its_health_signal() {
    let half_open = play(closed(), HALF_OPEN);

    play(half_open, "5=1 0=wait sent 4=wait failing resume 5=probe");
}

#[test]
fn an_open_breaker_waits_for_the_messages_in_flight() {
    play(
        closed(),
        "sent sent sent failing resume 5=wait unknown unknown 5=probe",
    );
}

#[test]
fn only_a_message_that_gets_through_closes_the_breaker() {
    let half_open = play(closed(), HALF_OPEN);

    play(half_open, "sent unknown 5=1 sent ok 5=5");
}

#[test]
fn failures_of_several_messages_at_once_count_as_one_and_begin_one_pause() {
    let mut breaker = play(CircuitBreaker::new(7), "sent sent sent");

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
