//! The deployed stack, driven from outside: real functions, real table rules, real containers.
//!
//! Needs a stack of `lockstack up` and `lockstack deploy`; `LOCKSTEP_STATE` names its folder.
//! Every test has a lock of its own, so they run beside each other.

mod authority;
mod caller;
mod closed;
mod combinations;
mod exclusion;
mod hidden;
mod input;
mod kills;
mod lease;
mod limits;
mod lost_start;
mod messages;
mod one_success;
mod operate;
mod outage;
mod outcome;
mod queue;
mod redrive;
mod release_faults;
mod replace;
mod restore;
mod rollback;
mod schedule;
mod shapes;
mod slow_evidence;
mod soak;
mod start;
mod storm;
mod support;
mod telemetry;
mod ways_in;
mod workflow_work;
mod workflows;
mod woven;

use support::{one_that_ran, ran_alone, ran_alone_but_stopped, stack};
