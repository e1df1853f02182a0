//! `lockstep doctor`: checks that a deployed stack can do its work.
//!
//! Each check covers something that a lock depends on and whose fault nothing else would show in time. A
//! check that could not be made counts as not passed, so that a caller without permissions never finds a
//! stack healthy.

mod locks;

use super::call_error::error_text;
use super::function::{ActError, Function, Surface, describe_stack, output_of, outputs};
use super::screen::{Screen, Tone};
use super::{finish, print};
use crate::args::operate::{DoctorArgs, Format};
use crate::exit::Exit;
use crate::platform::aws::{Loaded, Region};
use crate::platform::server_time::ServerTime;
use aws_config::SdkConfig;
use aws_sdk_cloudformation::types::Stack;
use aws_sdk_sqs::types::QueueAttributeName;
use lockstep::clock::{Clock, SystemClock};
use lockstep::domain::CLOCK_SKEW;
use serde::Serialize;
use serde_json::json;

/// The result of one check.
#[derive(Debug, Serialize)]
struct Check {
    /// What was checked.
    name: String,
    status: Status,
    /// What was found.
    found: String,
    /// What to do, unless the check passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum Status {
    Ok,
    /// The check itself could not be made.
    Unknown,
    Failed,
}

impl Check {
    fn new(name: &str, passed: bool, found: String, advice: &'static str) -> Self {
        let status = if passed { Status::Ok } else { Status::Failed };
        Self {
            name: name.into(),
            status,
            found,
            advice: (!passed).then_some(advice),
        }
    }

    fn unknown(name: &str, error: String) -> Self {
        Self {
            name: name.into(),
            status: Status::Unknown,
            found: error,
            advice: Some("check the permissions of your role, and the connection to AWS"),
        }
    }
}

/// Prints the checks of a stack, and what to do about those that failed.
pub(crate) async fn doctor(args: DoctorArgs) -> Exit {
    finish(attempt(&args).await)
}

async fn attempt(args: &DoctorArgs) -> Result<Exit, ActError> {
    let Loaded { sdk, region } = Function::sdk().await?;
    let described = describe_stack(&sdk, &args.stack).await?;
    let stack = &described.stack;
    let mut checks = vec![check_identity(&sdk).await, check_region_of_command(&region)];
    checks.extend([of_stack(stack), check_clock(&described.time)]);
    for (name, arn) in functions(stack) {
        checks.push(of_function(&sdk, name, arn).await);
    }
    checks.push(check_versions(&sdk, stack).await);
    checks.push(check_dead_letters(&sdk, stack).await);
    checks.extend(locks::check_locks(&sdk, stack).await);
    match args.output {
        Format::Json => print(&format!("{}\n", json!({ "checks": checks })))?,
        Format::Table => {
            let screen = Screen::new(false);
            print(
                &checks
                    .iter()
                    .map(|check| line(&screen, check))
                    .collect::<String>(),
            )?;
        }
    }
    let passed = checks.iter().all(|check| check.status == Status::Ok);
    Ok(if passed { Exit::OK } else { Exit::FAILED })
}

fn line(screen: &Screen, check: &Check) -> String {
    let Check { name, found, .. } = check;
    let (status, tone) = match check.status {
        Status::Ok => ("ok", Tone::Good),
        Status::Unknown => ("UNKNOWN", Tone::Warning),
        Status::Failed => ("FAILED", Tone::Bad),
    };
    let text = screen.lines(&format!("{status:7} {name}: {found}"), "        ");
    // The colour is added after the lines are wrapped, because its escape sequence has no width.
    let text = text.replacen(status, &screen.painted(tone, status), 1);
    let advice = check.advice.map(|advice| {
        let advice = screen.lines(&format!("        -> {advice}"), "           ");
        format!("\n{advice}")
    });
    format!("{text}{}\n", advice.unwrap_or_default())
}

/// Finds the identity of the caller. GetCallerIdentity needs no permission
/// (<https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html>).
async fn check_identity(sdk: &SdkConfig) -> Check {
    let name = "identity";
    let client = aws_sdk_sts::Client::new(sdk);
    match client.get_caller_identity().send().await {
        Ok(found) => {
            let arn = found.arn().unwrap_or("an unknown identity").into();
            Check::new(name, true, arn, "")
        }
        Err(failure) => Check::unknown(
            name,
            format!("STS GetCallerIdentity: {}", error_text(&failure)),
        ),
    }
}

fn check_region_of_command(region: &Region) -> Check {
    let Region { name, from } = region;
    Check::new("Region", true, format!("{name}, from {from}"), "")
}

/// Checks that the latest change of the stack is complete. During a change, or after one that failed, the
/// stack may have functions of two versions
/// (<https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/view-stack-events.html>).
fn of_stack(stack: &Stack) -> Check {
    let status = stack
        .stack_status()
        .map_or("unknown", |status| status.as_str());
    let settled = ["CREATE_COMPLETE", "UPDATE_COMPLETE", "IMPORT_COMPLETE"];
    Check::new(
        "stack",
        settled.contains(&status),
        status.into(),
        "see in the events of the stack in CloudFormation what failed, then deploy again",
    )
}

/// Checks the clock of this machine against that of AWS. `lockstep run` on this machine compares the clock
/// with the leases of other holders.
fn check_clock(time: &ServerTime) -> Check {
    let now = SystemClock.now();
    let Some(shown) = time.nearest(now) else {
        return Check::unknown(
            "clock",
            "the response of CloudFormation has no Date header".into(),
        );
    };
    let apart = now.millis_since(shown).max(shown.millis_since(now));
    Check::new(
        "clock",
        apart <= CLOCK_SKEW.millis(),
        format!("differs from the clock of AWS by at least {apart} ms"),
        "synchronize the clock of this machine, for example by chrony with 169.254.169.123",
    )
}

/// Returns the name and the ARN of each function in the outputs of the stack.
fn functions(stack: &Stack) -> impl Iterator<Item = (&str, &str)> {
    outputs(stack).filter_map(|(name, value)| Some((name.strip_suffix("FunctionArn")?, value)))
}

/// Checks the state of a function and of its latest update
/// (<https://docs.aws.amazon.com/lambda/latest/dg/functions-states.html>).
async fn of_function(sdk: &SdkConfig, name: &str, arn: &str) -> Check {
    let name = format!("function {name}");
    let client = aws_sdk_lambda::Client::new(sdk);
    let found = client
        .get_function_configuration()
        .function_name(arn)
        .send()
        .await;
    let found = match found {
        Ok(found) => found,
        Err(failure) => return Check::unknown(&name, error_text(&failure)),
    };
    let state = found.state().map_or("Active", |state| state.as_str());
    let update = found
        .last_update_status()
        .map_or("Successful", |update| update.as_str());
    let reason = found.state_reason().or(found.last_update_status_reason());
    let modified = found.last_modified().unwrap_or("an unknown time");
    let reason = reason
        .map(|reason| format!(", {reason}"))
        .unwrap_or_default();
    Check::new(
        &name,
        ["Active", "Inactive"].contains(&state) && update == "Successful",
        format!("{state}, last changed at {modified}{reason}"),
        "deploy the stack again, or see the reason in the Lambda console",
    )
}

/// Checks that the command, the template and the functions have one version. All functions are built and
/// deployed together, so the version of view stands for all of them.
async fn check_versions(sdk: &SdkConfig, stack: &Stack) -> Check {
    let name = "versions";
    let view = match Function::of_stack(sdk, stack, Surface::View) {
        Ok(view) => view,
        Err(error) => return Check::unknown(name, error.text),
    };
    let answer = match view.act(&json!({ "act": "version" })).await {
        Ok(answer) => answer,
        Err(error) => return Check::unknown(name, error.text),
    };
    let functions = answer["version"].as_str().unwrap_or("unknown");
    let template = output_of(stack, "LockstepVersion").unwrap_or("unknown");
    versions(env!("CARGO_PKG_VERSION"), template, functions)
}

fn versions(command: &str, template: &str, functions: &str) -> Check {
    Check::new(
        "versions",
        [template, functions] == [command; 2],
        format!("command {command}, template {template}, functions {functions}"),
        "build and deploy the template and the functions of one version, and use the command of that version",
    )
}

/// Checks that no event is in the dead-letter queue of the reaper. The sweep, which runs every minute, does
/// what the reaper would have done on such an event.
async fn check_dead_letters(sdk: &SdkConfig, stack: &Stack) -> Check {
    let name = "dead letters of the reaper";
    let Some(url) = output_of(stack, "RecoveryDeadLettersUrl") else {
        return Check::unknown(
            name,
            "the stack has no output RecoveryDeadLettersUrl".into(),
        );
    };
    let client = aws_sdk_sqs::Client::new(sdk);
    let attribute = QueueAttributeName::ApproximateNumberOfMessages;
    let call = client.get_queue_attributes().queue_url(url);
    let found = match call.attribute_names(attribute.clone()).send().await {
        Ok(found) => found,
        Err(failure) => return Check::unknown(name, error_text(&failure)),
    };
    let count = found.attributes().and_then(|of| of.get(&attribute));
    let count = count.map_or("0", String::as_str);
    Check::new(
        name,
        count == "0",
        format!("{count} messages"),
        "read the messages and the log of the reaper; purge the queue when the cause is gone",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstep::domain::Timestamp;

    #[test]
    fn a_clock_may_be_as_far_off_as_the_protocol_allows() {
        let now = SystemClock.now().millis();
        let [slow, on_time, fast] = [now - 5_000, now, now + 5_000].map(Timestamp::from_millis);
        for (date, status) in [
            (Some(on_time), Status::Ok),
            (Some(slow), Status::Failed),
            (Some(fast), Status::Failed),
            (None, Status::Unknown),
        ] {
            let time = date.map(ServerTime::showing).unwrap_or_default();
            assert_eq!(check_clock(&time).status, status, "{date:?}");
        }
    }

    #[test]
    fn a_stack_whose_update_failed_is_not_in_order() {
        for (status, expected) in [
            ("UPDATE_COMPLETE", Status::Ok),
            ("UPDATE_ROLLBACK_COMPLETE", Status::Failed),
            ("UPDATE_IN_PROGRESS", Status::Failed),
        ] {
            let created = aws_smithy_types::DateTime::from_secs(0);
            let stack = Stack::builder().stack_status(status.into());
            let stack = stack.stack_name("lockstep").creation_time(created).build();

            assert_eq!(of_stack(&stack).status, expected, "{status}");
        }
    }

    #[test]
    fn command_template_and_functions_are_of_one_version() {
        for (template, functions, status) in [
            ("1.2.0", "1.2.0", Status::Ok),
            ("1.1.0", "1.2.0", Status::Failed),
            ("1.2.0", "1.1.0", Status::Failed),
            ("unknown", "1.2.0", Status::Failed),
        ] {
            let check = versions("1.2.0", template, functions);
            assert_eq!(check.status, status, "{}", check.found);
        }
    }

    #[test]
    fn a_check_that_failed_says_what_to_do() {
        let check = Check::new("stack", false, "ROLLBACK_COMPLETE".into(), "deploy again");

        let expected = "FAILED  stack: ROLLBACK_COMPLETE\n        -> deploy again\n";
        let screen = Screen::plain(Some(120), "2026-03-01T06:00:00Z");
        assert_eq!(line(&screen, &check), expected);
    }
}
