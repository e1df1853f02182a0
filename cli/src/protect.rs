//! Task scale-in protection: keeps ECS from stopping the task while work is in flight.
//!
//! Protection belongs to the task, not to a job: it is set when the first job begins and cleared
//! when the last one ends. It guards against scale-in and deployments of a service only.
//! <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-scale-in-protection.html>
//!
//! - [`plan`] decides on the next call: pure, without clock or network.
//! - [`endpoint`] calls the ECS container agent.
//! - `counter` shares the plan between the jobs; `runner` makes its calls.
//! - [`keeper`] is the interface for the rest of the program.
//!
//! Each process counts its own jobs. Two processes that protect the same task clear each other's
//! protection until the next renewal: use `lockstep agent` or one worker.

mod counter;
pub(crate) mod endpoint;
pub(crate) mod keeper;
mod parse;
pub(crate) mod plan;
pub(crate) mod reason;
mod runner;
mod state;

pub(crate) use keeper::{Mode, Protection};
