//! Rules that hold for any lock, command and history.

mod case;
mod decisions;
mod histories;
mod leases;
mod rules;
mod verdicts;
mod weaving;
