//! The deployed definition, state by state: what it calls, with what, and where each answer leads.
//!
//! The worlds show that no promise breaks. These tests say what the definition does in one case
//! each, so that a changed definition fails a test that names the case.

mod golden;
mod input;
mod input_work;
mod play;
mod redrives;
mod requests;
mod turns;
mod work;
mod workflow;

pub(crate) use play::merged;
