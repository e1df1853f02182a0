//! The requests of the agent's API.

use super::job::JobOutcome;
use crate::lease::timing::LeaseTiming;
use lockstep::contract::{AcquireRequest, InvalidRequest, LockOptions, Overlap, word};
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use std::time::Duration;

/// The rule for a job's name.
const NAME_RULE: &str = "1 to 64 of A-Z a-z 0-9 . _ -";
/// The rule for `progress`. The lock table has the same rule.
const PROGRESS_RULE: &str = "1 to 256 visible ASCII characters or spaces";
/// Shortest lease, in seconds.
const LEASE_MIN: i64 = LeaseTiming::SHORTEST.as_secs().cast_signed();
/// Longest lease, in seconds.
const LEASE_MAX: i64 = LeaseTiming::LONGEST.as_secs().cast_signed();

/// The body of `POST /v1/jobs`.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "Begin"))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct BeginRequest {
    /// Name of the job, which the program chooses. The name of the holder ends with it.
    #[cfg_attr(test, schemars(regex(pattern = "^[A-Za-z0-9._-]{1,64}$")))]
    pub(super) name: String,
    /// Name of the lock.
    #[cfg_attr(test, schemars(regex(pattern = "^[A-Za-z0-9._/:-]{1,128}$")))]
    lock: String,
    /// Time without a beat after which another run may take over the lock, in seconds. Default: the agent's
    /// `--lease`.
    #[cfg_attr(test, schemars(range(min = LEASE_MIN, max = LEASE_MAX)))]
    lease_seconds: Option<i64>,
    /// What to answer if the lock has no free permit. Default `skip`.
    #[serde(default, deserialize_with = "word")]
    overlap: WhenHeld,
    /// Number of runs that may hold the lock at once. Default 1.
    #[cfg_attr(test, schemars(range(min = LockOptions::PERMITS.least, max = LockOptions::PERMITS.most)))]
    permits: Option<i64>,
    /// Idempotency key of the trigger: at most one run with this key succeeds.
    #[cfg_attr(test, schemars(length(min = 1, max = 512)))]
    run_key: Option<String>,
    /// Shortest time from the grant of this job to the next grant of the lock, in seconds.
    #[cfg_attr(test, schemars(range(min = LockOptions::MIN_INTERVAL.least, max = LockOptions::MIN_INTERVAL.most)))]
    min_interval_seconds: Option<i64>,
    /// Time within which a run of the lock is expected to succeed, in seconds. If none does, the event *Run
    /// Missing* is published.
    #[cfg_attr(test, schemars(range(min = LockOptions::EXPECT_EVERY.least, max = LockOptions::EXPECT_EVERY.most)))]
    expect_every_seconds: Option<i64>,
    /// Longest run of the job, in seconds. After it the job is lost and must stop, even if it beats.
    #[cfg_attr(test, schemars(range(min = LockOptions::MAX_RUN.least, max = LockOptions::MAX_RUN.most)))]
    max_run_seconds: Option<i64>,
    /// Longest time without a change in the progress, in seconds. After it the job is lost and must stop.
    #[cfg_attr(test, schemars(range(min = LockOptions::NO_PROGRESS.least, max = LockOptions::NO_PROGRESS.most)))]
    no_progress_seconds: Option<i64>,
}

/// The overlap policy. The agent has no queue: a client that wants to wait sends the request again.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "Overlap"))]
#[serde(rename_all = "camelCase")]
enum WhenHeld {
    /// Answer 200 with the status `skipped`.
    #[default]
    Skip,
    /// Answer 409 with an error such as `Lockstep.LockHeld`.
    Fail,
}

/// The body of `POST /v1/jobs/{job}/beat`.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "Beat"))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct BeatRequest {
    /// Progress of the job, as any text. A change of the text counts as progress.
    #[cfg_attr(test, schemars(regex(pattern = "^[ -~]{1,256}$")))]
    pub(super) progress: Option<String>,
}

/// The body of `POST /v1/jobs/{job}/end`.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "End"))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct EndRequest {
    /// The outcome of the job.
    #[serde(deserialize_with = "word")]
    pub(super) outcome: JobOutcome,
}

/// The query of `GET /v1/jobs/{job}`.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct GetRequest {
    wait_seconds: Option<i64>,
}

impl BeginRequest {
    /// Checks the fields that the lock table does not check.
    ///
    /// # Errors
    /// The field that breaks its rule.
    pub(super) fn check(&self) -> Result<(), InvalidRequest> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
        if !(1..=64).contains(&self.name.len()) || !self.name.bytes().all(plain) {
            let name = format!("{:?}", self.name);
            return Err(InvalidRequest::new("name", name, NAME_RULE));
        }
        within("leaseSeconds", self.lease_seconds, LEASE_MIN, LEASE_MAX)?;
        let limits = [
            ("maxRunSeconds", self.max_run_seconds, LockOptions::MAX_RUN),
            (
                "noProgressSeconds",
                self.no_progress_seconds,
                LockOptions::NO_PROGRESS,
            ),
        ];
        for (field, value, range) in limits {
            value.map(|value| range.check(field, value)).transpose()?;
        }
        Ok(())
    }

    /// Returns the times of the job's lease; `lease` is the agent's `--lease`.
    pub(super) fn times(&self, lease: Duration, grace: Duration) -> LeaseTiming {
        LeaseTiming::after_silence(length(self.lease_seconds).unwrap_or(lease), grace)
    }

    /// Returns the longest run of the job.
    pub(super) fn max_run(&self) -> Option<Duration> {
        length(self.max_run_seconds)
    }

    /// Returns the longest time without a change in the progress.
    pub(super) fn no_progress(&self) -> Option<Duration> {
        length(self.no_progress_seconds)
    }

    /// Returns the request that acquires the lock. It lacks `maxRunSeconds`, which the agent enforces when
    /// the time is over; the lock table would refuse only the next renewal.
    pub(super) fn acquire(&self, holder: String, lease_seconds: i64) -> AcquireRequest {
        let options = LockOptions {
            permits: self.permits,
            overlap: Some(match self.overlap {
                WhenHeld::Skip => Overlap::Skip,
                WhenHeld::Fail => Overlap::Fail,
            }),
            lease_seconds: Some(lease_seconds),
            run_key: self.run_key.clone(),
            min_interval_seconds: self.min_interval_seconds,
            expect_every_seconds: self.expect_every_seconds,
            no_progress_seconds: self.no_progress_seconds,
            ..LockOptions::default()
        };
        AcquireRequest {
            options,
            ..AcquireRequest::new(self.lock.clone(), holder)
        }
    }
}

impl BeatRequest {
    /// Checks the progress. A progress that the lock table refuses would make the next renewal fail.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub(super) fn check(&self) -> Result<(), InvalidRequest> {
        let visible = |b: u8| b == b' ' || b.is_ascii_graphic();
        match &self.progress {
            Some(text) if !(1..=256).contains(&text.len()) || !text.bytes().all(visible) => {
                let text = format!("{text:?}");
                Err(InvalidRequest::new("progress", text, PROGRESS_RULE))
            }
            _ => Ok(()),
        }
    }
}

impl GetRequest {
    /// Returns how long to wait until the job is lost or has ended.
    ///
    /// # Errors
    /// If the time is not from 0 to 60 s.
    pub(super) fn wait(self) -> Result<Duration, InvalidRequest> {
        within("waitSeconds", self.wait_seconds, 0, 60)?;
        Ok(length(self.wait_seconds).unwrap_or_default())
    }
}

fn within(field: &str, value: Option<i64>, least: i64, most: i64) -> Result<(), InvalidRequest> {
    match value {
        Some(value) if !(least..=most).contains(&value) => {
            let rule = format!("a whole number of seconds from {least} to {most}");
            Err(InvalidRequest::new(field, value, rule))
        }
        _ => Ok(()),
    }
}

fn length(seconds: Option<i64>) -> Option<Duration> {
    let seconds = u64::try_from(seconds?).ok()?;
    Some(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstep::contract::{HeartbeatRequest, fields_of, parse};
    use lockstep::domain::{Retention, Seconds};
    use serde_json::{Value, json};

    const KEPT: Retention = Retention::both(Seconds::of(1));

    fn begin(more: &Value) -> Result<BeginRequest, InvalidRequest> {
        let mut request = json!({ "name": "export", "lock": "exports" });
        let more = more.as_object().unwrap().clone();
        request.as_object_mut().unwrap().extend(more);
        let request: BeginRequest = parse(request)?;
        request.check().map(|()| request)
    }

    #[test]
    fn a_bad_field_is_named_with_its_value_and_its_rule() {
        let no_progress = "noProgressSeconds is -1";
        let table = [
            (json!({ "name": "" }), "name is \"\""),
            (json!({ "name": "a b" }), "name is \"a b\""),
            (json!({ "name": "a#b" }), "A-Z a-z 0-9"),
            (json!({ "name": "x".repeat(65) }), "1 to 64"),
            (json!({ "leaseSeconds": 4 }), "leaseSeconds is 4"),
            (json!({ "leaseSeconds": 86_401 }), "5 to 86400"),
            (json!({ "maxRunSeconds": 0 }), "maxRunSeconds is 0"),
            (json!({ "noProgressSeconds": -1 }), no_progress),
            (json!({ "overlap": "wait" }), "overlap"),
            (json!({ "leaseSecond": 60 }), "leaseSecond"),
            (json!({ "permits": "2" }), "permits"),
        ];

        for (fields, word) in table {
            let problem = begin(&fields).unwrap_err().to_string();

            assert!(problem.contains(word), "{problem}");
        }
    }

    #[test]
    fn a_job_ends_as_succeeded_or_failed_and_in_no_other_way() {
        let object = json!({ "succeeded": null });
        let word = |word: &str| json!(word);
        for (outcome, is_one) in [
            (word("succeeded"), true),
            (word("failed"), true),
            (word("stopping"), false),
            (object, false),
        ] {
            let request = parse::<EndRequest>(json!({ "outcome": outcome }));

            assert_eq!(request.is_ok(), is_one, "{request:?}");
        }
    }

    #[test]
    fn an_overlap_that_is_no_word_is_refused_with_its_value_and_the_words() {
        for overlap in [json!({ "skip": null }), json!(["skip"]), json!(null)] {
            let problem = begin(&json!({ "overlap": overlap }))
                .unwrap_err()
                .to_string();

            for part in ["overlap", &overlap.to_string(), "`skip` or `fail`"] {
                assert!(problem.contains(part), "{problem}");
            }
        }
    }

    #[test]
    fn a_begin_request_needs_only_a_name_and_a_lock() {
        let request = begin(&json!({})).unwrap();

        let times = request.times(Duration::from_secs(60), Duration::from_secs(25));
        let acquire = request.acquire("h".into(), times.seconds());

        let fields = (acquire.options.lease_seconds, acquire.options.overlap());
        assert_eq!(fields, (Some(58), Overlap::Skip));
        let json = serde_json::to_value(acquire).unwrap();
        assert!(AcquireRequest::read(json, KEPT).is_ok());
    }

    /// Options of a lock that the agent does not have, because it neither waits nor stops work.
    const NOT_OF_AGENT: [&str; 7] = [
        "onPaused",
        "catchUp",
        "maxQueue",
        "whenQueueFull",
        "heartbeatSeconds",
        "maxHeartbeatSeconds",
        "stalePolicy",
    ];

    #[test]
    fn a_job_has_the_options_of_a_lock_in_their_ranges() {
        let fields = fields_of::<BeginRequest>();
        let page = include_str!("../../../docs/agent.md");
        for field in fields {
            assert!(page.contains(field), "docs/agent.md: {field}");
        }
        for field in fields_of::<LockOptions>() {
            let has = fields.contains(field);
            assert_eq!(has, !NOT_OF_AGENT.contains(field), "{field}");
        }
        for (field, range, _) in LockOptions::default().numbers() {
            if NOT_OF_AGENT.contains(&field) {
                continue;
            }
            let (mut least, most) = range.values().into_inner();
            if field == "leaseSeconds" {
                // The agent subtracts two seconds for clock skew, and less than five seconds would leave no
                // time to renew.
                least = 5;
            }
            let accepts = |value: i64| {
                let request = begin(&json!({ field: value }));
                request.is_ok_and(|request| request.acquire("h".into(), 58).check(KEPT).is_ok())
            };
            let accepted = [least - 1, least, most, most + 1].map(accepts);
            assert_eq!(accepted, [false, true, true, false], "{field}");
        }
    }

    #[test]
    fn the_agent_and_the_lock_table_accept_the_same_progress() {
        let grant = json!({ "lock": "l", "holder": "h", "token": 1 });
        let [longest, longer] = [256, 257].map(|length| "x".repeat(length));

        for progress in ["row 1", "~", &longest, "", &longer, "größe", "a\nb"] {
            let own = BeatRequest {
                progress: Some(progress.to_owned()),
            };
            let request = json!({ "grant": grant, "progress": progress });
            let table = HeartbeatRequest::read(request, KEPT);

            assert_eq!(own.check().is_ok(), table.is_ok(), "{progress}");
        }
    }

    #[test]
    fn a_get_with_a_wait_over_60_seconds_is_refused() {
        let wait = |wait_seconds| GetRequest { wait_seconds }.wait();

        assert_eq!(wait(None), Ok(Duration::ZERO));
        assert_eq!(wait(Some(60)), Ok(Duration::from_secs(60)));
        assert!(wait(Some(61)).is_err() && wait(Some(-1)).is_err());
    }
}
