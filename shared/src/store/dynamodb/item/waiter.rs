//! The attributes of a waiter's side item.

use super::{
    EXPECT_EVERY, KEY_RETENTION, QUEUED_AT, SCHEMA, length, millis, number, redrives, stale_word,
    text, work_values,
};
use aws_sdk_dynamodb::types::AttributeValue;
use lockstep_core::domain::{Retention, Waiter};

/// Returns when DynamoDB may delete the side item of a waiter, in seconds since 1970. A waiting state registers
/// again every two hours at the latest. A caller that polls registers once, and waits for a year at most.
fn waiter_ttl(waiter: &Waiter) -> u64 {
    const DAY: u64 = 86_400;
    const YEAR: u64 = 366 * DAY;
    let registered = waiter.since.millis() / 1000;
    match waiter.task_token {
        Some(_) => registered + DAY,
        None => registered + YEAR,
    }
}

/// Returns the attributes of a waiter's side item, with `None` for those that it must not have.
pub(in crate::store::dynamodb) fn waiter_values(
    waiter: &Waiter,
) -> Vec<(&'static str, Option<AttributeValue>)> {
    let terms = &waiter.terms;
    let Retention { history, run_keys } = terms.retention;
    let own = (run_keys != history).then_some(run_keys);
    let mut values = vec![
        ("schema", Some(number(SCHEMA))),
        ("holder", Some(text(terms.holder.as_str()))),
        ("permits", Some(number(terms.permits.get().into()))),
        ("leaseMs", Some(length(terms.lease))),
        ("beatMs", Some(length(terms.heartbeat))),
        ("retentionMs", Some(length(history))),
        ("since", millis(Some(waiter.since))),
        (QUEUED_AT, millis(Some(waiter.queued_at))),
        ("ttl", Some(number(waiter_ttl(waiter)))),
        (KEY_RETENTION, own.map(length)),
        ("maxRunMs", terms.max_run.map(length)),
        ("noProgressMs", terms.no_progress.map(length)),
        ("minIntervalMs", terms.min_interval.map(length)),
        (EXPECT_EVERY, terms.expect_every.map(length)),
        ("stale", stale_word(terms.stale).map(text)),
        (
            "runKey",
            terms.run_key.as_ref().map(|key| text(key.as_str())),
        ),
        (
            "taskToken",
            waiter.task_token.as_ref().map(|t| text(t.reveal())),
        ),
        ("waitUntil", millis(waiter.wait_until)),
        (
            "parent",
            terms.parent.as_ref().map(|parent| text(parent.as_str())),
        ),
        ("redrives", redrives(terms.redrives)),
    ];
    values.extend(work_values(terms.work.as_ref()));
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstep_core::domain::Timestamp;
    use lockstep_core::testing;

    #[test]
    fn a_side_item_outlives_the_longest_wait_after_its_registration() {
        let registered = 1_772_344_800;
        for (task_token, days) in [(None, 366), (Some(testing::task_token("waits")), 1)] {
            let waiter = Waiter {
                terms: testing::terms(testing::holder("a")),
                task_token,
                wait_until: None,
                since: Timestamp::from_millis(registered * 1000),
                queued_at: Timestamp::from_millis(registered * 1000),
            };

            let values = waiter_values(&waiter);

            let ttl = values.into_iter().find(|(name, _)| *name == "ttl");
            let ttl = ttl.and_then(|(_, value)| value).expect("a TTL");
            assert_eq!(ttl, number(registered + days * 86_400));
        }
    }
}
