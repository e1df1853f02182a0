//! Schedules that start the runs of a lock, as a port: those of EventBridge Scheduler, and the rules of the default
//! event bus.

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
    /// Returns the schedule or the rule called `name`; `None` if there is none.
    ///
    /// A name by itself is that of a schedule in the group `default`, or else of a rule.
    fn find(
        &self,
        name: &ScheduleName,
    ) -> impl Future<Output = Result<Option<Schedule>, SchedulesError>> + Send;
}

/// An error of a call to EventBridge or its Scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchedulesError {
    /// The service gave no clear answer. A retry may succeed.
    Unavailable(String),
    /// The call is not allowed or not valid. A retry does not help.
    Denied(String),
}

/// What ticks, and what a tick starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The ARN of the schedule or the rule.
    pub arn: String,
    /// What a tick starts.
    pub targets: Vec<Target>,
}

/// A target of a schedule, as far as Step Functions may be concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The state machine, or one of its versions or aliases.
    pub state_machine: StateMachineArn,
    /// Its input.
    pub input: TargetInput,
}

/// The input of a target, before a tick fills it in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetInput {
    /// A text of EventBridge Scheduler, with context attributes such as `<aws.scheduler.scheduled-time>`
    /// (<https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule-context-attributes.html>).
    Attributes(String),
    /// A text of a rule, as it is.
    Constant(String),
    /// The event of a rule, or the part of it at this path.
    Event(String),
    /// A template of a rule, with the paths of its variables
    /// (<https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-transform-target-input.html>).
    Template {
        /// The paths of the variables.
        paths: BTreeMap<String, String>,
        /// The text, with each variable as `<name>`.
        template: String,
    },
}
