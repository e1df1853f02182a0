//! The deployable: wiring only.

use lockstep::{
    aws::sdk_config,
    clock::{Clock, SystemClock},
    config::Config,
    executions::stepfunctions::StepFunctions,
    protocol::Protocol,
    store::dynamodb::DynamoStore,
    telemetry::{Metrics, StdoutSink, init_log},
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lockstep::lambda::RuntimeError> {
    init_log();
    let config = Config::from_env()?;
    let sdk = sdk_config().await;
    let table = DynamoStore::from_sdk(&sdk, config.table);
    let deps = heartbeat::Deps {
        protocol: Protocol::new(table, SystemClock, SystemClock.now().millis()),
        executions: StepFunctions::from_sdk(&sdk),
        metrics: Metrics::new(StdoutSink, config.metrics_per_lock),
    };
    lockstep::lambda::serve(|event| heartbeat::handle(&deps, event)).await
}
