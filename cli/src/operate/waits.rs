//! Locks that wait for each other.
//!
//! ```text
//!  lock a ◀─ held by ─ run 1 ─ waits for ─▶ lock b
//!    ▲                                        │ held by
//!    └──────────── waits for ─ run 2 ◀────────┘
//! ```
//! A run waits either under its own name, or as the `parent` that started the execution that waits. No single
//! record shows a circle, so it is found from several locks as view shows them.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Returns a circle that the waits lead to from the lock `from`; `None` if they lead to none. Each lock is
/// followed by the lock that its holder waits for, and the first lock is repeated at the end.
pub(super) fn circle<'a>(shown: &'a [Value], from: &str) -> Option<Vec<&'a str>> {
    let still = at_a_standstill(shown);
    let (first, _) = still.get_key_value(from)?;
    circle_from(first, &still)
}

/// Returns all circles, each of them once.
pub(super) fn circles(shown: &[Value]) -> Vec<Vec<&str>> {
    let still = at_a_standstill(shown);
    let mut known = BTreeSet::new();
    let mut circles: Vec<_> = still
        .keys()
        .filter_map(|first| circle_from(first, &still))
        .collect();
    circles.retain(|circle| known.insert(circle.iter().copied().collect::<BTreeSet<_>>()));
    circles
}

/// For each lock, the locks that each of its holders waits for.
type Waits<'a> = BTreeMap<&'a str, Vec<BTreeSet<&'a str>>>;

/// Returns the locks at a standstill. Such a lock has no free permit, and each of its holders waits for a
/// lock that is at a standstill itself.
fn at_a_standstill(shown: &[Value]) -> Waits<'_> {
    let full = |lock: &&Value| {
        let holders = list(lock, "holders").len();
        lock["permits"]
            .as_u64()
            .is_some_and(|permits| holders as u64 >= permits)
    };
    let waits = |lock| {
        let holders = list(lock, "holders").iter();
        holders
            .map(|holder| waited_for(shown, &holder["holder"]))
            .collect()
    };
    let held = shown.iter().filter(full);
    let mut still: Waits<'_> = held
        .filter_map(|lock| Some((lock["lock"].as_str()?, waits(lock))))
        .collect();
    loop {
        let names: BTreeSet<_> = still.keys().copied().collect();
        still.retain(|_, holders| holders.iter().all(|waits| !waits.is_disjoint(&names)));
        if still.len() == names.len() {
            return still;
        }
    }
}

/// Follows the waits from the lock `first` until a lock repeats, and returns the circle.
fn circle_from<'a>(first: &'a str, still: &Waits<'a>) -> Option<Vec<&'a str>> {
    let mut path = vec![first];
    loop {
        let next = still.get(path.last()?)?.first()?;
        let next = *next.iter().find(|name| still.contains_key(*name))?;
        let seen = path.iter().position(|name| *name == next);
        path.push(next);
        if let Some(first) = seen {
            return Some(path.split_off(first));
        }
    }
}

/// Returns the circle as one text, such as "a waits for b waits for a".
pub(super) fn in_words(circle: &[&str]) -> String {
    circle.join(" waits for ")
}

/// Returns the locks that `holder`, or an execution that it started, waits for.
fn waited_for<'a>(shown: &'a [Value], holder: &Value) -> BTreeSet<&'a str> {
    let is_own = |waiter: &Value| waiter["holder"] == *holder || waiter["parent"] == *holder;
    let locks = shown
        .iter()
        .filter(|lock| list(lock, "waiters").iter().any(is_own));
    locks.filter_map(|lock| lock["lock"].as_str()).collect()
}

fn list<'a>(lock: &'a Value, field: &str) -> &'a [Value] {
    lock[field].as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Returns a lock with its holders, and its waiters with their parents.
    fn lock(name: &str, permits: u8, holders: &[&str], waiters: &[(&str, &str)]) -> Value {
        let holders = holders.iter().map(|holder| json!({ "holder": holder }));
        let waiters = waiters
            .iter()
            .map(|(holder, parent)| json!({ "holder": holder, "parent": parent }));
        json!({
            "lock": name, "permits": permits,
            "holders": holders.collect::<Vec<_>>(), "waiters": waiters.collect::<Vec<_>>(),
        })
    }

    #[test]
    fn locks_wait_for_each_other_only_if_no_holder_of_them_can_end() {
        let child = |parent| [("child", parent)];
        let b_of_1 = lock("b", 1, &["2"], &child("1"));
        let cases = [
            (vec![], None, "nothing"),
            (
                vec![lock("a", 1, &["1"], &child("2")), b_of_1.clone()],
                Some("a waits for b waits for a"),
                "the children of two runs",
            ),
            (
                vec![
                    lock("a", 1, &["1"], &[("2", "")]),
                    lock("b", 1, &["2"], &[("1", "")]),
                ],
                Some("a waits for b waits for a"),
                "the runs themselves",
            ),
            (
                vec![
                    lock("a", 1, &["1"], &child("3")),
                    b_of_1.clone(),
                    lock("c", 1, &["3"], &child("2")),
                ],
                Some("a waits for b waits for c waits for a"),
                "three",
            ),
            (
                vec![lock("a", 1, &["1"], &child("9")), b_of_1.clone()],
                None,
                "the holder of b waits for nothing",
            ),
            (
                vec![lock("a", 2, &["1", "7"], &child("2")), b_of_1.clone()],
                None,
                "another holder of a ends",
            ),
            (
                vec![lock("a", 2, &["1"], &child("2")), b_of_1.clone()],
                None,
                "a permit is free",
            ),
            (
                vec![
                    lock("0", 1, &["2"], &[]),
                    lock("a", 1, &["1"], &child("2")),
                    b_of_1,
                ],
                Some("a waits for b waits for a"),
                "a lock whose holder is in a circle is not one of it",
            ),
            (
                vec![lock("a", 1, &["1"], &child("1"))],
                Some("a waits for a"),
                "a child that waits for its parent",
            ),
        ];
        for (locks, expected, why) in cases {
            let found: Vec<_> = circles(&locks)
                .iter()
                .map(|circle| in_words(circle))
                .collect();

            assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{why}");
        }
    }

    #[test]
    fn each_of_several_circles_is_found_once() {
        let pair = |one: &str, other: &str| {
            let (first, second) = (format!("{one}-run"), format!("{other}-run"));
            [
                lock(one, 1, &[&first], &[(&second, "")]),
                lock(other, 1, &[&second], &[(&first, "")]),
            ]
        };
        let locks = [pair("a", "b"), pair("c", "d")].concat();

        let found: Vec<_> = circles(&locks)
            .iter()
            .map(|circle| in_words(circle))
            .collect();

        assert_eq!(
            found,
            ["a waits for b waits for a", "c waits for d waits for c"]
        );
        assert_eq!(circle(&locks, "d"), Some(vec!["d", "c", "d"]));
    }
}
