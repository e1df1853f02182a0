//! Tests of the domain's values: bounds, comparisons and copies that the decisions rely on.

mod command;
mod lease;
mod record;
mod runs;
mod values;

use super::{Terms, Timestamp};
use crate::testing::{self, holder};

fn at(second: u64) -> Timestamp {
    Timestamp::from_millis(second * 1000)
}

fn terms(name: &str) -> Terms {
    testing::terms(holder(name))
}
