//! The Lambda function reaper: wiring only.
//!
//! Lambda retries an invocation that fails. After the last failed attempt the event goes to the dead-letter
//! queue, and the next sweep does what the event would have caused.

use lockstep::aws::{deps, sdk_config};
use lockstep::config::Config;
use lockstep::lambda::{RuntimeError, serve};
use lockstep::service::reap;
use lockstep::telemetry::init_log;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), RuntimeError> {
    init_log();
    let config = Config::from_env()?;
    let deps = deps(&sdk_config(), &config);
    deps.executions.prepare().await;
    serve(Some(&deps.table), |event| reap::handle(&deps, event)).await
}
