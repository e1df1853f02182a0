//! One test for each rule of the decisions.

mod admission;
mod clear;
mod expectation;
mod grants;
mod guards;
mod keys;
mod late;
mod operator;
mod pause_end;
mod queue;
mod recovery;
mod redrive;
mod replace;
mod scene;
mod stale;
mod stop;
mod waking;
mod when_paused;
