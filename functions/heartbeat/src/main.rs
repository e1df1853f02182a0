//! The deployable: wiring only.

use lockstep::{
    aws::{follow_up, sdk_config},
    config::Config,
    tasks::ecs::Ecs,
    telemetry::{Metrics, StdoutSink, init_log},
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lockstep::lambda::RuntimeError> {
    init_log();
    let config = Config::from_env()?;
    let sdk = sdk_config().await;
    let deps = heartbeat::Deps {
        follow: follow_up(&sdk, &config),
        tasks: Ecs::from_sdk(&sdk),
        metrics: Metrics::new(StdoutSink, config.metrics_per_lock),
    };
    lockstep::lambda::serve(|event| heartbeat::handle(&deps, event)).await
}
