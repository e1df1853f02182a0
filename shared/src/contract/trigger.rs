//! Events that invoke the reaper: of ECS, Step Functions, Lockstep itself, and a schedule.

mod execution;
mod task;
#[cfg(test)]
mod tests;

use super::parse::{InvalidRequest, parse, parse_in, quoted, text};
use crate::contract::{EventKind, SOURCE};
use aws_lambda_events::eventbridge::EventBridgeEvent;
use lockstep_core::domain::{
    ExecutionArn, ExecutionDescription, FencingToken, HolderId, LockKey, RunKey, Task, TaskToken,
};
use serde::Deserialize;
use serde_json::Value;

/// An event that invokes the reaper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// The sweep of every lock that is due.
    Sweep,
    /// A task of a run has changed. EventBridge delivers this at least once and in any order
    /// (<https://docs.aws.amazon.com/eventbridge/latest/ref/events-ref-ecs.html>).
    TaskChanged {
        /// The lock of the run.
        lock: LockKey,
        /// The hash of its holder, as in the task's group.
        holder_hash: String,
        /// The task.
        task: Task,
        /// The fencing token in the environment of the task's containers, if one is there.
        token: Option<FencingToken>,
    },
    /// An execution has begun or ended. EventBridge may lose this
    /// (<https://docs.aws.amazon.com/eventbridge/latest/ref/events-ref-states.html>).
    ExecutionChanged {
        /// The execution.
        execution: ExecutionArn,
        /// Its state.
        seen: ExecutionDescription,
        /// The lock that its input names, if any.
        lock: Option<LockKey>,
        /// The lock and the token of the grant whose work it is, if exclusive-run started it as work.
        work_of: Option<(LockKey, FencingToken)>,
    },
    /// A container has handed a permit over to a workflow. The reaper ends the workflow's waiting state,
    /// because the container cannot.
    HandedOver {
        /// The lock. The reaper reads everything else from the table.
        lock: LockKey,
    },
    /// A container has removed a workflow from the queue. The reaper ends the workflow's waiting state,
    /// because the container cannot.
    SentAway {
        /// The lock.
        lock: LockKey,
        /// The waiter.
        waiter: HolderId,
        /// The sealed task token of its waiting state.
        task_token: TaskToken,
        /// The run key that another run has taken, if that is the reason.
        run_key: Option<RunKey>,
    },
    /// An event that does not concern Lockstep.
    Ignored {
        /// The reason.
        reason: String,
    },
}

/// The member of an event that its source fills
/// (<https://docs.aws.amazon.com/eventbridge/latest/ref/events-structure.html>).
const DETAIL: &str = "detail";

/// The detail of an event of Lockstep's own.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OwnDetail {
    lock: String,
    #[serde(default)]
    holder: String,
    #[serde(default)]
    task_token: String,
    run_key: Option<String>,
}

/// The request for a sweep without an event, `{"sweep": true}`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SweepRequest {
    sweep: bool,
}

impl Trigger {
    /// Reads an event of the reaper. Attributes that are not needed may be missing. Unknown attributes are
    /// ignored, because AWS may add some
    /// (<https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_cwe_events.html>).
    ///
    /// # Errors
    /// [`InvalidRequest`] for anything but an event of the rules or `{"sweep": true}`, and for an
    /// event that lacks what is needed.
    pub fn read(json: Value) -> Result<Self, InvalidRequest> {
        if json.get("detail-type").is_none() {
            return sweep(json);
        }
        let event: EventBridgeEvent = parse(json)?;
        let EventBridgeEvent {
            source,
            detail_type,
            detail,
            ..
        } = event;
        match (source.as_str(), detail_type.as_str()) {
            ("aws.ecs", "ECS Task State Change") => task::read(detail),
            ("aws.states", "Step Functions Execution Status Change") => execution::read(detail),
            // A rule with a rate or a cron expression sends this event.
            ("aws.events" | "aws.scheduler", "Scheduled Event") => Ok(Self::Sweep),
            (SOURCE, kind) if kind == EventKind::PermitHandedOver.detail_type() => {
                let own: OwnDetail = parse_in(DETAIL, detail)?;
                let lock = text("detail.lock", &own.lock, LockKey::new)?;
                Ok(Self::HandedOver { lock })
            }
            (SOURCE, kind) if kind == EventKind::WaiterSentAway.detail_type() => sent_away(detail),
            _ => {
                let rule = "\"ECS Task State Change\" of aws.ecs, \"Step Functions Execution \
                            Status Change\" of aws.states, \"Lockstep Permit Handed Over\" or \
                            \"Lockstep Waiter Sent Away\" of lockstep, or \"Scheduled Event\"";
                let value = format!("{} of {}", quoted(&detail_type), quoted(&source));
                Err(InvalidRequest::new("detail-type", value, rule))
            }
        }
    }
}

fn sent_away(detail: Value) -> Result<Trigger, InvalidRequest> {
    let detail: OwnDetail = parse_in(DETAIL, detail)?;
    let run_key = detail.run_key.as_deref();
    Ok(Trigger::SentAway {
        lock: text("detail.lock", &detail.lock, LockKey::new)?,
        waiter: text("detail.holder", &detail.holder, HolderId::new)?,
        task_token: text("detail.taskToken", &detail.task_token, TaskToken::of_record)?,
        run_key: run_key
            .map(|key| text("detail.runKey", key, RunKey::new))
            .transpose()?,
    })
}

fn sweep(json: Value) -> Result<Trigger, InvalidRequest> {
    match parse(json)? {
        SweepRequest { sweep: true } => Ok(Trigger::Sweep),
        SweepRequest { sweep: false } => Err(InvalidRequest::new("sweep", false, "true")),
    }
}
