//! The entry point of every Lambda function.

use crate::clock::{Clock, SystemClock};
use crate::error::Error;
use crate::telemetry::{Metrics, StackMetric, StdoutSink};
use lambda_runtime::{Diagnostic, LambdaEvent, Runtime, service_fn};
use serde::Serialize;
use serde_json::Value;
use std::pin::Pin;

/// A failure before the first event.
pub use lambda_runtime::Error as RuntimeError;

/// Serves events with `handle` until Lambda stops the process.
///
/// Step Functions gets a failure under its name from the closed list, and the log gets its name and message.
/// The metric `Errors` of AWS/Lambda counts every failure, also an answer such as `Lockstep.LockHeld`.
/// [`StackMetric::Faults`] of `table` counts only the failures whose cause an operator has to remove.
///
/// # Errors
/// When the Lambda runtime API cannot be used.
pub async fn serve<F, R, T>(table: Option<&str>, handle: F) -> Result<(), RuntimeError>
where
    F: Fn(Value) -> R,
    R: Future<Output = Result<T, Error>>,
    T: Serialize,
{
    serve_as(table, |event, _| handle(event)).await
}

/// Serves events as [`serve`] does. `handle` also gets the ARN by which the function was invoked.
///
/// # Errors
/// As [`serve`].
pub async fn serve_as<F, R, T>(table: Option<&str>, handle: F) -> Result<(), RuntimeError>
where
    F: Fn(Value, String) -> R,
    R: Future<Output = Result<T, Error>>,
    T: Serialize,
{
    let handle = &handle;
    // `lambda_runtime::run` would add a span to each event, which no log line shows.
    let runtime = Runtime::new(service_fn(move |event: LambdaEvent<Value>| async move {
        let (event, context) = event.into_parts();
        // Boxed, because inside the runtime's futures its type would be too deep for the compiler.
        let answer: Pin<Box<dyn Future<Output = Result<T, Error>> + '_>> =
            Box::pin(handle(event, context.invoked_function_arn));
        answer.await.map_err(|error| {
            let name = error.name();
            if name.is_retryable() {
                tracing::warn!(event = "invocation_failed", error = %name, message = error.message());
            } else {
                tracing::error!(event = "invocation_failed", error = %name, message = error.message());
            }
            if let Some(table) = table.filter(|_| name.is_fault()) {
                let metrics = Metrics::new(StdoutSink, table, false);
                metrics.report_stack(SystemClock.now(), &[(StackMetric::Faults, 1.0)]);
            }
            Diagnostic::from(error)
        })
    }));
    runtime.run().await
}

impl From<Error> for Diagnostic {
    fn from(error: Error) -> Self {
        Self {
            error_type: error.name().to_string(),
            error_message: error.message().to_owned(),
        }
    }
}
