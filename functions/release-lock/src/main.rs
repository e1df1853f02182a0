//! The Lambda function release-lock: wiring only.

use lockstep::aws::{deps, sdk_config};
use lockstep::config::Config;
use lockstep::lambda::{RuntimeError, serve};
use lockstep::service::release;
use lockstep::telemetry::init_log;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), RuntimeError> {
    init_log();
    let config = Config::from_env()?;
    let deps = deps(&sdk_config(), &config);
    deps.executions.build();
    deps.executions.prepare().await;
    serve(Some(&deps.table), |event| release::handle(&deps, event)).await
}
