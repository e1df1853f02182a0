//! The witness: judges a world by what its executions, tasks and processes did and were answered.
//!
//! The witness takes leases, permits and successes from requests, from the functions' answers, from
//! exit codes and from the time. The lock table is what it judges. It believes the table in one
//! point: that the lock is closed until an operator has checked it.

mod copies;
mod excuse;
mod ledger;
mod limits;
pub(crate) mod missing;
mod stops;
mod successes;
mod waiting;

pub(crate) use copies::{granted, task_begins};
pub(crate) use excuse::Excuse;
pub(crate) use ledger::{
    RunFacts, Terms, Witness, answered, asked, doubled, entered, execution_ended, waits, woken,
};
pub(crate) use limits::{alerts, beats_late, turns};
pub(crate) use stops::{commits, stops_execution, stops_task, workflow_stops_task};
pub(crate) use successes::{ends_as, is_green, releases, succeeded};
pub(crate) use waiting::at_rest;
pub(crate) use waiting::{BOUND, watch};
