//! The names of files and stacks, and the places of resources.

use super::answers::word;

/// Returns the name of the files of a lock: the name of the lock, with a hyphen for each character that the name of a
/// stack may not have.
pub(super) fn name_of(lock: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    lock.chars().map(allowed).collect()
}

/// Checks the name of the stack of Lockstep.
///
/// # Errors
/// The flag, the value and the rule that the value breaks, in one line.
pub(super) fn check_stack(stack: &str) -> Result<(), String> {
    let rule = "1 to 62 letters, digits and hyphens, of which the first is a letter, because a schedule is named \
                STACK-NAME and has up to 64";
    let checked = word(stack, "[A-Za-z][A-Za-z0-9-]{0,61}", rule);
    checked.map_err(|rule| format!("--stack is {stack:?}, but must be {rule}"))
}

/// Checks `--name`, whose default is the name of the lock.
///
/// # Errors
/// The flag, the value and the rule that the value breaks, in one line.
pub(super) fn check_name(stack: &str, lock: &str, given: Option<&str>) -> Result<(), String> {
    let (flag, value) = match given {
        Some(given) => ("--name", given),
        None => ("--lock", lock),
    };
    let name = given.map_or_else(|| name_of(lock), str::to_owned);
    let refused = |rule: &str| {
        let remedy = if given.is_none() {
            "; give another name by --name"
        } else {
            ""
        };
        Err(format!("{flag} is {value:?}, but must be {rule}{remedy}"))
    };
    if word(&name, "[A-Za-z0-9-]+", "").is_err() {
        return refused("letters, digits and hyphens");
    }
    // `sam` would read lockstep/samconfig.yaml as its own, and on a disk that ignores case SAMCONFIG.yaml too.
    if name.eq_ignore_ascii_case("samconfig") {
        return refused("another name than samconfig, which files of sam have");
    }
    // A schedule has up to 64 characters.
    let most = 63_usize.saturating_sub(stack.len());
    match name.len() <= most {
        true => Ok(()),
        false => refused(&format!(
            "at most {most} characters long, because the schedule is named {stack}-NAME and has up to 64"
        )),
    }
}

/// Returns the parts of an ARN that say where a resource is: partition, Region and account.
pub(super) fn place(arn: &str) -> [&str; 3] {
    let mut parts = arn.split(':').skip(1);
    let partition = parts.next().unwrap_or_default();
    let mut parts = parts.skip(1);
    [
        partition,
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_has_a_name_that_scheduler_takes() {
        let long = "l".repeat(55);
        for (stack, lock, given, refused) in [
            ("lockstep", "reports/hourly", None, ""),
            ("lockstep", "1.a", None, ""),
            ("lockstep", &*long, None, ""),
            ("lockstep", &*format!("{long}x"), None, "--lock is "),
            ("lockstep", &*format!("{long}x"), Some("short"), ""),
            (&*"s".repeat(63), "a", None, "--lock is "),
            ("lockstep", "samconfig", None, "--lock is "),
            ("lockstep", "SAMCONFIG", None, "--lock is "),
            ("lockstep", "a", Some("SamConfig"), "--name is "),
            ("lockstep", "a", Some("a.b"), "--name is "),
            ("lockstep", "a", Some(""), "--name is "),
        ] {
            match check_name(stack, lock, given) {
                Ok(()) => assert_eq!(refused, "", "{lock}"),
                Err(why) => assert!(!refused.is_empty() && why.starts_with(refused), "{why}"),
            }
        }
        assert_eq!(name_of("reports/hourly.a"), "reports-hourly-a");
        let longest = "s".repeat(62);
        assert_eq!(check_stack(&longest), Ok(()));
        assert_eq!(check_name(&longest, "a", None), Ok(()));
        let refused = check_stack(&format!("{longest}s")).unwrap_err();
        assert!(refused.starts_with("--stack is "), "{refused}");
    }
}
