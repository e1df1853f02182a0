//! Code that several test levels share.

pub mod figures;
pub mod generate;
pub mod golden;
pub mod history;
pub mod scenes;
pub mod schedules;
pub mod schemas;
pub mod seeds;
pub mod steps;
pub mod yaml;

pub use lockstep_live::{
    dynamodb_local, judge, repository, sdk_config, stack, timeline, units, wire,
};
