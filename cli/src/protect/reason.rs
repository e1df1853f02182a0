//! Reasons why a task is not protected, with their retry policy and advice for the operator.

use std::fmt;
use thiserror::Error;

/// Why protection could not be set or cleared.
///
/// The failures of the API:
/// <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/api_failures_messages.html>, the
/// responses of the agent:
/// <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-scale-in-protection-endpoint.html>.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// `TASK_NOT_VALID`: the task belongs to no service.
    TaskNotValid,
    /// `DEPLOYMENT_BLOCKED`: during a deployment, more tasks would be protected than are desired.
    DeploymentBlocked,
    /// `THROTTLED`, or the API throttled the agent's call.
    Throttled,
    /// The task role lacks the permission, or there is no task role.
    AccessDenied,
    /// The agent or ECS rejected the request as invalid.
    Rejected,
    /// The agent or ECS does not know the task.
    Gone,
    /// `RequestCanceled`: the agent's call to ECS timed out. The outcome is unknown.
    RequestCanceled,
    /// ECS or the agent failed. The outcome is unknown.
    ServerError,
    /// There is no connection to the agent, so no request was sent.
    Unreachable,
    /// No response came. The outcome is unknown.
    NoAnswer,
    /// The response cannot be parsed. The outcome is unknown.
    Unreadable,
    /// This process is shutting down and sets no protection any more.
    ShuttingDown,
}

/// When to call again after a refusal, while work is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RetryPolicy {
    /// With exponential back-off.
    BackingOff,
    /// Every few seconds, because the deployment ends without this process.
    Steadily,
    /// When other work begins, because only an operator can remove the reason.
    NextBegin,
    /// Never, because the reason cannot go away while this task lives.
    Never,
}

impl Reason {
    /// Returns the name for the log. It is the name that ECS uses, if ECS has one.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::TaskNotValid => "TASK_NOT_VALID",
            Self::DeploymentBlocked => "DEPLOYMENT_BLOCKED",
            Self::Throttled => "THROTTLED",
            Self::AccessDenied => "AccessDenied",
            Self::Rejected => "Rejected",
            Self::Gone => "Gone",
            Self::RequestCanceled => "RequestCanceled",
            Self::ServerError => "ServerError",
            Self::Unreachable => "Unreachable",
            Self::NoAnswer => "NoAnswer",
            Self::Unreadable => "Unreadable",
            Self::ShuttingDown => "ShuttingDown",
        }
    }

    /// Returns what an operator can do, in one sentence.
    pub(crate) const fn advice(self) -> &'static str {
        match self {
            Self::TaskNotValid => {
                "Remove --protect: only tasks of an ECS service can be protected, and nothing \
                 scales this one in."
            }
            Self::DeploymentBlocked => {
                "Wait for the deployment, or raise the desired count above the number of protected \
                 tasks."
            }
            Self::Throttled => {
                "It is retried; if it persists, run fewer and longer jobs with protection."
            }
            Self::AccessDenied => {
                "Give the task a task role that allows ecs:UpdateTaskProtection and \
                 ecs:GetTaskProtection on it."
            }
            Self::Rejected => {
                "Check the detail and ECS_AGENT_URI: the agent rejected the request as invalid."
            }
            Self::Gone => "Check the state of the task: ECS does not know it.",
            Self::RequestCanceled | Self::ServerError => {
                "It is retried; if it persists, check the health of ECS in this region."
            }
            Self::Unreachable | Self::NoAnswer => {
                "It is retried; if it persists, check that the container reaches ECS_AGENT_URI \
                 without a proxy."
            }
            Self::Unreadable => {
                "It is retried; if it persists, check that ECS_AGENT_URI points to the ECS agent."
            }
            Self::ShuttingDown => "Begin the work in another task.",
        }
    }

    /// Returns when to try again to set protection.
    pub(crate) const fn retry_policy(self) -> RetryPolicy {
        match self {
            Self::DeploymentBlocked => RetryPolicy::Steadily,
            Self::AccessDenied | Self::Rejected | Self::Gone => RetryPolicy::NextBegin,
            Self::TaskNotValid | Self::ShuttingDown => RetryPolicy::Never,
            Self::Throttled
            | Self::RequestCanceled
            | Self::ServerError
            | Self::Unreachable
            | Self::NoAnswer
            | Self::Unreadable => RetryPolicy::BackingOff,
        }
    }

    /// Returns whether the call may have succeeded.
    pub(crate) const fn is_open(self) -> bool {
        matches!(
            self,
            Self::RequestCanceled | Self::ServerError | Self::NoAnswer | Self::Unreadable
        )
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The refusal of task protection. Work that requires protection does not start.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{reason} ({detail}). {}", reason.advice())]
pub(crate) struct Refused {
    /// The reason.
    pub(crate) reason: Reason,
    /// The detail from ECS or the agent, or the local error.
    pub(crate) detail: String,
}

impl Refused {
    /// Creates a refusal for `reason`.
    pub(crate) fn new(reason: Reason, detail: impl Into<String>) -> Self {
        Self {
            reason,
            detail: detail.into(),
        }
    }
}
