//! Task scale-in protection: keeps ECS from stopping the task while work is in flight.
//!
//! Protection is the task's, not the job's: it is set when the first job begins and cleared when
//! the last one ends. It guards against scale-in and deployments of a service, and against nothing
//! else. <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-scale-in-protection.html>
//!
//! - [`plan`] says what to ask for next: pure, no clock, no network.
//! - [`endpoint`] asks the agent of the container instance.
//! - `counter` holds the plan for those who begin and end work; `runner` makes its calls.
//! - [`keeper`] is what the rest of the program sees.
//!
//! The count is of one process. Two processes of a task that both protect it clear each other's
//! protection, until the next renewal sets it again: let `lockstep agent` or one worker do it.

mod counter;
pub(crate) mod endpoint;
pub(crate) mod keeper;
mod parse;
pub(crate) mod plan;
pub(crate) mod reason;
mod runner;

pub(crate) use keeper::{Mode, Protection};
