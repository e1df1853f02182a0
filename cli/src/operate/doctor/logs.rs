//! The logs that the stack relies on: the log of events, which alarms and histories are made of, and the log
//! of exclusive-run's errors.

use super::super::stack::output_of;
use super::check::Check;
use aws_config::SdkConfig;
use aws_sdk_cloudformation::types::Stack;
use aws_sdk_cloudwatchlogs::types::PolicyScope;
use aws_sdk_sfn::operation::describe_state_machine::DescribeStateMachineOutput;
use aws_sdk_sfn::types::{LogLevel, LoggingConfiguration};
use serde_json::Value;

/// Describes exclusive-run, for its logging and the version of its definition.
///
/// # Errors
/// The check of its `name`, if it could not be described.
pub(super) async fn describe_exclusive_run(
    sdk: &SdkConfig,
    stack: &Stack,
    name: &'static str,
) -> Result<DescribeStateMachineOutput, Check> {
    let output = "ExclusiveRunStateMachineArn";
    let arn = output_of(stack, output).ok_or_else(|| Check::without_output(name, output))?;
    let call = aws_sdk_sfn::Client::new(sdk).describe_state_machine();
    let described = call.state_machine_arn(arn).send().await;
    let call = format!("Step Functions DescribeStateMachine of {arn}");
    described.map_err(|failure| Check::unread(name, &call, &failure))
}

/// Checks that Step Functions writes the errors of exclusive-run to a log group.
pub(super) fn check_log_of_errors(config: Option<&LoggingConfiguration>) -> Check {
    let name = "log of exclusive-run";
    let level = config.and_then(LoggingConfiguration::level);
    let has_group = config.is_some_and(|config| !config.destinations().is_empty());
    match level {
        Some(level) if *level != LogLevel::Off && has_group => {
            Check::passed(name, format!("level {level}"))
        }
        _ => Check::failed(
            name,
            "Step Functions logs nothing of it",
            "deploy the stack again: the template sets the logging of the state machine",
        ),
    }
}

/// Checks that the policy of the log group of events lets EventBridge write to it. Without that EventBridge
/// drops the events, and no call fails.
pub(super) async fn check_log_of_events(sdk: &SdkConfig, stack: &Stack) -> Check {
    let name = "log of events";
    let Some(group) = output_of(stack, "EventLogGroupName") else {
        return Check::without_output(name, "EventLogGroupName");
    };
    let place: Vec<_> = stack
        .stack_id()
        .unwrap_or_default()
        .splitn(6, ':')
        .collect();
    let [_, partition, _, region, account, _] = place[..] else {
        return Check::unknown(name, "the stack has no id that is an ARN");
    };
    let arn = format!("arn:{partition}:logs:{region}:{account}:log-group:{group}");
    let call = aws_sdk_cloudwatchlogs::Client::new(sdk).describe_resource_policies();
    let call = call.policy_scope(PolicyScope::Resource).resource_arn(arn);
    let found = match call.send().await {
        Ok(found) => found,
        Err(failure) => {
            let call = format!("CloudWatch Logs DescribeResourcePolicies of {group}");
            return Check::unread(name, &call, &failure);
        }
    };
    let documents = found.resource_policies().iter();
    let mut documents = documents.filter_map(|policy| policy.policy_document());
    match documents.any(lets_events_write) {
        true => Check::passed(name, group),
        false => Check::failed(
            name,
            format!("the policy of {group} does not let EventBridge write: events are lost"),
            "deploy the stack again: the log group has its policy in the template, and needs none of the account",
        ),
    }
}

/// Returns whether a policy allows `logs:PutLogEvents` to `events.amazonaws.com`.
fn lets_events_write(document: &str) -> bool {
    let has = |value: &Value, text: &str| match value {
        Value::Array(values) => values.iter().any(|value| value == text),
        value => value == text,
    };
    let document: Value = serde_json::from_str(document).unwrap_or_default();
    let mut statements = document["Statement"].as_array().into_iter().flatten();
    statements.any(|statement| {
        statement["Effect"] == "Allow"
            && has(&statement["Principal"]["Service"], "events.amazonaws.com")
            && has(&statement["Action"], "logs:PutLogEvents")
    })
}

#[cfg(test)]
mod tests {
    use super::super::check::Status;
    use super::*;
    use aws_sdk_sfn::types::LogDestination;

    #[test]
    fn eventbridge_needs_the_right_to_put_log_events() {
        let policy = |effect: &str, service: &str, action: &str| {
            format!(
                r#"{{"Statement":[{{"Effect":"{effect}","Principal":{{"Service":{service}}},"Action":"{action}"}}]}}"#
            )
        };
        let both = r#"["delivery.logs.amazonaws.com","events.amazonaws.com"]"#;
        for (document, expected) in [
            (policy("Allow", both, "logs:PutLogEvents"), true),
            (
                policy("Allow", r#""events.amazonaws.com""#, "logs:PutLogEvents"),
                true,
            ),
            (policy("Allow", both, "logs:CreateLogStream"), false),
            (policy("Deny", both, "logs:PutLogEvents"), false),
            (
                policy("Allow", r#""es.amazonaws.com""#, "logs:PutLogEvents"),
                false,
            ),
            ("no JSON".into(), false),
        ] {
            assert_eq!(lets_events_write(&document), expected, "{document}");
        }
    }

    #[test]
    fn logging_needs_a_level_and_a_log_group() {
        let with = |level: LogLevel, group: bool| {
            let config = LoggingConfiguration::builder().level(level);
            let destination = group.then(|| LogDestination::builder().build());
            let config = config.set_destinations(destination.map(|one| vec![one]));
            check_log_of_errors(Some(&config.build())).status
        };

        assert_eq!(with(LogLevel::Error, true), Status::Ok);
        assert_eq!(with(LogLevel::Error, false), Status::Failed);
        assert_eq!(with(LogLevel::Off, true), Status::Failed);
        assert_eq!(check_log_of_errors(None).status, Status::Failed);
    }
}
