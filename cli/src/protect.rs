//! Task scale-in protection: keeps ECS from stopping the task while work is in flight.
//!
//! Protection belongs to the task, not to a job: it is set when the first job begins and cleared when the
//! last one ends. It keeps the task from being stopped by a scale-in or a deployment of its service, and by
//! nothing else. <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-scale-in-protection.html>
//!
//! - [`plan`] decides on the next call. It is pure: it has no clock and makes no call.
//! - [`endpoint`] calls the ECS container agent.
//! - `counter` counts the jobs and shares the plan between them; `runner` makes the calls of the plan.
//! - [`keeper`] is the interface that the rest of the program uses.
//!
//! Each process counts its own jobs. If two processes of a task protect it, the one that becomes idle clears
//! the protection that the other one needs, until the other one renews it: use `lockstep agent` or one worker
//! instead.

mod counter;
pub(crate) mod endpoint;
pub(crate) mod keeper;
mod parse;
pub(crate) mod plan;
pub(crate) mod reason;
mod runner;
mod state;

pub(crate) use keeper::{Mode, Protection};
