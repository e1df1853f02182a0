//! What operators see of locks, and what they do to locks.
//!
//! Reading order:
//! - [`contract`]: requests and responses;
//! - [`acts`]: the use cases;
//! - [`widget`]: responses as HTML;
//! - [`pages`]: the acts behind a CloudWatch custom widget;
//! - [`schedules`]: the schedules that start runs.
//!
//! The functions operate and view run this code. The command uses only its contract. No other function links
//! it.

pub mod acts;
pub mod contract;
pub mod pages;
pub mod schedules;
pub mod widget;
