//! `lockstep doctor`: checks that a deployed stack can do its work.
//!
//! Each check covers something that a lock depends on and whose fault nothing else would show in time. A
//! check that could not be made counts as not passed, so that a caller without permissions never finds a
//! stack healthy.

mod check;
mod locks;
mod logs;
mod mails;
mod parameters;
mod stopped;
mod task;
mod versions;

use super::act_error::ActError;
use super::call_error::error_text;
use super::function::{Function, Surface};
use super::screen::Screen;
use super::stack::{Origin, describe_stack, output_of, outputs, region};
use super::{finish, print};
use crate::args::operate::{DoctorArgs, Format};
use crate::exit::Exit;
use crate::platform::aws::{Loaded, Region};
use crate::platform::server_time::ServerTime;
use aws_config::SdkConfig;
use aws_sdk_cloudformation::types::Stack;
use aws_sdk_sqs::types::QueueAttributeName;
use check::{Check, Status};
use lockstep::clock::{Clock, SystemClock};
use lockstep::domain::CLOCK_SKEW;
use parameters::Parameters;
use serde_json::json;
use versions::{Versions, version_of_definition};

/// Prints the checks of a stack, and what to do about those that failed.
pub(crate) async fn doctor(args: DoctorArgs) -> Exit {
    finish(attempt(&args).await)
}

async fn attempt(args: &DoctorArgs) -> Result<Exit, ActError> {
    let Loaded { sdk, region } = Function::sdk().await?;
    let described = describe_stack(&sdk, &args.stack, "").await;
    let described = described.map_err(ActError::with_how_to_deploy)?;
    let stack = &described.stack;
    check_origin(stack, self::region(&sdk))?;
    let mut checks = vec![check_identity(&sdk).await, check_region_of_command(&region)];
    checks.extend([of_stack(stack), check_clock(&described.time)]);
    // A stack whose first deploy has not succeeded has nothing else to check.
    if !stack.outputs().is_empty() {
        checks.extend(check_parts(&sdk, stack, args).await);
    }
    match args.output {
        Format::Json => print(&format!("{}\n", json!({ "checks": checks })))?,
        Format::Table => {
            let screen = Screen::new(false);
            let lines = checks.iter().map(|check| check.text(&screen));
            print(&lines.collect::<String>())?;
        }
    }
    let passed = checks.iter().all(|check| check.status == Status::Ok);
    Ok(if passed { Exit::OK } else { Exit::FAILED })
}

/// Checks the parts of a stack that has been deployed.
async fn check_parts(sdk: &SdkConfig, stack: &Stack, args: &DoctorArgs) -> Vec<Check> {
    let mut checks = Vec::new();
    for (name, arn) in functions(stack) {
        checks.push(of_function(sdk, name, arn).await);
    }
    checks.push(stopped::check_concurrency(sdk, functions(stack)).await);
    checks.push(stopped::check_rules(sdk, stack).await);
    checks.extend(check_definition(sdk, stack).await);
    checks.push(logs::check_log_of_events(sdk, stack).await);
    checks.push(mails::check_mails(sdk, stack).await);
    let listed = locks::list(sdk, stack).await;
    let parameters = Parameters(stack);
    let locks = listed.as_ref().ok().map(|listed| &listed.locks[..]);
    checks.push(parameters::check_starts(parameters, locks));
    checks.push(parameters::check_places(parameters));
    if let Some(given) = &args.task_definition {
        let cluster = args.cluster.as_deref();
        checks.extend(task::check_task(sdk, parameters, given, cluster).await);
    }
    checks.push(check_dead_letters(sdk, stack).await);
    checks.extend(locks::check_locks(listed));
    checks
}

/// Checks that the stack is one of Lockstep, of which at least the first deploy has begun.
///
/// # Errors
/// [`ActError`] that names the stack.
fn check_origin(stack: &Stack, region: &str) -> Result<(), ActError> {
    match Origin::of(stack) {
        Origin::Other if status_of(stack) != IN_REVIEW => {
            let name = stack.stack_name().unwrap_or_default();
            let text = format!(
                "the stack {name} in {region} is no stack of Lockstep: give the name of one by --stack"
            );
            Err(ActError::new(Exit::CONFIGURATION, text))
        }
        _ => Ok(()),
    }
}

fn status_of(stack: &Stack) -> &str {
    let status = stack.stack_status();
    status.map_or("unknown", |status| status.as_str())
}

/// Finds the identity of the caller. GetCallerIdentity needs no permission
/// (<https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html>).
async fn check_identity(sdk: &SdkConfig) -> Check {
    let name = "identity";
    let client = aws_sdk_sts::Client::new(sdk);
    match client.get_caller_identity().send().await {
        Ok(found) => {
            let arn = found.arn().unwrap_or("an unknown identity");
            Check::passed(name, arn)
        }
        Err(failure) => Check::unknown(
            name,
            format!("STS GetCallerIdentity: {}", error_text(&failure)),
        ),
    }
}

fn check_region_of_command(region: &Region) -> Check {
    let Region { name, from } = region;
    Check::passed("Region", format!("{name}, from {from}"))
}

/// The status of a stack that has a change set and no resources yet: the change set was not executed.
const IN_REVIEW: &str = "REVIEW_IN_PROGRESS";

/// Checks that the latest change of the stack is complete. During a change, or after one that failed, the
/// stack may have functions of two versions
/// (<https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/view-stack-events.html>).
fn of_stack(stack: &Stack) -> Check {
    let status = status_of(stack);
    let name = stack.stack_name().unwrap_or_default();
    let settled = [
        "CREATE_COMPLETE",
        "UPDATE_COMPLETE",
        // All resources are changed, and those that they replace are being deleted.
        "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS",
        "IMPORT_COMPLETE",
    ];
    let advice = match status {
        IN_REVIEW => "deploy it: its first change set was created and not executed".into(),
        "CREATE_FAILED" | "ROLLBACK_COMPLETE" | "ROLLBACK_FAILED" | "DELETE_FAILED" => format!(
            "see in the events of the stack in CloudFormation what failed; type sam delete --stack-name {name}, which \
             keeps the lock table, then deploy again"
        ),
        "UPDATE_ROLLBACK_FAILED" => format!(
            "see in the events of the stack in CloudFormation what failed; type aws cloudformation \
             continue-update-rollback --stack-name {name}, then deploy again"
        ),
        status if status.ends_with("_IN_PROGRESS") => {
            "a change of the stack is under way: wait for its end, then run lockstep doctor again"
                .into()
        }
        _ => {
            "see in the events of the stack in CloudFormation what failed, then deploy again".into()
        }
    };
    Check::new("stack", settled.contains(&status), status, advice)
}

/// Checks the clock of this machine against that of AWS. `lockstep run` on this machine compares the clock
/// with the leases of other holders.
fn check_clock(time: &ServerTime) -> Check {
    let now = SystemClock.now();
    let Some(shown) = time.nearest(now) else {
        return Check::unknown("clock", "the response of CloudFormation has no Date header");
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
        Err(failure) => {
            let call = format!("Lambda GetFunctionConfiguration of {arn}");
            return Check::unread(name, &call, &failure);
        }
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
        name,
        ["Active", "Inactive"].contains(&state) && update == "Successful",
        format!("{state}, last changed at {modified}{reason}"),
        "deploy the stack again, or see the reason in the Lambda console",
    )
}

/// Checks the versions of all parts, and the logging of exclusive-run. Its description has both the
/// definition and the logging.
async fn check_definition(sdk: &SdkConfig, stack: &Stack) -> [Check; 2] {
    let described = logs::describe_exclusive_run(sdk, stack, "log of exclusive-run").await;
    let definition = described.as_ref().ok();
    let definition = definition.map(|found| version_of_definition(found.definition()));
    let versions = check_versions(sdk, stack, definition.as_deref()).await;
    let logging = match described {
        Ok(found) => logs::check_log_of_errors(found.logging_configuration()),
        Err(check) => check,
    };
    [versions, logging]
}

async fn check_versions(sdk: &SdkConfig, stack: &Stack, definition: Option<&str>) -> Check {
    let answer = match Function::of_stack(sdk, stack, Surface::View) {
        Ok(view) => view.act(&json!({ "act": "version" })).await,
        Err(error) => Err(error),
    };
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return Check::unanswered("versions", error),
    };
    let versions = Versions {
        command: env!("CARGO_PKG_VERSION"),
        template: output_of(stack, "LockstepVersion").unwrap_or("unknown"),
        functions: answer["version"].as_str().unwrap_or("unknown"),
        definition,
    };
    versions.check()
}

/// Checks that no event is in the dead-letter queue of the reaper. The sweep, which runs every minute, does
/// what the reaper would have done on such an event.
async fn check_dead_letters(sdk: &SdkConfig, stack: &Stack) -> Check {
    let name = "dead letters of the reaper";
    let Some(url) = output_of(stack, "RecoveryDeadLettersUrl") else {
        return Check::without_output(name, "RecoveryDeadLettersUrl");
    };
    let client = aws_sdk_sqs::Client::new(sdk);
    let attribute = QueueAttributeName::ApproximateNumberOfMessages;
    let call = client.get_queue_attributes().queue_url(url);
    let found = match call.attribute_names(attribute.clone()).send().await {
        Ok(found) => found,
        Err(failure) => {
            return Check::unread(name, &format!("SQS GetQueueAttributes of {url}"), &failure);
        }
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
    fn a_stack_is_in_order_when_its_latest_change_is_complete() {
        for (status, expected, advice) in [
            ("UPDATE_COMPLETE", Status::Ok, ""),
            ("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", Status::Ok, ""),
            (
                "UPDATE_ROLLBACK_COMPLETE",
                Status::Failed,
                "then deploy again",
            ),
            (
                "ROLLBACK_COMPLETE",
                Status::Failed,
                "sam delete --stack-name lockstep",
            ),
            (
                "UPDATE_ROLLBACK_FAILED",
                Status::Failed,
                "continue-update-rollback --stack-name lockstep",
            ),
            ("UPDATE_IN_PROGRESS", Status::Failed, "wait"),
            ("REVIEW_IN_PROGRESS", Status::Failed, "deploy it"),
        ] {
            let created = aws_smithy_types::DateTime::from_secs(0);
            let stack = Stack::builder().stack_status(status.into());
            let stack = stack.stack_name("lockstep").creation_time(created).build();

            let check = of_stack(&stack);

            assert_eq!(check.status, expected, "{status}");
            let text = check.text(&Screen::plain(None, "2026-03-01T06:00:00Z"));
            assert!(text.contains(advice), "{text}");
        }
    }
}
