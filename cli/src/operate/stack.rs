//! The stack of Lockstep: how it is found, what it was deployed from, and its outputs.

use super::act_error::ActError;
use super::call_error::error_text;
use crate::args::operate::StackArgs;
use crate::args::table::Table;
use crate::exit::Exit;
use crate::platform::server_time::ServerTime;
use aws_config::SdkConfig;
use aws_sdk_cloudformation::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_cloudformation::types::Stack;

/// The name of the stack if the command line names neither a stack nor a table.
const DEFAULT_STACK: &str = "lockstep";

/// The parameter that every stack of the template has, in each of its statuses.
const OF_TEMPLATE: &str = "TaskDefinitionArns";
/// The output that every deployed stack of Lockstep has under this key.
const OF_LOCKSTEP: &str = "LockstepVersion";

/// A stack, and the clock of the service that described it.
pub(super) struct DescribedStack {
    pub(super) stack: Stack,
    pub(super) time: ServerTime,
}

/// What a stack was deployed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The template of Lockstep.
    Template,
    /// The CDK constructs, beside which the stack may have other resources.
    Constructs,
    /// Anything else, such as the template of a team's stack.
    Other,
}

impl Origin {
    /// Returns what `stack` was deployed from. A stack whose first deploy has not succeeded has no outputs.
    pub(crate) fn of(stack: &Stack) -> Self {
        let is_lockstep = output_of(stack, OF_LOCKSTEP).is_some();
        let has_parameters = parameter_of(stack, OF_TEMPLATE).is_some();
        match (has_parameters, is_lockstep) {
            (true, true) => Self::Template,
            (true, false) if stack.outputs().is_empty() => Self::Template,
            (false, true) => Self::Constructs,
            _ => Self::Other,
        }
    }
}

/// Describes the stack that `args` name. `flags` are those beside --stack and --table that would find a function,
/// each after a comma.
///
/// # Errors
/// [`ActError`] if there is no such stack, or it cannot be described.
pub(super) async fn describe_stack(
    sdk: &SdkConfig,
    args: &StackArgs,
    flags: &str,
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
            stack_of_table(sdk, table, flags).await?
        }
        (None, None) => DEFAULT_STACK.to_owned(),
    };
    let call = client.describe_stacks().stack_name(&name).customize();
    let described = call.interceptor(time.clone()).send().await;
    let described = described.map_err(|failure| {
        let call = format!("DescribeStacks of {name} in {}", region(sdk));
        cloudformation_error(&call, &format!("--stack{flags}, AWS_REGION"), &failure)
    })?;
    let stack = described.stacks.unwrap_or_default().into_iter().next();
    let stack =
        stack.ok_or_else(|| configuration(&format!("there is no stack {name} (--stack)")))?;
    Ok(DescribedStack { stack, time })
}

/// Describes the stack `name`; returns `None` if there is none, or one without resources because its first change
/// set has not been executed.
///
/// # Errors
/// [`ActError`] if CloudFormation cannot be asked.
pub(crate) async fn find_stack(sdk: &SdkConfig, name: &str) -> Result<Option<Stack>, ActError> {
    let client = aws_sdk_cloudformation::Client::new(sdk);
    let described = client.describe_stacks().stack_name(name).send().await;
    let stacks = match described {
        Ok(described) => described.stacks.unwrap_or_default(),
        // CloudFormation has no error of its own for a name that it does not know.
        Err(failure) if failure.code() == Some("ValidationError") => return Ok(None),
        Err(failure) => {
            let call = format!("DescribeStacks of {name} in {}", region(sdk));
            return Err(cloudformation_error(&call, "", &failure));
        }
    };
    let is_made = |stack: &Stack| {
        let status = stack.stack_status();
        status.is_none_or(|status| status.as_str() != "REVIEW_IN_PROGRESS")
    };
    Ok(stacks.into_iter().find(is_made))
}

/// Returns the Region that requests go to.
pub(crate) fn region(sdk: &SdkConfig) -> &str {
    sdk.region().map_or("", |region| region.as_ref())
}

/// Returns the value of a flag or a variable; `None` if it is empty.
fn given(value: Option<&str>) -> Option<&str> {
    value.filter(|value| !value.is_empty())
}

/// Returns the name of the stack that created `table`.
async fn stack_of_table(
    sdk: &SdkConfig,
    table: Table<'_>,
    flags: &str,
) -> Result<String, ActError> {
    let name = table.name;
    let client = aws_sdk_cloudformation::Client::new(sdk);
    let call = client.describe_stack_resources().physical_resource_id(name);
    let found = call.send().await.map_err(|failure| {
        let call = format!("DescribeStackResources of the table {name}");
        cloudformation_error(&call, &format!("--table, --stack{flags}"), &failure)
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
            "no stack has the table {name} (--table, --stack{flags})"
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
        _ => ActError::new(Exit::UNAVAILABLE, text),
    }
}

fn configuration(text: &str) -> ActError {
    ActError::new(Exit::CONFIGURATION, text)
}

/// Returns the value of a parameter of `stack`; `None` if the stack has no such parameter, as one of the CDK
/// constructs, which grant by their props.
pub(crate) fn parameter_of<'a>(stack: &'a Stack, name: &str) -> Option<&'a str> {
    let mut all = stack.parameters().iter();
    let found = all.find(|parameter| parameter.parameter_key() == Some(name))?;
    found.resolved_value().or(found.parameter_value())
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

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_cloudformation::types::{Output, Parameter, StackStatus};
    use aws_smithy_types::DateTime;

    fn stack(parameters: &[&str], outputs: &[(&str, Option<&str>, &str)]) -> Stack {
        let parameters = parameters.iter().map(|key| {
            Parameter::builder()
                .parameter_key(*key)
                .parameter_value("")
                .build()
        });
        let outputs = outputs.iter().map(|(key, export, value)| {
            let output = Output::builder().output_key(*key).output_value(*value);
            output.set_export_name(export.map(str::to_owned)).build()
        });
        Stack::builder()
            .stack_name("locks")
            .creation_time(DateTime::from_secs(0))
            .stack_status(StackStatus::CreateComplete)
            .set_parameters(Some(parameters.collect()))
            .set_outputs(Some(outputs.collect()))
            .build()
    }

    #[test]
    fn an_output_is_found_in_stacks_of_the_template_and_the_constructs() {
        let [view, other] = ["locks-ViewFunctionArn", "other-ReaperFunctionArn"].map(Some);
        let stack = stack(
            &[],
            &[
                ("RunRetentionDays", None, "14"),
                ("LockstepViewOutput1F", view, "view"),
                ("Other", other, "another stack's"),
            ],
        );

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
    fn a_stack_of_lockstep_is_known_by_its_parameters_and_its_version() {
        let version = ("LockstepVersion", None, "0.1.0");
        let machine = ("ExclusiveRunStateMachineArn", None, "arn");
        let tasks = "TaskDefinitionArns";
        for (parameters, outputs, origin) in [
            (vec![tasks], vec![version, machine], Origin::Template),
            // The first deploy has failed, or is not over.
            (vec![tasks], vec![], Origin::Template),
            (vec![], vec![version, machine], Origin::Constructs),
            // A team's stack.
            (vec![tasks], vec![machine], Origin::Other),
            (vec![], vec![("Queue", None, "url")], Origin::Other),
            (vec![], vec![], Origin::Other),
        ] {
            let found = Origin::of(&stack(&parameters, &outputs));
            assert_eq!(found, origin, "{parameters:?} {outputs:?}");
        }
    }
}
