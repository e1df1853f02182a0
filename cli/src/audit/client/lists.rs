//! The calls for the lists that an audit reads. Each call returns one page.

use super::Client;
use crate::audit::api::{Api, CallError};
use crate::audit::found::{Machine, machine_of};
use crate::audit::run::{Run, Status};
use crate::audit::schedule::{Schedule, Source};
use aws_sdk_scheduler::types::FlexibleTimeWindow;
use aws_sdk_sfn::types::{ExecutionListItem, StateMachineType};
use aws_smithy_types::DateTime;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One page of a list, and the token for the next page.
#[derive(Debug)]
pub(in crate::audit) struct Page<T> {
    pub(in crate::audit) items: Vec<T>,
    pub(in crate::audit) next: Option<String>,
}

/// A schedule of EventBridge Scheduler that may start a state machine: its target is a state machine, or the
/// universal target for StartExecution.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::audit) struct Listed {
    pub(in crate::audit) group: String,
    pub(in crate::audit) name: String,
    /// The state machine; `None` for the universal target, whose input names the state machine.
    pub(in crate::audit) machine: Option<String>,
}

/// A rule of the default bus.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::audit) struct Rule {
    pub(in crate::audit) name: String,
    pub(in crate::audit) expression: Option<String>,
    pub(in crate::audit) enabled: bool,
}

impl Client {
    /// Lists state machines
    /// (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_ListStateMachines.html>).
    pub(in crate::audit) async fn machines(
        &mut self,
        token: Option<String>,
    ) -> Result<Page<Machine>, CallError> {
        let call = self.sfn.list_state_machines().max_results(1_000);
        let call = call.set_next_token(token.clone());
        let send = || call.clone().send();
        let page = self
            .call(Api::ListStateMachines, token.is_some(), send)
            .await?;
        let machine = |found: &aws_sdk_sfn::types::StateMachineListItem| Machine {
            arn: found.state_machine_arn().into(),
            name: found.name().into(),
            is_express: *found.r#type() == StateMachineType::Express,
        };
        Ok(Page {
            items: page.state_machines().iter().map(machine).collect(),
            next: page.next_token,
        })
    }

    /// Lists the executions of a state machine, the latest first
    /// (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_ListExecutions.html>).
    pub(in crate::audit) async fn runs(
        &mut self,
        machine: &str,
        token: Option<String>,
    ) -> Result<Page<Run>, CallError> {
        let call = self.sfn.list_executions().state_machine_arn(machine);
        let call = call.max_results(1_000).set_next_token(token.clone());
        let send = || call.clone().send();
        let page = self
            .call(Api::ListExecutions, token.is_some(), send)
            .await?;
        Ok(Page {
            items: page.executions().iter().map(run_of).collect(),
            next: page.next_token,
        })
    }

    /// Lists the rules of the default event bus, without those that AWS services manage
    /// (<https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_ListRules.html>).
    pub(in crate::audit) async fn rules(
        &mut self,
        token: Option<String>,
    ) -> Result<Page<Rule>, CallError> {
        let call = self.events.list_rules().set_next_token(token.clone());
        let send = || call.clone().send();
        let page = self.call(Api::ListRules, token.is_some(), send).await?;
        // Rules that an AWS service manages start no state machine of a user.
        let own = page
            .rules()
            .iter()
            .filter(|rule| rule.managed_by().is_none());
        let rule = |found: &aws_sdk_eventbridge::types::Rule| Rule {
            name: found.name().unwrap_or_default().into(),
            expression: found.schedule_expression().map(str::to_owned),
            enabled: found
                .state()
                .is_none_or(|state| state.as_str() != "DISABLED"),
        };
        Ok(Page {
            items: own.map(rule).collect(),
            next: page.next_token,
        })
    }

    /// Lists the ARNs of the targets of a rule
    /// (<https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_ListTargetsByRule.html>).
    pub(in crate::audit) async fn targets(
        &mut self,
        rule: &str,
        token: Option<String>,
    ) -> Result<Page<String>, CallError> {
        let call = self.events.list_targets_by_rule().rule(rule);
        let call = call.set_next_token(token.clone());
        let send = || call.clone().send();
        let api = Api::ListTargetsByRule;
        let page = self.call(api, token.is_some(), send).await?;
        let targets = page.targets().iter();
        Ok(Page {
            items: targets.map(|target| target.arn().to_owned()).collect(),
            next: page.next_token,
        })
    }

    /// Lists the schedules that may start a state machine
    /// (<https://docs.aws.amazon.com/scheduler/latest/APIReference/API_ListSchedules.html>).
    pub(in crate::audit) async fn schedules(
        &mut self,
        token: Option<String>,
    ) -> Result<Page<Listed>, CallError> {
        let call = self.scheduler.list_schedules().max_results(100);
        let call = call.set_next_token(token.clone());
        let send = || call.clone().send();
        let page = self.call(Api::ListSchedules, token.is_some(), send).await?;
        let listed = |found: &aws_sdk_scheduler::types::ScheduleSummary| {
            let target = found.target()?.arn();
            let machine = machine_of(target);
            (machine.is_some() || is_start(target)).then(|| Listed {
                group: found.group_name().unwrap_or("default").into(),
                name: found.name().unwrap_or_default().into(),
                machine,
            })
        };
        Ok(Page {
            items: page.schedules().iter().filter_map(listed).collect(),
            next: page.next_token,
        })
    }

    /// Reads a schedule. The page is empty if the schedule starts no state machine
    /// (<https://docs.aws.amazon.com/scheduler/latest/APIReference/API_GetSchedule.html>).
    pub(in crate::audit) async fn schedule(
        &mut self,
        listed: &Listed,
    ) -> Result<Page<Schedule>, CallError> {
        let call = self.scheduler.get_schedule().name(&listed.name);
        let call = call.group_name(&listed.group);
        let send = || call.clone().send();
        let found = self.call(Api::GetSchedule, false, send).await?;
        let target = found.target();
        let started = || machine_in(target?.input()?);
        let machine = listed.machine.clone().or_else(started);
        let schedule = machine.map(|machine| Schedule {
            name: listed.full_name(),
            source: Source::Scheduler,
            machine,
            expression: found.schedule_expression().map(str::to_owned),
            timezone: found.schedule_expression_timezone().map(str::to_owned),
            enabled: found
                .state()
                .is_none_or(|state| state.as_str() != "DISABLED"),
            from: found.start_date().and_then(millis),
            to: found.end_date().and_then(millis),
            changed: found.last_modification_date().and_then(millis),
            flexible: flexible(found.flexible_time_window()),
        });
        Ok(Page {
            items: schedule.into_iter().collect(),
            next: None,
        })
    }
}

impl Listed {
    /// Returns the name of the schedule with its group.
    pub(in crate::audit) fn full_name(&self) -> String {
        format!("{}/{}", self.group, self.name)
    }
}

/// Returns the flexible time window in milliseconds. EventBridge Scheduler gives it in minutes.
fn flexible(window: Option<&FlexibleTimeWindow>) -> u64 {
    let minutes = window.and_then(FlexibleTimeWindow::maximum_window_in_minutes);
    minutes
        .and_then(|minutes| u64::try_from(minutes).ok())
        .unwrap_or(0)
        * 60_000
}

fn run_of(found: &ExecutionListItem) -> Run {
    Run {
        name: found.name().into(),
        start: millis(found.start_date()).unwrap_or(0),
        stop: found.stop_date().and_then(millis),
        status: Status::of(found.status().as_str()),
    }
}

/// Returns milliseconds since 1970, rounded to the nearest. Step Functions sends seconds as a binary
/// fraction, which may be slightly below the millisecond that it stands for.
fn millis(time: &DateTime) -> Option<u64> {
    let rounded = (time.as_nanos() + 500_000).div_euclid(1_000_000);
    rounded.try_into().ok()
}

/// Returns whether `arn` is the universal target that calls StartExecution
/// (<https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-targets-universal.html>).
fn is_start(arn: &str) -> bool {
    arn.starts_with("arn:") && arn.ends_with(":scheduler:::aws-sdk:sfn:startExecution")
}

/// Returns the state machine in the input of a universal target.
fn machine_in(input: &str) -> Option<String> {
    let input: Value = serde_json::from_str(input).ok()?;
    machine_of(input["StateMachineArn"].as_str()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_the_millisecond_nearest_to_its_fraction() {
        for expected in [
            0,
            1,
            1_764_225_600_057,
            1_764_225_600_999,
            1_764_225_601_000,
        ] {
            let sent = DateTime::from_secs_f64(expected as f64 / 1_000.0);

            assert_eq!(millis(&sent), Some(expected));
        }
        assert_eq!(millis(&DateTime::from_secs(-1)), None);
    }

    #[test]
    fn a_universal_target_names_its_state_machine_in_the_input() {
        let arn = "arn:aws-us-gov:states:us-gov-west-1:1:stateMachine:etl";
        let input = format!(r#"{{"StateMachineArn": "{arn}:PROD", "Input": "{{}}"}}"#);

        assert!(is_start(
            "arn:aws-us-gov:scheduler:::aws-sdk:sfn:startExecution"
        ));
        assert!(!is_start(
            "arn:aws:scheduler:::aws-sdk:sfn:startSyncExecution"
        ));
        assert!(!is_start("arn:aws:scheduler:::aws-sdk:sqs:sendMessage"));
        assert_eq!(machine_in(&input).as_deref(), Some(arn));
        for other in [
            "",
            "{}",
            r#"{"StateMachineArn": 1}"#,
            "<aws.scheduler.scheduled-time>",
        ] {
            assert_eq!(machine_in(other), None, "{other}");
        }
    }
}
