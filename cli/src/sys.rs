//! What touches the machine: its clock, its randomness, its environment, its terminal.

pub(crate) mod clock;
pub(crate) mod env;
pub(crate) mod terminal;
pub(crate) mod trust;
