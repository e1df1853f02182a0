//! Deterministic simulation: whole worlds of executions, tasks, functions and a faulty table, on
//! virtual time, from one seed each.

mod answer;
mod audit;
mod clock;
mod cloud;
mod determinism;
mod engine;
mod engine_rules;
mod functions;
mod invoke;
mod operator;
mod process;
mod reaper;
mod resource;
mod run;
mod scenario;
mod seeds;
mod self_check;
mod slot;
mod store;
mod workflow;
mod world;
