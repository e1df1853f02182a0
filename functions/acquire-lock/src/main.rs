//! The Lambda function acquire-lock: wiring only.
//!
//! The runtime has one thread, because Lambda sends an execution environment only one event at a time.

use lockstep::aws::{deps, sdk_config};
use lockstep::config::Config;
use lockstep::lambda::{RuntimeError, serve};
use lockstep::service::acquire;
use lockstep::telemetry::init_log;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), RuntimeError> {
    init_log();
    let config = Config::from_env()?;
    let deps = deps(&sdk_config(), &config);
    deps.executions.prepare().await;
    serve(Some(&deps.table), |event| acquire::handle(&deps, event)).await
}
