//! The adapter of the port to EventBridge and EventBridge Scheduler.

use super::{Schedule, ScheduleName, Schedules, SchedulesError, Target, TargetInput};
use aws_config::SdkConfig;
use aws_sdk_eventbridge::types::Target as RuleTarget;
use aws_sdk_scheduler::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_scheduler::operation::get_schedule::GetScheduleOutput;
use lockstep::failure::{is_refusal, text};
use lockstep_core::domain::StateMachineArn;
use serde_json::Value;

/// The error code of both services for a name that does not exist.
const MISSING: &str = "ResourceNotFoundException";

/// Looks up schedules by GetSchedule, DescribeRule and ListTargetsByRule. The clients are built for each
/// call, because few requests to the function need them.
#[derive(Clone, Debug)]
pub struct EventBridgeSchedules(SdkConfig);

impl EventBridgeSchedules {
    /// Creates the adapter. Its clients have the settings of `sdk`.
    #[must_use]
    pub fn from_sdk(sdk: &SdkConfig) -> Self {
        Self(sdk.clone())
    }

    async fn schedule(&self, group: &str, name: &str) -> Result<Option<Schedule>, SchedulesError> {
        let client = aws_sdk_scheduler::Client::new(&self.0);
        let call = client.get_schedule().group_name(group).name(name);
        match call.send().await {
            Ok(found) => Ok(Some(schedule_of(&found))),
            Err(error) if error.code() == Some(MISSING) => Ok(None),
            Err(error) => Err(translate("GetSchedule", &error)),
        }
    }

    async fn rule(&self, name: &str) -> Result<Option<Schedule>, SchedulesError> {
        let client = aws_sdk_eventbridge::Client::new(&self.0);
        let rule = match client.describe_rule().name(name).send().await {
            Ok(rule) => rule,
            Err(error) if error.code() == Some(MISSING) => return Ok(None),
            Err(error) => return Err(translate("DescribeRule", &error)),
        };
        if rule.schedule_expression().unwrap_or_default().is_empty() {
            let why = format!(
                "the rule {name} has no schedule expression, so the event that it would pass is not known"
            );
            return Err(SchedulesError::Denied(why));
        }
        let (mut targets, mut next) = (Vec::new(), None);
        loop {
            let call = client.list_targets_by_rule().rule(name);
            let page = call.set_next_token(next).send().await;
            let page = page.map_err(|error| translate("ListTargetsByRule", &error))?;
            targets.extend(page.targets().iter().filter_map(target_of));
            next = page.next_token;
            if next.is_none() {
                break;
            }
        }
        let arn = rule.arn.unwrap_or_default();
        Ok(Some(Schedule { arn, targets }))
    }
}

impl Schedules for EventBridgeSchedules {
    async fn find(&self, name: &ScheduleName) -> Result<Option<Schedule>, SchedulesError> {
        let mut found = None;
        if let Some((group, name)) = name.in_scheduler() {
            found = self.schedule(group, name).await?;
        }
        if let (None, Some(rule)) = (&found, name.of_rule()) {
            found = self.rule(rule).await?;
        }
        Ok(found.filter(|schedule| name.is_of(&schedule.arn)))
    }
}

/// Converts a schedule. Its target counts if it is a state machine, or the universal target for
/// StartExecution, whose input names the state machine
/// (<https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-targets-universal.html>).
fn schedule_of(found: &GetScheduleOutput) -> Schedule {
    let target = found.target().and_then(|target| {
        let input = target.input()?;
        if let Ok(state_machine) = StateMachineArn::new(target.arn()) {
            return Some((state_machine, input.to_owned()));
        }
        if !target
            .arn()
            .ends_with(":scheduler:::aws-sdk:sfn:startExecution")
        {
            return None;
        }
        let request: Value = serde_json::from_str(input).ok()?;
        let state_machine = StateMachineArn::new(request["StateMachineArn"].as_str()?).ok()?;
        let input = request["Input"].as_str().unwrap_or("{}");
        Some((state_machine, input.to_owned()))
    });
    let target = target.map(|(state_machine, input)| Target {
        state_machine,
        input: TargetInput::Attributes(input),
    });
    Schedule {
        arn: found.arn().unwrap_or_default().into(),
        targets: target.into_iter().collect(),
    }
}

/// Converts a target of a rule; `None` if it is not a state machine. A target without an input gets the
/// event.
fn target_of(target: &RuleTarget) -> Option<Target> {
    let state_machine = StateMachineArn::new(target.arn()).ok()?;
    let input = match (target.input(), target.input_transformer()) {
        (Some(text), _) => TargetInput::Constant(text.into()),
        (None, Some(transformer)) => TargetInput::Template {
            paths: transformer
                .input_paths_map()
                .into_iter()
                .flatten()
                .map(|(name, path)| (name.clone(), path.clone()))
                .collect(),
            template: transformer.input_template().into(),
        },
        (None, None) => TargetInput::Event(target.input_path().unwrap_or("$").into()),
    };
    Some(Target {
        state_machine,
        input,
    })
}

fn translate<E>(call: &str, error: &SdkError<E>) -> SchedulesError
where
    E: std::error::Error + ProvideErrorMetadata + 'static,
{
    let why = format!("{call}: {}", text(error));
    match error.code() {
        Some("ValidationException") => SchedulesError::Denied(why),
        code if is_refusal(code) => SchedulesError::Denied(why),
        _ => SchedulesError::Unavailable(why),
    }
}
