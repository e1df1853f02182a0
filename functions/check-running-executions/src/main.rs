//! The Lambda function check-running-executions: wiring only.
//!
//! The function calls only Step Functions, so it needs no lock table.

use lockstep::aws::sdk_config;
use lockstep::executions::stepfunctions::StepFunctions;
use lockstep::lambda::{RuntimeError, serve};
use lockstep::service::check_running;
use lockstep::telemetry::init_log;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), RuntimeError> {
    init_log();
    let executions = StepFunctions::without_tokens(&sdk_config());
    executions.build();
    serve(None, |event| check_running::handle(&executions, event)).await
}
