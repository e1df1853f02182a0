//! The deployed definition, state by state: what it calls, with what, and where each answer leads.
//!
//! The worlds show that no promise breaks, whatever happens. These tests say what the definition
//! does in one case each, so that a change of it fails by name.

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
