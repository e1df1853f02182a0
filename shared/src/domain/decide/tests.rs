//! The rules of the protocol, one by one.

mod grants;
mod operator;
mod queue;
mod recovery;
mod redrive;
mod replace;
mod scene;
mod stale;
