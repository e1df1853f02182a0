//! The clients of AWS services, built once before the first event.

use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::events::eventbridge::EventBridge;
use crate::executions::stepfunctions::StepFunctions;
use crate::followup::FollowUp;
use crate::protocol::Protocol;
use crate::recovery::Caretaker;
use crate::store::dynamodb::DynamoStore;
use crate::tasks::ecs::Ecs;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_http_client::tls::{Provider, TlsContext};
use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::TimeoutConfig;
use std::time::Duration;

/// The settings that all clients share.
///
/// TLS is rustls with ring: no jitter entropy at the first handshake, which costs the default
/// provider some 40 ms of CPU (<https://github.com/aws/aws-lc-rs/issues/899>). A call has six
/// seconds, an attempt two, so that a function answers before its own time-out.
pub async fn sdk_config() -> SdkConfig {
    sdk_config_trusting(TlsContext::default()).await
}

/// The same, where `tls` says whose certificates are trusted.
pub async fn sdk_config_trusting(tls: TlsContext) -> SdkConfig {
    let http = Builder::new()
        .tls_provider(Provider::Rustls(CryptoMode::Ring))
        .tls_context(tls)
        .build_https();
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(Duration::from_millis(500))
        .operation_attempt_timeout(Duration::from_secs(2))
        .operation_timeout(Duration::from_secs(6))
        .build();
    let region = crate::config::variable("AWS_REGION").map(Region::new);
    aws_config::defaults(BehaviorVersion::latest())
        .http_client(http)
        .region(region)
        .retry_config(RetryConfig::standard().with_max_attempts(3))
        .timeout_config(timeouts)
        .load()
        .await
}

/// The protocol on the real table, and what is done after a commit.
#[must_use]
pub fn follow_up(
    sdk: &SdkConfig,
    config: &Config,
) -> FollowUp<DynamoStore, SystemClock, StepFunctions, EventBridge> {
    let table = DynamoStore::from_sdk(sdk, config.table.clone());
    let executions = StepFunctions::from_sdk(sdk, table.clone());
    FollowUp {
        protocol: Protocol::new(table, SystemClock, SystemClock.now().millis()),
        executions,
        events: EventBridge::from_sdk(sdk, config.event_bus.clone()),
        table: config.table.clone(),
        retention: config.run_retention,
    }
}

/// The same, with sight of tasks.
#[must_use]
pub fn caretaker(
    sdk: &SdkConfig,
    config: &Config,
) -> Caretaker<DynamoStore, SystemClock, StepFunctions, Ecs, EventBridge> {
    Caretaker {
        follow: follow_up(sdk, config),
        tasks: Ecs::from_sdk(sdk),
    }
}
