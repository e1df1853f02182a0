//! The lease of this process on a lock: acquire, renew, release, and reconcile a grant whose answer
//! was lost.

pub(crate) mod acquire;
pub(crate) mod client;
pub(crate) mod events;
pub(crate) mod held;
pub(crate) mod renewer;
pub(crate) mod timing;
pub(crate) mod unconfirmed;
