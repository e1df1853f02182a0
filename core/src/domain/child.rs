//! The executions that exclusive-run starts as the work of a run.
//!
//! The name of such an execution follows from the grant, so a repeated StartExecution whose first answer
//! was lost cannot start a second execution
//! (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html>). For the
//! same reason DescribeExecution finds it without a list.

use super::text::hash;
use super::{ExecutionArn, FencingToken, LockKey, StateMachineArn};
use std::fmt::Write;

/// Prefix of every such name.
const PREFIX: &str = "lockstep-";

/// Length of the longest name of an execution that Step Functions allows, in characters.
const LENGTH_MAX: usize = 80;

/// Length of a name without the lock: the prefix, a token of 16 digits, 4 digits for redrives, and the
/// hyphens between them.
const REST_MAX: usize = PREFIX.len() + 1 + 16 + 1 + 4;

/// Returns the name of the execution that does the work of the grant with `token`, in the attempt after
/// `redrives` redrives of the holder: `lockstep-<lock>-<token>-<redrives>`.
///
/// Any character of the lock other than `A-Z a-z 0-9 -` is escaped, as `_2F` for `/`: CloudWatch Logs
/// accepts only these characters and `_` in the name. If the name of the lock is too long, the
/// execution's name contains a hash of it.
#[must_use]
pub fn child_name(lock: &LockKey, token: FencingToken, redrives: u32) -> String {
    format!("{}-{redrives}", child_stem(lock, token))
}

/// Returns the name of [`child_name`] without its last part, the hyphen and the number of redrives.
#[must_use]
pub fn child_stem(lock: &LockKey, token: FencingToken) -> String {
    let mut escaped = escape(lock.as_str());
    if escaped.len() + REST_MAX > LENGTH_MAX {
        // No escaped lock looks like this, because `h` is not a hex digit.
        escaped = format!("_h{}", hash(lock.as_str(), 16));
    }
    format!("{PREFIX}{escaped}-{token}")
}

/// Returns the ARN of the execution of `machine` that is called [`child_name`].
#[must_use]
pub fn child_arn(
    machine: &StateMachineArn,
    lock: &LockKey,
    token: FencingToken,
    redrives: u32,
) -> Option<ExecutionArn> {
    machine.execution(&child_name(lock, token, redrives)).ok()
}

/// Returns the lock and the token in the name of an execution; `None` if [`child_name`] does not make
/// such a name, or if the name contains a hash of the lock.
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
            // Writing to a String never fails.
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
    fn the_longest_possible_name_has_at_most_80_characters() {
        let locks = (1..=LockKey::LENGTH_MAX).flat_map(|n| ["x".repeat(n), "/".repeat(n)]);
        for name in locks {
            let made = child_name(&lock(&name), FencingToken::MAX, 1000);

            assert!(made.len() <= LENGTH_MAX, "{made}");
        }
        // 49 is 80 without the prefix, a token, the digits of a thousand redrives and the hyphens.
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
