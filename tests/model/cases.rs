//! The configurations: small worlds, each with one thing that may go wrong in every way.

mod combined;
mod evidence;
mod lease;
mod mutants;
mod operator;
mod patience;
mod permits;
mod queue;
mod recovery;
mod redrive;
mod replace;
mod run_key;
mod stale;
