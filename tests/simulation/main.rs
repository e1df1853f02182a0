//! Deterministic simulation: whole worlds of executions, tasks, functions and a faulty table, on
//! virtual time, each from one seed.
//!
//! The handlers, the protocol and the memory store are the real ones. Around them, everything may
//! be late, lost, doubled or cut off until the world calms down. Then the world has to come to
//! rest. The auditor sees each write and knows the truth.
//!
//! Beside the worlds, [`definition`] plays the deployed definition state by state, with services
//! that answer as a script says.
//!
//! A [`trial`] is what a world goes through, and is judged by, beside the usual. [`pairs`] counts
//! which options meet which events, and [`shares`] gives each count its bound.
//!
//! - `LOCKSTEP_SEED=7` plays one world and prints its trace.
//! - `LOCKSTEP_SEEDS=100000` plays that many worlds instead of 1000, and
//!   `LOCKSTEP_SEEDS=40000..100000` plays the worlds of these seeds.

mod asl;
mod audit;
mod bill;
mod cloud;
mod cost;
mod definition;
mod engine;
mod engine_rules;
mod functions;
mod golden;
mod invoke;
mod operator;
mod pairs;
mod process;
mod reaper;
mod resource;
mod run;
mod scenario;
mod seeds;
mod self_check;
mod shares;
mod store;
mod trial;
mod weather;
mod witness;
mod workflow;
mod world;
