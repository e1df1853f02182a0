use super::*;
use lockstep::contract::{Duplicate, Grant, Oldest, Skipped};
use nix::sys::signal::Signal;

const DELAYS: RetryDelays = RetryDelays {
    lease: Duration::from_secs(60),
    backoff_max: Duration::from_secs(900),
};

fn duplicate(ended_at: Option<&str>) -> AcquireResponse {
    AcquireResponse::Duplicate(Duplicate {
        lock: "orders/07".into(),
        run_key: "A-7".into(),
        holder: "host:a#1/x".into(),
        token: 4,
        since: "2026-03-01T06:00:00Z".into(),
        ended_at: ended_at.map(Into::into),
        message: "duplicate".into(),
    })
}

fn granted() -> Granted {
    Granted {
        grant: Grant {
            lock: "orders/07".into(),
            holder: "h".into(),
            token: 5,
            run_key: None,
        },
        expires_at: "2026-03-01T06:01:00Z".into(),
        heartbeat_seconds: 20,
        task_group: "g".into(),
        environment: vec![],
        taken_from: None,
    }
}

#[test]
fn a_grant_starts_the_command_whether_an_earlier_response_was_lost_or_not() {
    for answer in [
        AcquireResponse::Granted(granted()),
        AcquireResponse::AlreadyHeld(granted()),
    ] {
        let next = after_answer(answer, 1, &DELAYS);

        assert_eq!(next, LockDecision::Start(Box::new(granted())));
    }
}

#[test]
fn only_a_success_deletes_a_duplicate_and_one_in_flight_is_hidden_ever_longer() {
    let disposition = |answer, count| match after_answer(answer, count, &DELAYS) {
        LockDecision::Skip { disposition, why } => {
            assert_eq!(why, "duplicate");
            disposition
        }
        LockDecision::Start(_) => panic!("a duplicate was started"),
    };

    assert_eq!(
        disposition(duplicate(Some("2026-03-01T06:00:09Z")), 3),
        Disposition::Delete
    );
    for (count, seconds) in [
        (1, 60),
        (2, 120),
        (3, 240),
        (12, 42_900),
        (u32::MAX, 42_900),
    ] {
        let hidden = Disposition::Hide(Duration::from_secs(seconds));
        assert_eq!(disposition(duplicate(None), count), hidden, "{count}");
    }
}

#[test]
fn a_full_lock_hides_the_message() {
    let full = AcquireResponse::Skipped(Skipped {
        lock: "orders/07".into(),
        oldest: Oldest::default(),
        held: 100,
        queue_length: 0,
        ending: false,
        not_before: None,
        message: "full".into(),
    });

    let next = after_answer(full, 1, &DELAYS);

    let disposition = Disposition::Hide(Duration::from_secs(60));
    let why = "full".into();
    assert_eq!(next, LockDecision::Skip { disposition, why });
}

#[test]
fn a_failure_is_hidden_for_a_time_that_doubles_up_to_the_longest() {
    for (count, seconds) in [
        (0, 5),
        (1, 5),
        (2, 10),
        (3, 20),
        (8, 640),
        (9, 900),
        (u32::MAX, 900),
    ] {
        let [longest, shortest] = [0.0, 1.0].map(|jitter| DELAYS.after_failure(count, jitter));

        assert_eq!(longest.as_secs(), seconds, "{count}");
        assert_eq!(shortest.as_secs(), seconds.div_ceil(2), "{count}");
    }
}

#[test]
fn a_deferred_message_is_hidden_for_four_times_as_long_at_each_receive_up_to_an_hour() {
    for (count, longest, shortest) in [
        (0, 15, 12),
        (1, 15, 12),
        (2, 60, 45),
        (3, 240, 180),
        (4, 960, 720),
        (5, 3_600, 2_700),
        (u32::MAX, 3_600, 2_700),
    ] {
        let dispositions = [0.0, 1.0].map(|jitter| deferred(count, jitter, false));

        let hidden =
            [longest, shortest].map(|seconds| Disposition::Hide(Duration::from_secs(seconds)));
        assert_eq!(dispositions, hidden, "{count}");
    }
}

#[test]
fn a_worker_that_shuts_down_gives_a_deferred_message_back_at_once() {
    for count in [1, 5, 20] {
        assert_eq!(
            deferred(count, 0.5, true),
            Disposition::GIVE_BACK,
            "{count}"
        );
    }
}

#[test]
fn a_failure_of_half_an_hour_moves_no_message_with_one_of_five_receives_left_to_the_dead_letters() {
    for first in 1..=5 {
        // SQS moves it to the dead-letter queue at the sixth receive.
        let dispositions = (first..=5).map(|count| deferred(count, 1.0, false));

        let outlasts: Duration = dispositions
            .map(|disposition| match disposition {
                Disposition::Hide(length) => length,
                other => panic!("{other:?}"),
            })
            .sum();

        assert!(
            outlasts >= Duration::from_secs(1_800),
            "{first}: {outlasts:?}"
        );
    }
}

#[test]
fn a_failure_is_hidden_for_whole_seconds_and_never_given_back_at_once() {
    let delays = RetryDelays {
        backoff_max: Duration::from_secs(1),
        ..DELAYS
    };
    for jitter in [0.0, 0.3, 0.999] {
        assert_eq!(delays.after_failure(1, jitter), Duration::from_secs(1));
        assert_eq!(DELAYS.after_failure(1, jitter).subsec_nanos(), 0);
    }
}

#[test]
fn only_the_message_of_a_command_that_finished_with_exit_code_0_is_deleted() {
    let backoff = Duration::from_secs(5);
    let (failed, hidden) = (ReleaseOutcome::Failed, Disposition::Hide(backoff));
    let (good, bad) = (ChildExit::Code(0), ChildExit::Code(1));
    let killed = ChildExit::Signal(9);
    for (end, cause, expected) in [
        (
            good,
            None,
            (
                ReleaseOutcome::Succeeded,
                Disposition::Delete,
                Kind::Succeeded,
            ),
        ),
        (bad, None, (failed, hidden, Kind::Failed)),
        (killed, None, (failed, hidden, Kind::Failed)),
        (ChildExit::Unknown, None, (failed, hidden, Kind::Failed)),
        (
            good,
            Some(StopCause::TimedOut),
            (failed, hidden, Kind::Failed),
        ),
        (
            good,
            Some(StopCause::LeaseLost),
            (failed, Disposition::Leave, Kind::Failed),
        ),
        (
            good,
            Some(StopCause::Signal(Signal::SIGTERM)),
            (failed, Disposition::GIVE_BACK, Kind::GivenBack),
        ),
        (
            killed,
            Some(StopCause::Signal(Signal::SIGTERM)),
            (failed, Disposition::GIVE_BACK, Kind::GivenBack),
        ),
    ] {
        assert_eq!(
            after_end(end, cause, backoff),
            expected,
            "{end:?} {cause:?}"
        );
    }
}
