//! The Lambda function `operate` or `view` of a stack, which the subcommands for operators call.
//!
//! The outputs of the stack contain the ARNs of its functions, so a subcommand needs only the name of the
//! stack. With `--function` it does not call CloudFormation and needs no permission for it.

use super::act_error::ActError;
use super::call_error::error_text;
use super::stack::{describe_stack, output_of};
use crate::args::operate::FunctionArgs;
use crate::exit::Exit;
use crate::platform::aws::{Loaded, operators_config};
use aws_config::SdkConfig;
use aws_sdk_cloudformation::types::Stack;
use aws_sdk_lambda::error::ProvideErrorMetadata;
use aws_sdk_lambda::primitives::Blob;
use aws_smithy_types::timeout::TimeoutConfig;
use lockstep::contract::ErrorName;
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;

/// Time limit of one invocation. The functions time out after a minute (`Timeout` in the template).
const ACT_TIME: Duration = Duration::from_secs(65);

/// Maximum number of invocations for one act while the function crashes or times out.
const ATTEMPTS: u32 = 3;

/// The functions of operators, by what they may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Surface {
    /// Reads only.
    View,
    /// All acts.
    Operate,
}

/// A deployed function.
#[derive(Debug)]
pub(super) struct Function {
    client: aws_sdk_lambda::Client,
    name: String,
}

/// The payload of a function that failed
/// (<https://docs.aws.amazon.com/lambda/latest/dg/invocation-sync.html>).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct FunctionError {
    #[serde(default)]
    error_type: String,
    #[serde(default)]
    error_message: String,
}

impl Function {
    /// Finds the function in the outputs of the stack, or takes the one that `--function` names.
    ///
    /// # Errors
    /// [`ActError`] if there are no credentials, no Region, no such stack, or no function in its outputs.
    pub(super) async fn open(args: &FunctionArgs, surface: Surface) -> Result<Self, ActError> {
        let Loaded { sdk, .. } = Self::sdk().await?;
        match &args.function {
            Some(name) => Ok(Self::named(&sdk, name)),
            None => {
                let described = describe_stack(&sdk, &args.stack, ", --function").await?;
                let found = Self::of_stack(&sdk, &described.stack, surface);
                found.map_err(|error| ActError {
                    text: format!("{}, or a function by --function", error.text),
                    ..error
                })
            }
        }
    }

    /// Loads the configuration that all clients share.
    ///
    /// # Errors
    /// [`ActError`] if there are no credentials or no Region.
    pub(super) async fn sdk() -> Result<Loaded, ActError> {
        let loaded = operators_config().await;
        loaded.map_err(|(exit, text)| ActError::new(exit, text))
    }

    /// Returns the function in the outputs of `stack`.
    ///
    /// # Errors
    /// [`ActError`] if the outputs do not contain the function.
    pub(super) fn of_stack(
        sdk: &SdkConfig,
        stack: &Stack,
        surface: Surface,
    ) -> Result<Self, ActError> {
        let key = match surface {
            Surface::View => "ViewFunctionArn",
            Surface::Operate => "OperateFunctionArn",
        };
        match output_of(stack, key) {
            Some(arn) => Ok(Self::named(sdk, arn)),
            None => {
                let name = stack.stack_name().unwrap_or_default();
                Err(configuration(&format!(
                    "the stack {name} has no output {key}: give the name of a Lockstep stack by --stack"
                )))
            }
        }
    }

    fn named(sdk: &SdkConfig, name: &str) -> Self {
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(Duration::from_secs(5))
            .operation_attempt_timeout(ACT_TIME)
            .operation_timeout(2 * ACT_TIME);
        let config = aws_sdk_lambda::config::Builder::from(sdk).timeout_config(timeouts.build());
        Self {
            client: aws_sdk_lambda::Client::from_conf(config.build()),
            name: name.into(),
        }
    }

    /// Invokes the function with the act `request`.
    ///
    /// An act may be repeated without harm. So the retries of the client are on, and a function that crashed
    /// or timed out is invoked again: it may have carried out the act, and the repetition finds that out.
    ///
    /// # Errors
    /// [`ActError`] if the function cannot be invoked, or returns an error.
    pub(super) async fn act(&self, request: &Value) -> Result<Value, ActError> {
        let mut attempts = 1;
        loop {
            let call = self.client.invoke().function_name(&self.name);
            let call = call.payload(Blob::new(request.to_string())).send();
            let response = call.await.map_err(|failure| {
                let text = error_text(&failure);
                // An error with a code means that Lambda refused the request before the function received it.
                let code = failure.code().map(str::to_owned);
                ActError {
                    may_have_acted: code.is_none(),
                    code,
                    ..unavailable(&format!("Lambda Invoke of {}: {text}", self.name))
                }
            })?;
            let payload = response.payload().map(AsRef::as_ref).unwrap_or_default();
            if response.function_error().is_none() {
                return serde_json::from_slice(payload).map_err(|error| {
                    unavailable(&format!("the response of {}: {error}", self.name))
                });
            }
            if attempts == ATTEMPTS || !has_died(payload) {
                return Err(function_error(payload));
            }
            attempts += 1;
        }
    }
}

/// Returns whether the error comes from Lambda and not from the function: the function crashed or timed out
/// (<https://docs.aws.amazon.com/lambda/latest/dg/troubleshooting-invocation.html>).
fn has_died(payload: &[u8]) -> bool {
    let error = serde_json::from_slice::<FunctionError>(payload);
    error.is_ok_and(|error| {
        let by_lambda = ["Runtime.", "Sandbox."];
        by_lambda
            .iter()
            .any(|prefix| error.error_type.starts_with(prefix))
    })
}

/// Converts the error that a function returned. The exit code follows from the name of the error.
fn function_error(payload: &[u8]) -> ActError {
    let Ok(error) = serde_json::from_slice::<FunctionError>(payload) else {
        let text = String::from_utf8_lossy(payload).into_owned();
        return ActError::new(Exit::FAILED, text);
    };
    let is = |name: ErrorName| error.error_type == name.as_str();
    let exit = match () {
        () if is(ErrorName::InvalidRequest) => Exit::CONFIGURATION,
        () if is(ErrorName::LockHeld) => Exit::NOT_ACQUIRED,
        () if [
            ErrorName::Unavailable,
            ErrorName::Contended,
            ErrorName::Denied,
        ]
        .into_iter()
        .any(is) =>
        {
            Exit::UNAVAILABLE
        }
        () => Exit::FAILED,
    };
    let text = format!("{}: {}", error.error_type, error.error_message);
    let unclear = [ErrorName::Unavailable, ErrorName::Contended];
    ActError {
        may_have_acted: unclear.into_iter().any(is) || has_died(payload),
        code: Some(error.error_type.clone()),
        ..ActError::new(exit, text)
    }
}

fn configuration(text: &str) -> ActError {
    ActError::new(Exit::CONFIGURATION, text)
}

fn unavailable(text: &str) -> ActError {
    ActError::new(Exit::UNAVAILABLE, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_function_has_the_exit_code_of_its_name() {
        for (name, exit) in [
            ("Lockstep.InvalidRequest", Exit::CONFIGURATION),
            ("Lockstep.LockHeld", Exit::NOT_ACQUIRED),
            ("Lockstep.Unavailable", Exit::UNAVAILABLE),
            ("Lockstep.Contended", Exit::UNAVAILABLE),
            ("Lockstep.Denied", Exit::UNAVAILABLE),
            ("Lockstep.Corrupt", Exit::FAILED),
            ("Sandbox.Timedout", Exit::FAILED),
        ] {
            let payload = format!(r#"{{"errorType":"{name}","errorMessage":"what happened"}}"#);

            let error = function_error(payload.as_bytes());

            assert_eq!(error.exit, exit, "{name}");
            assert_eq!(error.text, format!("{name}: what happened"));
        }
    }

    #[test]
    fn a_payload_that_is_no_error_of_a_runtime_is_shown_as_it_is() {
        let error = function_error(b"no JSON");

        assert_eq!((error.exit, error.text.as_str()), (Exit::FAILED, "no JSON"));
    }
}
