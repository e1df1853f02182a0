//! The executions that exclusive-run starts as the work of a run.
//!
//! Their names follow from the grant, so a start whose answer was lost cannot start a second one
//! (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html>), and
//! their state is known without a list.

use super::text::hash;
use super::{ExecutionArn, FencingToken, LockKey, StateMachineArn};
use std::fmt::Write;

/// Prefix of every name.
const PREFIX: &str = "lockstep-";

/// Longest name of an execution.
const LENGTH_MAX: usize = 80;

/// Characters that a name has beside the lock: the prefix, a token, a number of redrives, and
/// hyphens between them.
const REST_MAX: usize = PREFIX.len() + 1 + 16 + 1 + 4;

/// The name of the execution that does the work of the grant with `token`, in the attempt after
/// `redrives` redrives of the holder: `lockstep-<lock>-<token>-<redrives>`.
///
/// Characters of the lock other than `A-Z a-z 0-9 -` are escaped as `_2F`: CloudWatch Logs takes no
/// others. A lock that is too long for a name is there with a hash.
#[must_use]
pub fn child_name(lock: &LockKey, token: FencingToken, redrives: u32) -> String {
    format!("{}-{redrives}", child_stem(lock, token))
}

/// The name without the number of redrives and the hyphen before it.
#[must_use]
pub fn child_stem(lock: &LockKey, token: FencingToken) -> String {
    let mut escaped = escape(lock.as_str());
    if escaped.len() + REST_MAX > LENGTH_MAX {
        // No lock is escaped to this, since a letter that is no hex digit follows the underscore.
        escaped = format!("_h{}", hash(lock.as_str(), 16));
    }
    format!("{PREFIX}{escaped}-{token}")
}

/// The ARN of the execution with that name.
#[must_use]
pub fn child_arn(
    machine: &StateMachineArn,
    lock: &LockKey,
    token: FencingToken,
    redrives: u32,
) -> Option<ExecutionArn> {
    machine.execution(&child_name(lock, token, redrives)).ok()
}

/// The lock and the token in the name of an execution; `None` if [`child_name`] does not make such a
/// name, or has a hash in place of the lock.
#[must_use]
pub fn parse_child(execution: &ExecutionArn) -> Option<(LockKey, FencingToken)> {
    let (_, name) = execution.as_str().rsplit_once(':')?;
    let (stem, redrives) = name.strip_prefix(PREFIX)?.rsplit_once('-')?;
    let (lock, token) = stem.rsplit_once('-')?;
    let token = FencingToken::from_number(token.parse().ok()?);
    let lock = LockKey::new(unescape(lock)?).ok()?;
    let made = child_name(&lock, token, redrives.parse().ok()?);
    (made == name).then_some((lock, token))
}

fn escape(lock: &str) -> String {
    lock.bytes().fold(String::new(), |mut escaped, byte| {
        match byte.is_ascii_alphanumeric() || byte == b'-' {
            true => escaped.push(byte.into()),
            // A String takes all that is written to it.
            false => drop(write!(escaped, "_{byte:02X}")),
        }
        escaped
    })
}

fn unescape(escaped: &str) -> Option<String> {
    let mut parts = escaped.split('_');
    let mut lock = parts.next()?.to_owned();
    for part in parts {
        let code = u8::from_str_radix(part.get(..2)?, 16).ok()?;
        lock.push(code.into());
        lock.push_str(&part[2..]);
    }
    Some(lock)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: &str = "arn:aws:states:eu-west-1:1:stateMachine:report";

    fn lock(name: &str) -> LockKey {
        LockKey::new(name).unwrap()
    }

    fn arn(lock: &LockKey, token: u64, redrives: u32) -> ExecutionArn {
        let machine = StateMachineArn::new(MACHINE).unwrap();
        child_arn(&machine, lock, FencingToken::from_number(token), redrives).unwrap()
    }

    #[test]
    fn a_name_has_the_lock_the_token_and_the_number_of_redrives() {
        let name = child_name(&lock("team/db:daily_1.a"), FencingToken::from_number(7), 2);

        assert_eq!(name, "lockstep-team_2Fdb_3Adaily_5F1_2Ea-7-2");
    }

    #[test]
    fn a_name_is_read_back_whatever_the_lock_is_called() {
        for name in [
            "nightly",
            "a-1-2",
            "-",
            "lockstep-a",
            "team/db:orders._-",
            ":",
        ] {
            let read = parse_child(&arn(&lock(name), 1_767_225_600_000, 3));

            let expected = (lock(name), FencingToken::from_number(1_767_225_600_000));
            assert_eq!(read, Some(expected), "{name}");
        }
    }

    #[test]
    fn the_longest_lock_the_largest_token_and_a_thousand_redrives_fit_into_a_name() {
        let locks = (1..=LockKey::LENGTH_MAX).flat_map(|n| ["x".repeat(n), "/".repeat(n)]);
        for name in locks {
            let made = child_name(&lock(&name), FencingToken::MAX, 1000);

            assert!(made.len() <= LENGTH_MAX, "{made}");
        }
        // 80 without the prefix, a token, a thousand redrives and the hyphens.
        for (length, is_read) in [(49, true), (50, false)] {
            let lock = lock(&"x".repeat(length));

            let read = parse_child(&arn(&lock, 7, 0));
            assert_eq!(read.is_some(), is_read, "{length}");
        }
    }

    #[test]
    fn locks_that_are_too_long_for_a_name_have_different_ones() {
        let locks = ["a", "b"].map(|end| lock(&format!("{}{end}", "x".repeat(99))));

        let [a, b] = locks
            .each_ref()
            .map(|lock| child_name(lock, FencingToken::MAX, 0));

        assert_ne!(a, b);
        assert_eq!(parse_child(&arn(&locks[0], 7, 0)), None);
    }

    #[test]
    fn the_name_of_any_other_execution_is_not_read() {
        for name in [
            "nightly",
            "lockstep-",
            "lockstep-nightly",
            "lockstep-nightly-7",
            "lockstep-nightly-7-",
            "lockstep-nightly-7-x",
            "lockstep-nightly-x-0",
            "lockstep-nightly-07-0",
            "lockstep-nightly-7-00",
            "lockstep-night_6Cy-7-0",
            "lockstep-night_6-7-0",
            "lockstep-night_ZZ-7-0",
            "lockstep--7-0",
            "my-lockstep-nightly-7-0",
        ] {
            let arn = format!("arn:aws:states:eu-west-1:1:execution:report:{name}");

            let arn = ExecutionArn::new(arn).unwrap();
            assert_eq!(parse_child(&arn), None, "{name}");
        }
    }
}
