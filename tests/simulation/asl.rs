//! Step Functions: an interpreter of the deployed definition, on virtual time.
//!
//! It reads `statemachines/exclusive-run.asl.json` as it is, and contains no state, no error name
//! and no number of attempts of that file.

mod definition;
mod jsonata;
mod machine;
#[cfg(test)]
mod rules;
mod scope;
mod script;
mod task;

pub(crate) use definition::{Machine, Resource, TEAM_PREFIX};
pub(crate) use scope::{Frame, Place, Run};
pub(crate) use script::{Answer, Call, Script};
