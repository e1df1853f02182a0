//! The Lambda function reaper: wiring only.
//!
//! A failure is retried by Lambda, and the events of all attempts that failed go to the dead-letter
//! queue. The sweep makes up for them.

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
