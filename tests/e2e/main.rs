//! The deployed stack, driven from outside: real functions, real table rules, real containers.
//!
//! Needs a stack of `lockstack up` and `lockstack deploy`; `LOCKSTEP_STATE` names its folder.
//! Every test has a lock of its own, so they run beside each other.

mod authority;
mod beats;
mod caller;
mod closed;
mod eviction;
mod exclusion;
mod input;
mod kills;
mod lease;
mod limits;
mod lost_events;
mod one_success;
mod operate;
mod outage;
mod outcome;
mod own_events;
mod own_workflow;
mod queue;
mod queue_limits;
mod redrive;
mod release_faults;
mod replace;
mod rollback;
mod run_key;
mod schedule;
mod shapes;
mod slow_evidence;
mod soak;
mod stale;
mod storm;
mod support;
mod telemetry;
mod ways_in;
mod workflow_work;
mod workflows;
mod woven;

use support::{one_that_ran, ran_alone, stack};
