//! What somebody may have stopped by hand: functions that take no call, and rules that invoke nothing. Neither
//! shows in the state of the stack, and no alarm follows.

use super::super::stack::output_of;
use super::check::Check;
use aws_config::SdkConfig;
use aws_sdk_cloudformation::types::Stack;
use aws_sdk_eventbridge::types::RuleState;

/// Checks that no function has the reserved concurrency 0, with which Lambda refuses every call
/// (<https://docs.aws.amazon.com/lambda/latest/dg/configuration-concurrency.html>).
pub(super) async fn check_concurrency(
    sdk: &SdkConfig,
    functions: impl Iterator<Item = (&str, &str)>,
) -> Check {
    let name = "reserved concurrency";
    let client = aws_sdk_lambda::Client::new(sdk);
    let mut stopped = Vec::new();
    for (function, arn) in functions {
        let call = client.get_function_concurrency().function_name(arn);
        match call.send().await {
            Ok(found) if found.reserved_concurrent_executions() == Some(0) => {
                stopped.push(format!("{function} ({arn})"));
            }
            Ok(_) => {}
            Err(failure) => {
                let call = format!("Lambda GetFunctionConcurrency of {arn}");
                return Check::unread(name, &call, &failure);
            }
        }
    }
    Check::new(
        name,
        stopped.is_empty(),
        match stopped.is_empty() {
            true => "no function is limited to 0".to_owned(),
            false => format!(
                "limited to 0, so that no call succeeds: {}",
                stopped.join(", ")
            ),
        },
        "type aws lambda delete-function-concurrency --function-name ARN, unless a restore of the table is going on",
    )
}

/// Checks that the rules of the stack are enabled: the sweep, and those that invoke the reaper and send messages.
pub(super) async fn check_rules(sdk: &SdkConfig, stack: &Stack) -> Check {
    let (name, output) = ("rules", "RuleArns");
    let Some(arns) = output_of(stack, output) else {
        return Check::without_output(name, output);
    };
    let client = aws_sdk_eventbridge::Client::new(sdk);
    let (mut count, mut disabled) = (0_usize, Vec::new());
    for arn in arns.split(',').filter(|arn| !arn.is_empty()) {
        let (bus, rule) = bus_and_rule(arn);
        let call = client.describe_rule().name(rule);
        match call.set_event_bus_name(bus.map(str::to_owned)).send().await {
            Ok(found) if found.state() == Some(&RuleState::Disabled) => disabled.push((bus, rule)),
            Ok(_) => count += 1,
            Err(failure) => {
                return Check::unread(
                    name,
                    &format!("EventBridge DescribeRule of {arn}"),
                    &failure,
                );
            }
        }
    }
    let rules: Vec<_> = disabled.iter().map(|(_, rule)| *rule).collect();
    let commands: Vec<_> = disabled
        .iter()
        .map(|(bus, rule)| enable(*bus, rule))
        .collect();
    Check::new(
        name,
        disabled.is_empty(),
        match disabled.is_empty() {
            true => format!("{count} are enabled"),
            false => format!(
                "disabled: {}. Without them nobody finds dead holders, or hears of them",
                rules.join(", ")
            ),
        },
        format!("type {}", commands.join("; type ")),
    )
}

/// Returns the command that enables a rule.
fn enable(bus: Option<&str>, rule: &str) -> String {
    let bus = bus.map(|bus| format!(" --event-bus-name {bus}"));
    let bus = bus.unwrap_or_default();
    format!("aws events enable-rule --name {rule}{bus}")
}

/// Returns the event bus of a rule, unless it is the default one, and the name of the rule.
fn bus_and_rule(arn: &str) -> (Option<&str>, &str) {
    let name = arn.split_once(":rule/").map_or(arn, |(_, name)| name);
    match name.rsplit_once('/') {
        Some((bus, rule)) => (Some(bus), rule),
        None => (None, name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_named_with_its_bus_unless_that_is_the_default_one() {
        let of = |name: &str| format!("arn:aws:events:eu-west-1:111122223333:rule/{name}");
        for (name, expected) in [
            ("lockstep-Sweep-1", (None, "lockstep-Sweep-1")),
            (
                "batch/lockstep-EventLog-1",
                (Some("batch"), "lockstep-EventLog-1"),
            ),
            (
                "aws.partner/a.com/b/lockstep-EventLog-1",
                (Some("aws.partner/a.com/b"), "lockstep-EventLog-1"),
            ),
        ] {
            assert_eq!(bus_and_rule(&of(name)), expected);
        }
    }

    #[test]
    fn a_rule_is_enabled_on_its_bus() {
        for (bus, expected) in [
            (None, "aws events enable-rule --name a"),
            (
                Some("batches"),
                "aws events enable-rule --name a --event-bus-name batches",
            ),
        ] {
            assert_eq!(enable(bus, "a"), expected);
        }
    }
}
