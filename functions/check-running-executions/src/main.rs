//! The deployable: wiring only.

use lockstep::{aws::sdk_config, executions::stepfunctions::StepFunctions, telemetry::init_log};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lockstep::lambda::RuntimeError> {
    init_log();
    let executions = StepFunctions::without_tokens(&sdk_config().await);
    lockstep::lambda::serve(|event| check_running_executions::handle(&executions, event)).await
}
