use super::*;
use lockstep::contract::{Duplicate, Oldest, Skipped};
use nix::sys::signal::Signal;
use std::iter::zip;

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
    let grant = serde_json::json!({ "lock": "orders/07", "holder": "h", "token": 5 });
    Granted {
        grant: serde_json::from_value(grant).unwrap(),
        expires_at: "2026-03-01T06:01:00Z".into(),
        lease_seconds: 60,
        heartbeat_seconds: 20,
        task_group: "g".into(),
        execution_arn: None,
        environment: vec![],
        taken_from: None,
    }
}

fn hidden(seconds: u64) -> Disposition {
    Disposition::Hide(Duration::from_secs(seconds))
}

#[test]
fn a_grant_starts_the_command_also_after_a_lost_response() {
    for answer in [AcquireResponse::Granted, AcquireResponse::AlreadyHeld] {
        let next = decide_on_response(answer(granted()), 1, &DELAYS);

        assert_eq!(next, LockDecision::Start(Box::new(granted())));
    }
}

#[test]
fn a_duplicate_is_deleted_after_a_success_and_hidden_before_it() {
    let skip = |disposition| LockDecision::Skip {
        disposition,
        why: "duplicate".into(),
    };

    let succeeded = decide_on_response(duplicate(Some("2026-03-01T06:00:09Z")), 3, &DELAYS);
    assert_eq!(succeeded, skip(Disposition::Delete));
    for (count, seconds) in zip([1, 2, 3, 12, u32::MAX], [60, 120, 240, 42_900, 42_900]) {
        let next = decide_on_response(duplicate(None), count, &DELAYS);
        assert_eq!(next, skip(hidden(seconds)), "{count}");
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
        paused: false,
        not_before: None,
        message: "full".into(),
    });

    let next = decide_on_response(full, 1, &DELAYS);

    let (disposition, why) = (hidden(60), "full".into());
    assert_eq!(next, LockDecision::Skip { disposition, why });
}

#[test]
fn a_failure_is_hidden_for_a_time_that_doubles_up_to_the_longest() {
    let expected = [5, 5, 10, 20, 640, 900, 900];
    for (count, seconds) in zip([0, 1, 2, 3, 8, 9, u32::MAX], expected) {
        let [longest, shortest] = [0.0, 1.0].map(|jitter| DELAYS.after_failure(count, jitter));

        assert_eq!(longest.as_secs(), seconds, "{count}");
        assert_eq!(shortest.as_secs(), seconds.div_ceil(2), "{count}");
    }
}

#[test]
fn the_delay_of_a_deferred_message_grows_fourfold_up_to_an_hour() {
    let bounds = zip(
        [15, 15, 60, 240, 960, 3_600, 3_600],
        [12, 12, 45, 180, 720, 2_700, 2_700],
    );
    for (count, (longest, shortest)) in zip([0, 1, 2, 3, 4, 5, u32::MAX], bounds) {
        let dispositions = [0.0, 1.0].map(|jitter| deferred(count, jitter, false));

        assert_eq!(dispositions, [longest, shortest].map(hidden), "{count}");
    }
}

#[test]
fn a_worker_that_shuts_down_gives_a_deferred_message_back_at_once() {
    for count in [1, 5, 20] {
        let disposition = deferred(count, 0.5, true);
        assert_eq!(disposition, Disposition::GIVE_BACK, "{count}");
    }
}

#[test]
fn a_deferred_message_with_one_of_five_receives_left_lasts_30_minutes() {
    for first in 1..=5 {
        // SQS moves a message to the dead-letter queue at its sixth receive.
        let hidden = (first..=5).map(|count| match deferred(count, 1.0, false) {
            Disposition::Hide(length) => length.as_secs(),
            other => panic!("{other:?}"),
        });

        let outlasts: u64 = hidden.sum();

        assert!(outlasts >= 1_800, "{first}: {outlasts} s");
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
fn only_exit_code_0_deletes_the_message() {
    use ReleaseOutcome::{Failed, Succeeded};
    use StopCause::{LeaseLost, TimedOut};
    let signal = Some(StopCause::Signal(Signal::SIGTERM));
    let (good, killed) = (ChildExit::Code(0), ChildExit::Signal(9));
    let succeeded = (Succeeded, Disposition::Delete, Kind::Succeeded);
    let failed = |disposition| (Failed, disposition, Kind::Failed);
    let given_back = (Failed, Disposition::GIVE_BACK, Kind::GivenBack);
    for (end, cause, expected) in [
        (good, None, succeeded),
        (ChildExit::Code(1), None, failed(hidden(5))),
        (killed, None, failed(hidden(5))),
        (ChildExit::Unknown, None, failed(hidden(5))),
        (good, Some(TimedOut), failed(hidden(5))),
        (good, Some(LeaseLost), failed(Disposition::Leave)),
        (good, signal, given_back),
        (killed, signal, given_back),
    ] {
        let actual = decide_on_end(end, cause, Duration::from_secs(5));
        assert_eq!(actual, expected, "{end:?} {cause:?}");
    }
}
