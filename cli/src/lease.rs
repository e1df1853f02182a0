//! The lease of this process on a lock: acquires, renews and releases it, and reconciles a grant whose
//! response was lost.

pub(crate) mod acquire;
pub(crate) mod client;
pub(crate) mod events;
pub(crate) mod held;
pub(crate) mod renewer;
pub(crate) mod timing;
pub(crate) mod unconfirmed;
