//! The clients of AWS services, built once before the first event.

mod environment;
pub mod trust;

use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::events::Events;
use crate::events::eventbridge::EventBridge;
use crate::executions::stepfunctions::StepFunctions;
use crate::protocol::Protocol;
use crate::service::Deps;
use crate::store::dynamodb::DynamoStore;
use crate::tasks::ecs::Ecs;
use crate::telemetry::{Metrics, StdoutSink};
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_http_client::tls::{Provider, TlsContext};
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::TimeoutConfig;
use std::time::Duration;

/// The settings that all clients of a function share.
#[must_use]
pub fn sdk_config() -> SdkConfig {
    let settings = environment::settings();
    settings
        .http_client(http(trust::of_functions()))
        .retry_config(retries())
        .timeout_config(timeouts())
        .build()
}

/// Loads the same settings with another HTTP client, and credentials from wherever the SDK finds them.
pub async fn load_sdk_config(http: SharedHttpClient) -> SdkConfig {
    aws_config::defaults(BehaviorVersion::latest())
        .http_client(http)
        .region(crate::config::variable("AWS_REGION").map(Region::new))
        .retry_config(retries())
        .timeout_config(timeouts())
        .load()
        .await
}

/// Creates an HTTP client that trusts the certificates of `tls`.
///
/// TLS is rustls with ring: no jitter entropy at the first handshake, which costs the default
/// provider some 40 ms of CPU (<https://github.com/aws/aws-lc-rs/issues/899>).
#[must_use]
pub fn http(tls: TlsContext) -> SharedHttpClient {
    Builder::new()
        .tls_provider(Provider::Rustls(CryptoMode::Ring))
        .tls_context(tls)
        .build_https()
}

fn retries() -> RetryConfig {
    RetryConfig::standard().with_max_attempts(3)
}

/// A call times out after six seconds, an attempt after two, so that a function responds before its own
/// timeout.
fn timeouts() -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(Duration::from_millis(500))
        .operation_attempt_timeout(Duration::from_secs(2))
        .operation_timeout(Duration::from_secs(6))
        .build()
}

/// The ports of a Lambda function.
pub type Aws<V = EventBridge, K = StdoutSink> =
    (DynamoStore, SystemClock, StepFunctions, Ecs, V, K);

/// The dependencies of a Lambda function.
#[must_use]
pub fn deps(sdk: &SdkConfig, config: &Config) -> Deps<Aws> {
    let bus = EventBridge::from_sdk(sdk, config.event_bus.clone());
    deps_with(sdk, config, bus)
}

/// As [`deps`], with `events` for the event bus.
#[must_use]
pub fn deps_with<V: Events>(sdk: &SdkConfig, config: &Config, events: V) -> Deps<Aws<V>> {
    let table = DynamoStore::from_sdk(sdk, config.table.clone());
    Deps {
        executions: StepFunctions::from_sdk(sdk, table.clone()),
        protocol: protocol(table),
        tasks: Ecs::from_sdk(sdk),
        events,
        metrics: Metrics::new(StdoutSink, config.metrics_per_lock),
        table: config.table.clone(),
        retention: config.retention,
        run_events: config.run_events,
    }
}

/// The protocol on `table`, with the machine's clock.
#[must_use]
pub fn protocol(table: DynamoStore) -> Protocol<DynamoStore, SystemClock> {
    Protocol::new(table, SystemClock, SystemClock.now().millis())
}
