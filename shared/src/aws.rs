//! The clients of AWS services, each built once.
//!
//! Time limits: 500 ms to connect, 2 s for an attempt, 6 s for a call with at most three attempts. So a
//! function decides within six seconds or fails with a named error, before Lambda times it out. The client of
//! the lock table, which every event needs, is built before the first event, while the function has a whole
//! core. The other clients are built at their first call.

mod environment;
mod http;
pub mod trust;

pub use http::lazy_client as lazy_http_client;

use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::events::Events;
use crate::events::eventbridge::EventBridge;
use crate::executions::stepfunctions::StepFunctions;
use crate::service::Deps;
use crate::store::dynamodb::DynamoStore;
use crate::tasks::ecs::Ecs;
use crate::telemetry::{Metrics, StdoutSink};
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::TimeoutConfig;
use lockstep_core::protocol::Protocol;
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);

/// The settings that all clients of a function share.
#[must_use]
pub fn sdk_config() -> SdkConfig {
    let settings = environment::settings();
    settings
        .http_client(http::client(trust::of_functions()))
        .retry_config(retries())
        .timeout_config(timeouts())
        .build()
}

/// Loads the settings of a process outside of Lambda, with credentials from the default chain of the SDK.
pub async fn load_sdk_config(
    http: SharedHttpClient,
    region: String,
    timeouts: TimeoutConfig,
) -> SdkConfig {
    aws_config::defaults(BehaviorVersion::latest())
        .http_client(http)
        .region(Region::new(region))
        .retry_config(retries())
        .timeout_config(timeouts)
        .load()
        .await
}

fn retries() -> RetryConfig {
    RetryConfig::standard().with_max_attempts(3)
}

/// Returns the timeouts of a function: six seconds for a call and two for an attempt, so that the function
/// responds before its own timeout.
#[must_use]
pub fn timeouts() -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .operation_attempt_timeout(Duration::from_secs(2))
        .operation_timeout(Duration::from_secs(6))
        .build()
}

/// The ports of a Lambda function.
pub type Aws<V = EventBridge, K = StdoutSink> =
    (DynamoStore, SystemClock, StepFunctions, Ecs, V, K);

/// Returns the event bus that `config` names.
#[must_use]
pub fn bus(sdk: &SdkConfig, config: &Config) -> EventBridge {
    EventBridge::from_sdk(
        sdk,
        config.event_bus.clone(),
        config.table_name().to_owned(),
        config.runbook.clone(),
    )
}

/// Returns the dependencies of a Lambda function.
#[must_use]
pub fn deps(sdk: &SdkConfig, config: &Config) -> Deps<Aws> {
    deps_with(sdk, config, bus(sdk, config))
}

/// Returns the dependencies of a Lambda function, with `events` as the event bus.
#[must_use]
pub fn deps_with<V: Events>(sdk: &SdkConfig, config: &Config, events: V) -> Deps<Aws<V>> {
    let table = DynamoStore::from_sdk(sdk, config.table.clone());
    Deps {
        executions: StepFunctions::from_sdk(sdk, table.clone()),
        protocol: protocol(table),
        tasks: Ecs::from_sdk(sdk),
        events,
        metrics: Metrics::new(StdoutSink, config.table_name(), config.metrics_per_lock),
        table: config.table.clone(),
        retention: config.retention,
        run_events: config.run_events,
    }
}

/// Returns the protocol on `table`, with the machine's clock.
#[must_use]
pub fn protocol(table: DynamoStore) -> Protocol<DynamoStore, SystemClock> {
    Protocol::new(table, SystemClock, SystemClock.now().millis())
}
