//! The deployed stack, driven from outside: real functions, real table rules, real containers.
//!
//! Needs a stack of `lockstack up` and `lockstack deploy`; `LOCKSTEP_STATE` names its folder.
//! Every test has a lock of its own, so they run beside each other.

mod closed;
mod exclusion;
mod input;
mod kills;
mod lease;
mod lost_events;
mod outcome;
mod own_events;
mod queue;
mod queue_limits;
mod release_faults;
mod replace;
mod run_key;
mod schedule;
mod stale;
mod storm;
mod support;
mod telemetry;
mod workflows;

use support::{one_that_ran, ran_alone, stack};
