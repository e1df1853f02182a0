//! The clients of the services. They send requests at a pace below the quotas of the account.

mod lists;

pub(super) use lists::{Listed, Page, Rule};

use super::api::{Api, CallError, Service, Verdict};
use super::pace::Pace;
use crate::platform::clock::sleep;
use crate::platform::env::seed;
use aws_config::SdkConfig;
use aws_sdk_sfn::error::{ProvideErrorMetadata, SdkError};
use aws_smithy_types::retry::RetryConfig;
use lockstep::backoff::Backoff;
use std::time::Duration;

/// Regions in which the quotas of Step Functions are larger.
const LARGE: [&str; 3] = ["us-east-1", "us-west-2", "eu-west-1"];

/// Requests per second and burst for Step Functions, in the Regions of [`LARGE`] and in all others. This is
/// half of the quota of ListExecutions, which has a bucket of 200 requests refilled by 5 per second in
/// [`LARGE`], and of 100 refilled by 2 elsewhere. ListStateMachines has a bucket of 100 refilled by 5
/// (<https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html>).
const STEP_FUNCTIONS: [(f64, f64); 2] = [(2.5, 100.0), (1.0, 50.0)];

/// Requests per second and burst for EventBridge and for EventBridge Scheduler. This is a fifth of the 50
/// requests per second that EventBridge allows
/// (<https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-quota.html>). ListSchedules and GetSchedule
/// allow at least as many (<https://docs.aws.amazon.com/scheduler/latest/UserGuide/scheduler-quotas.html>).
const EVENTS: (f64, f64) = (10.0, 10.0);

/// Maximum number of attempts of a request that is throttled. The pauses between them add up to more than a
/// minute.
const ATTEMPTS_THROTTLED: u32 = 10;
/// Maximum number of attempts of a request that gets no response, or one with status 500 or above.
const ATTEMPTS_UNANSWERED: u32 = 3;

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(20);

/// The clients.
#[derive(Debug)]
pub(super) struct Client {
    sfn: aws_sdk_sfn::Client,
    events: aws_sdk_eventbridge::Client,
    scheduler: aws_sdk_scheduler::Client,
    paces: [Pace; 3],
    backoff: Backoff,
    /// Requests that were sent.
    pub(super) requests: u64,
    /// Requests that were throttled.
    pub(super) throttled: u64,
}

impl Client {
    /// Creates the clients. `rate` is a number of requests per second to each service.
    pub(super) fn new(sdk: &SdkConfig, region: &str, rate: Option<f64>) -> Self {
        // The retries of the SDK would not be counted, and would not keep to the pace.
        let sdk = sdk.to_builder();
        let sdk = sdk.retry_config(RetryConfig::disabled()).build();
        let step_functions = STEP_FUNCTIONS[usize::from(!LARGE.contains(&region))];
        let pace = |default: (f64, f64)| match rate {
            Some(rate) => Pace::new(rate, 1.0),
            None => Pace::new(default.0, default.1),
        };
        Self {
            sfn: aws_sdk_sfn::Client::new(&sdk),
            events: aws_sdk_eventbridge::Client::new(&sdk),
            scheduler: aws_sdk_scheduler::Client::new(&sdk),
            paces: [step_functions, EVENTS, EVENTS].map(pace),
            backoff: Backoff::new(FIRST_PAUSE, LONGEST_PAUSE, seed()),
            requests: 0,
            throttled: 0,
        }
    }

    /// Sends a request at the pace of its service. Repeats it until it succeeds, fails with a final error, or
    /// has reached its maximum number of attempts.
    async fn call<T, E, F>(
        &mut self,
        api: Api,
        with_token: bool,
        send: impl Fn() -> F,
    ) -> Result<T, CallError>
    where
        F: Future<Output = Result<T, SdkError<E>>>,
        E: std::error::Error + ProvideErrorMetadata + 'static,
    {
        let service = match api.service() {
            Service::StepFunctions => 0,
            Service::EventBridge => 1,
            Service::Scheduler => 2,
        };
        let mut attempts = 0;
        loop {
            self.paces[service].turn().await;
            self.requests += 1;
            let failure = match send().await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            attempts += 1;
            let most = match api.judge(&failure, with_token) {
                Verdict::Final(error) => return Err(error),
                Verdict::Throttled => {
                    self.throttled += 1;
                    self.paces[service].slow_down();
                    ATTEMPTS_THROTTLED
                }
                Verdict::Transient => ATTEMPTS_UNANSWERED,
            };
            if attempts >= most {
                return Err(api.failed(&failure));
            }
            sleep(self.backoff.wait(attempts)).await;
        }
    }
}
