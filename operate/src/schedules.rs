//! The port to the schedules that start the runs of a lock: schedules of EventBridge Scheduler, and rules of
//! the default event bus.

#[cfg(feature = "aws")]
pub mod aws;
mod input;
mod name;

pub(crate) use input::Tick;
pub use name::ScheduleName;

use auto_impl::auto_impl;
use lockstep_core::domain::StateMachineArn;
use std::collections::BTreeMap;

/// The calls to EventBridge and its Scheduler.
#[auto_impl(&)]
pub trait Schedules: Send + Sync {
    /// Returns the schedule or the rule called `name`; `None` if neither exists.
    ///
    /// A name without a group is looked up first as a schedule in the group `default`, and then as a rule.
    fn find(
        &self,
        name: &ScheduleName,
    ) -> impl Future<Output = Result<Option<Schedule>, SchedulesError>> + Send;
}

/// An error of a call to EventBridge or its Scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchedulesError {
    /// The call failed, or its outcome is not known. A retry may succeed.
    Unavailable(String),
    /// The call is not allowed or not valid. A retry does not help.
    Denied(String),
}

/// A schedule or a rule, and what a tick of it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The ARN of the schedule or the rule.
    pub arn: String,
    /// The state machines that a tick starts. Other targets are left out.
    pub targets: Vec<Target>,
}

/// A target of a schedule that is a state machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The state machine, or one of its versions or aliases.
    pub state_machine: StateMachineArn,
    /// The input of the target.
    pub input: TargetInput,
}

/// The input of a target as it is configured, before a tick fills it in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetInput {
    /// A text of EventBridge Scheduler, with context attributes such as `<aws.scheduler.scheduled-time>`
    /// (<https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule-context-attributes.html>).
    Attributes(String),
    /// A constant text of a rule.
    Constant(String),
    /// The part at this path of the event of a rule; the path `$` is the whole event.
    Event(String),
    /// A template of a rule, with the paths of its variables
    /// (<https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-transform-target-input.html>).
    Template {
        /// The path of each variable in the event.
        paths: BTreeMap<String, String>,
        /// The text, with each variable as `<name>`.
        template: String,
    },
}
