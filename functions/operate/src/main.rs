//! The Lambda function operate, which is also deployed as view: wiring only.
//!
//! view runs the same code with a role that does not allow it to write, and refuses acts that write.

use lockstep::aws::{bus, deps_with, sdk_config};
use lockstep::config::Config;
use lockstep::events::cloudwatch::LoggedBus;
use lockstep::lambda::{RuntimeError, serve_as};
use lockstep::telemetry::init_log;
use lockstep_operate::contract::Surface;
use lockstep_operate::pages::{self, Endpoints};
use lockstep_operate::schedules::aws::EventBridgeSchedules;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), RuntimeError> {
    init_log();
    let config = Config::from_env()?;
    let sdk = sdk_config();
    let bus = LoggedBus::new(bus(&sdk, &config), &sdk, config.event_log_group.clone());
    let deps = deps_with(&sdk, &config, bus);
    let schedules = EventBridgeSchedules::from_sdk(&sdk);
    let surface = match config.read_only {
        true => Surface::View,
        false => Surface::Operate,
    };
    let (deps, schedules) = (&deps, &schedules);
    let configured = config.operate_function.as_deref();
    serve_as(Some(&deps.table), |event, own: String| async move {
        let operate = match surface {
            Surface::View => configured,
            Surface::Operate => Some(own.as_str()),
        };
        let endpoints = Endpoints { own: &own, operate };
        pages::handle(deps, schedules, surface, endpoints, event).await
    })
    .await
}
