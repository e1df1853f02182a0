//! The Lambda function operate, which is also deployed as view: wiring only.

use lockstep::aws::{deps, sdk_config};
use lockstep::config::Config;
use lockstep::contract::Surface;
use lockstep::lambda::{RuntimeError, serve};
use lockstep::service::operate;
use lockstep::telemetry::init_log;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), RuntimeError> {
    init_log();
    let config = Config::from_env()?;
    let deps = deps(&sdk_config().await, &config);
    let surface = match config.read_only {
        true => Surface::View,
        false => Surface::Operate,
    };
    serve(Some(&deps.table), |event| {
        operate::handle(&deps, surface, event)
    })
    .await
}
