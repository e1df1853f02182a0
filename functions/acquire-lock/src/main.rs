//! The deployable: wiring only.

use lockstep::{
    aws::sdk_config,
    clock::{Clock, SystemClock},
    config::Config,
    protocol::Protocol,
    store::dynamodb::DynamoStore,
    telemetry::{Metrics, StdoutSink, init_log},
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lockstep::lambda::RuntimeError> {
    init_log();
    let config = Config::from_env()?;
    let sdk = sdk_config().await;
    let table = DynamoStore::from_sdk(&sdk, config.table.clone());
    let deps = acquire_lock::Deps {
        protocol: Protocol::new(table, SystemClock, SystemClock.now().millis()),
        metrics: Metrics::new(StdoutSink, config.metrics_per_lock),
        table: config.table,
        run_retention: config.run_retention,
    };
    lockstep::lambda::serve(|event| acquire_lock::handle(&deps, event)).await
}
