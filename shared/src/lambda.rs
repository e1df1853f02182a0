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
/// A failure reaches Step Functions under its name from the closed list, and the log with its
/// message; a response is sent as it is. AWS/Lambda's metric `Errors` counts every failure, also an answer
/// such as `Lockstep.LockHeld`; [`StackMetric::Faults`] of `table` counts only those that an operator has to remove.
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

/// As [`serve`]; `handle` also gets the ARN by which the function was invoked.
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
    // Without the span that `lambda_runtime::run` adds to each event: no log line shows one.
    let runtime = Runtime::new(service_fn(move |event: LambdaEvent<Value>| async move {
        let (event, context) = event.into_parts();
        // Boxed: inside the runtime's futures, its type would be too deep to lay out.
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
