//! What operators see of all locks, and do to them.
//!
//! Reading order: [`contract`] (requests and responses), [`acts`] (the use cases), [`widget`] (responses as
//! HTML), [`pages`] (the acts behind a CloudWatch custom widget), [`schedules`] (what starts runs). The functions operate and view run this
//! code; the command speaks its contract. No other function links it.

pub mod acts;
pub mod contract;
pub mod pages;
pub mod schedules;
pub mod widget;
