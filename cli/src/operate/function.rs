//! The function operate or view of a stack.
//!
//! The outputs of the stack contain the ARNs of its functions, so a subcommand needs only the name of the
//! stack. With `--function` it does not call CloudFormation and needs no permission for it.

use super::call_error::error_text;
use crate::args::operate::{FunctionArgs, StackArgs};
use crate::args::table::Table;
use crate::exit::Exit;
use crate::platform::aws::{Loaded, operators_config};
use crate::platform::server_time::ServerTime;
use aws_config::SdkConfig;
use aws_sdk_cloudformation::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_cloudformation::types::Stack;
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

/// The name of the stack if the command line names neither a stack nor a table.
pub(crate) const DEFAULT_STACK: &str = "lockstep";

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

/// An act that failed.
#[derive(Debug)]
pub(crate) struct ActError {
    /// The exit code of the command.
    pub(super) exit: Exit,
    /// What happened, in one line.
    pub(super) text: String,
    /// Whether the function may have carried out the act all the same.
    pub(super) may_have_acted: bool,
}

impl ActError {
    /// Creates the error of an act that was not carried out.
    pub(crate) fn new(exit: Exit, text: impl Into<String>) -> Self {
        Self {
            exit,
            text: text.into(),
            may_have_acted: false,
        }
    }

    /// Adds to the error of a stack that was not found how to deploy one.
    pub(super) fn with_how_to_deploy(self) -> Self {
        let text = match self.exit {
            Exit::CONFIGURATION => format!(
                "{}; `lockstep init` writes what `sam deploy` needs to deploy one",
                self.text
            ),
            _ => self.text,
        };
        Self { text, ..self }
    }

    /// Returns the error that ends a command with exit code 0 and no message, after the reader of its standard
    /// output has gone.
    pub(super) fn without_reader() -> Self {
        Self::new(Exit::OK, "")
    }
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

/// A stack, and the clock of the service that described it.
pub(super) struct DescribedStack {
    pub(super) stack: Stack,
    pub(super) time: ServerTime,
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
                let described = describe_stack(&sdk, &args.stack).await?;
                Self::of_stack(&sdk, &described.stack, surface)
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
                    "the stack {name} has no output {key}: give the name of a Lockstep stack by --stack, or a function \
                     by --function"
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
                let has_seen = failure.code().is_none();
                ActError {
                    may_have_acted: has_seen,
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

/// Describes the stack that `args` name.
///
/// # Errors
/// [`ActError`] if there is no such stack, or it cannot be described.
pub(super) async fn describe_stack(
    sdk: &SdkConfig,
    args: &StackArgs,
) -> Result<DescribedStack, ActError> {
    let (client, time) = (
        aws_sdk_cloudformation::Client::new(sdk),
        ServerTime::default(),
    );
    let name = match (given(args.stack.as_deref()), given(args.table.as_deref())) {
        (Some(name), _) => name.to_owned(),
        (None, Some(table)) => {
            let table = Table::of(table).map_err(|why| configuration(&why))?;
            let checked = table.check_region(sdk);
            checked.map_err(|why| configuration(&why))?;
            stack_of_table(&client, table).await?
        }
        (None, None) => DEFAULT_STACK.to_owned(),
    };
    let call = client.describe_stacks().stack_name(&name).customize();
    let described = call.interceptor(time.clone()).send().await;
    let described = described.map_err(|failure| {
        let call = format!("DescribeStacks of {name}");
        cloudformation_error(&call, "--stack, --function", &failure)
    })?;
    let stack = described.stacks.unwrap_or_default().into_iter().next();
    let stack =
        stack.ok_or_else(|| configuration(&format!("there is no stack {name} (--stack)")))?;
    Ok(DescribedStack { stack, time })
}

/// Returns the value of a flag or a variable; `None` if it is empty.
fn given(value: Option<&str>) -> Option<&str> {
    value.filter(|value| !value.is_empty())
}

/// Returns the name of the stack that created `table`.
async fn stack_of_table(
    client: &aws_sdk_cloudformation::Client,
    table: Table<'_>,
) -> Result<String, ActError> {
    let name = table.name;
    let call = client.describe_stack_resources().physical_resource_id(name);
    let found = call.send().await.map_err(|failure| {
        let call = format!("DescribeStackResources of the table {name}");
        cloudformation_error(&call, "--table, --stack, --function", &failure)
    })?;
    let resource = found.stack_resources().first();
    let account = resource
        .and_then(|resource| resource.stack_id())
        .and_then(|arn| arn.split(':').nth(4));
    if let Some(account) = account {
        let checked = table.check_account(account);
        checked.map_err(|why| configuration(&why))?;
    }
    let stack = resource.and_then(|resource| resource.stack_name());
    stack.map(str::to_owned).ok_or_else(|| {
        configuration(&format!(
            "no stack has the table {name} (--table, --stack, --function)"
        ))
    })
}

/// Converts a failed call to CloudFormation. CloudFormation returns ValidationError for a name that it does
/// not know.
fn cloudformation_error<E>(call: &str, flags: &str, failure: &SdkError<E>) -> ActError
where
    E: std::error::Error + ProvideErrorMetadata + 'static,
{
    let text = format!("CloudFormation {call}: {}", error_text(failure));
    match failure.code() {
        Some("ValidationError") => configuration(&format!("{text} ({flags})")),
        _ => unavailable(&text),
    }
}

/// Returns the value of an output of `stack`.
pub(super) fn output_of<'a>(stack: &'a Stack, name: &str) -> Option<&'a str> {
    let mut outputs = outputs(stack);
    outputs
        .find(|(known, _)| *known == name)
        .map(|(_, value)| value)
}

/// Returns the outputs of `stack` by the names that the template gives them. In a stack of the CDK constructs
/// the keys of the outputs differ, but the values are exported under the same names.
pub(super) fn outputs(stack: &Stack) -> impl Iterator<Item = (&str, &str)> {
    let stack_name = stack.stack_name().unwrap_or_default();
    stack.outputs().iter().filter_map(move |output| {
        let exported = output.export_name().and_then(|name| {
            let name = name.strip_prefix(stack_name)?;
            name.strip_prefix('-')
        });
        Some((exported.or(output.output_key())?, output.output_value()?))
    })
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
    use aws_smithy_types::DateTime;

    #[test]
    fn an_output_is_found_in_stacks_of_the_template_and_the_constructs() {
        let output = |key: &str, export: Option<&str>, value: &str| {
            let output = aws_sdk_cloudformation::types::Output::builder();
            let output = output.output_key(key).output_value(value);
            output.set_export_name(export.map(str::to_owned)).build()
        };
        let [view, other] = ["locks-ViewFunctionArn", "other-ReaperFunctionArn"].map(Some);
        let stack = Stack::builder()
            .stack_name("locks")
            .creation_time(DateTime::from_secs(0))
            .stack_status(aws_sdk_cloudformation::types::StackStatus::CreateComplete)
            .outputs(output("RunRetentionDays", None, "14"))
            .outputs(output("LockstepViewOutput1F", view, "view"))
            .outputs(output("Other", other, "another stack's"))
            .build();

        for (name, value) in [
            ("RunRetentionDays", Some("14")),
            ("ViewFunctionArn", Some("view")),
            ("ReaperFunctionArn", None),
            ("LockstepViewOutput1F", None),
        ] {
            assert_eq!(output_of(&stack, name), value, "{name}");
        }
    }

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
