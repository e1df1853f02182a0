//! Habits of AWS that a test switches on. Each lasts until it is switched off.
//!
//! The emulator of the local stack has them; see `tests/stack/README.md`. Each is narrowed to what
//! mentions a text, such as the test's own lock.

use super::Stack;
use serde_json::{Value, json};

/// What AWS may do at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habit {
    /// A task is DEPROVISIONING for this many seconds after its containers ended, and then STOPPED.
    StoppedLate(u32),
    /// A `.sync` state that times out does not stop its task.
    SyncTimeoutStopsNothing,
    /// DescribeExecution, ListTasks and DescribeTasks show the state of this many seconds ago.
    DescribeLags(u32),
    /// The answer of StartExecution is lost, and Step Functions repeats the call this many seconds
    /// later.
    StartAnswerLost(u32),
    /// A state's RunTask fails with this error of ECS, after it has started its task or, with `false`, before.
    RunTaskFails(&'static str, bool),
    /// RunTask starts no task, and gives this reason in its `failures`.
    RunTaskPlacesNothing(&'static str),
    /// This call of Step Functions or ECS takes this many seconds longer.
    Slow(&'static str, u32),
    /// The functions' requests to the table get this answer for at most this many seconds.
    TableAway(TableAnswer, u32),
}

/// What a table answers while it is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableAnswer {
    /// Nothing until it is back.
    Hang,
    /// `InternalServerError`.
    Fail,
    /// `ThrottlingException`.
    Throttle,
}

impl Habit {
    /// Returns late stops, time-outs that stop nothing and lagging reads.
    pub const fn degraded() -> [Self; 3] {
        [
            Self::StoppedLate(5),
            Self::SyncTimeoutStopsNothing,
            Self::DescribeLags(2),
        ]
    }

    fn order(self, text: &str) -> Value {
        let (name, more) = match self {
            Self::StoppedLate(seconds) => ("stopped-late", json!({ "seconds": seconds })),
            Self::SyncTimeoutStopsNothing => ("sync-timeout-stops-nothing", json!({})),
            Self::DescribeLags(seconds) => ("describe-lags", json!({ "seconds": seconds })),
            Self::StartAnswerLost(seconds) => ("start-answer-lost", json!({ "seconds": seconds })),
            Self::RunTaskFails(error, starts) => {
                let more = json!({ "error": error, "starts": starts });
                ("run-task-answer-lost", more)
            }
            Self::RunTaskPlacesNothing(reason) => {
                ("run-task-places-nothing", json!({ "reason": reason }))
            }
            Self::Slow(action, seconds) => {
                ("slow", json!({ "action": action, "seconds": seconds }))
            }
            Self::TableAway(answer, seconds) => {
                let answer = match answer {
                    TableAnswer::Hang => "hang",
                    TableAnswer::Fail => "fail",
                    TableAnswer::Throttle => "throttle",
                };
                ("table-away", json!({ "with": answer, "seconds": seconds }))
            }
        };
        let mut order = json!({ "habit": name, "mentioning": text });
        if let (Some(order), Value::Object(more)) = (order.as_object_mut(), more) {
            order.extend(more);
        }
        order
    }
}

impl Stack {
    /// Switches `habit` on for what mentions `text`.
    pub async fn switch_on(&self, habit: Habit, text: &str) {
        self.order(habit.order(text)).await;
    }

    /// Switches off every habit of this kind for the same text.
    pub async fn switch_off(&self, habit: Habit, text: &str) {
        let name = habit.order(text)["habit"].clone();
        let off = json!({ "habit": name, "mentioning": text, "off": true });
        self.order(off).await;
    }
}
