//! Why a task is not protected, what is done about it, and what its owner can do.

use std::fmt;
use thiserror::Error;

/// Why protection could not be set or cleared.
///
/// The failures of the API: <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/api_failures_messages.html>,
/// the answers of the agent: <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-scale-in-protection-endpoint.html>.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// `TASK_NOT_VALID`: the task belongs to no service.
    TaskNotValid,
    /// `DEPLOYMENT_BLOCKED`: during a deployment, more tasks would be protected than are desired.
    DeploymentBlocked,
    /// `THROTTLED`, or the API throttled the agent's call.
    Throttled,
    /// The task role may not do it, or there is no task role.
    AccessDenied,
    /// The agent or ECS took the request for a wrong one.
    Rejected,
    /// The agent or ECS does not know the task any more.
    Gone,
    /// `RequestCanceled`: the agent waited too long for ECS. What came of the call is open.
    RequestCanceled,
    /// ECS or the agent failed. What came of the call is open.
    ServerError,
    /// There is no connection to the agent: nothing was asked.
    Unreachable,
    /// No answer came. What came of the call is open.
    NoAnswer,
    /// An answer came that cannot be understood. What came of the call is open.
    Unreadable,
    /// This process is shutting down and protects nothing any more.
    ShuttingDown,
}

/// When to ask again after a refusal, while work is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    /// Soon, then with growing waits.
    BackingOff,
    /// Every few seconds: the deployment goes on by itself.
    Steadily,
    /// When other work begins: nothing changes by itself.
    NextBegin,
    /// Never: nothing can change in the life of this task.
    Never,
}

impl Reason {
    /// As it stands in the log: in the words of ECS where it has some.
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

    /// What its owner can do, in one sentence.
    pub(crate) const fn advice(self) -> &'static str {
        match self {
            Self::TaskNotValid => {
                "Leave --protect out: only tasks of an ECS service can be protected, and nothing \
                 scales this one in."
            }
            Self::DeploymentBlocked => {
                "Wait for the deployment, or raise the desired count above the number of protected \
                 tasks."
            }
            Self::Throttled => {
                "It is tried again; if it stays, let fewer and longer jobs set protection."
            }
            Self::AccessDenied => {
                "Give the task a task role that allows ecs:UpdateTaskProtection and \
                 ecs:GetTaskProtection on it."
            }
            Self::Rejected => {
                "Look at the detail and at ECS_AGENT_URI: the request did not suit the agent."
            }
            Self::Gone => "Look at the state of the task: ECS does not know it any more.",
            Self::RequestCanceled | Self::ServerError => {
                "It is tried again; if it stays, look at the health of ECS in this region."
            }
            Self::Unreachable | Self::NoAnswer => {
                "It is tried again; if it stays, see that the container reaches ECS_AGENT_URI \
                 without a proxy."
            }
            Self::Unreadable => {
                "It is tried again; if it stays, see that ECS_AGENT_URI leads to the ECS agent."
            }
            Self::ShuttingDown => "Begin the work in another task.",
        }
    }

    /// When to ask for protection again.
    pub(crate) const fn again(self) -> Again {
        match self {
            Self::DeploymentBlocked => Again::Steadily,
            Self::AccessDenied | Self::Rejected | Self::Gone => Again::NextBegin,
            Self::TaskNotValid | Self::ShuttingDown => Again::Never,
            Self::Throttled
            | Self::RequestCanceled
            | Self::ServerError
            | Self::Unreachable
            | Self::NoAnswer
            | Self::Unreadable => Again::BackingOff,
        }
    }

    /// Whether the call may have worked all the same.
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

/// The task is not protected; required work does not start.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{reason} ({detail}). {}", reason.advice())]
pub(crate) struct Refused {
    /// Why.
    pub(crate) reason: Reason,
    /// What ECS or the agent said about it, or what went wrong on the way.
    pub(crate) detail: String,
}

impl Refused {
    /// A refusal for `reason`.
    pub(crate) fn new(reason: Reason, detail: impl Into<String>) -> Self {
        Self {
            reason,
            detail: detail.into(),
        }
    }
}
