//! The `lockstep` command as it is shipped: real processes, signals and containers, on DynamoDB
//! Local and the deployed stack.
//!
//! Needs a stack of `lockstack up` and `lockstack deploy`, whose folder `LOCKSTEP_STATE` names, and
//! the static binary, which `LOCKSTEP_BINARY` names (default: where `make deployable` puts it).
//! Every test has a lock of its own, so they run beside each other.

mod adopted;
mod agent;
mod audit;
mod clocks;
mod containers;
mod credentials;
mod exits;
mod init;
mod lifeline;
mod lossy;
mod not_started;
mod operators;
mod processes;
mod progress;
mod secure;
mod stops;
mod streams;
mod support;
mod users;
mod waiting;
mod weave;
mod worker;
mod written;
