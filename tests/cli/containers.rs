//! `lockstep` as the first process of real containers, in tasks of ECS whose role has Lockstep's own
//! policies and no others.
//!
//! The image is the fixture's batch, an image of nothing but a static busybox, with the binary
//! added by the one COPY of `cli/Dockerfile`. The lines that a container wrote say what its batch
//! did.
//!
//! Containers reach the stack only if it was started by `lockstack up --bind 0.0.0.0`. Their roles
//! are checked only with `--table-iam`.

mod agents;
mod deaths;
mod direct;
mod examples;
mod first_process;
mod fleet;
mod image;
mod protected;
mod reach;
mod redriven;
mod refusals;
mod services;
mod tasks;
mod work;

use fleet::Fleet;
pub(crate) use image::docker;
use services::Service;
use tasks::{Logged, Task};
use work::Work;
