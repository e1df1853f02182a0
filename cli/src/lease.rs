//! A lock as this process holds it: acquire, renew, release, and what becomes of a grant whose answer
//! was lost.

pub(crate) mod acquire;
pub(crate) mod client;
pub(crate) mod events;
pub(crate) mod renewer;
pub(crate) mod table;
pub(crate) mod timing;
pub(crate) mod unconfirmed;
