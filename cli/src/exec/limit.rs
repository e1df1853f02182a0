//! A mark that a process cannot lose by accident: a resource limit.
//!
//! A child inherits resource limits through `fork`, and `execve`, `setsid` and a change of the user keep
//! them. A command that clears its environment keeps them too. Linux has not enforced the limit of resident
//! memory since 2.6, and `/proc` shows it to all users
//! (<https://man7.org/linux/man-pages/man2/getrlimit.2.html>,
//! <https://man7.org/linux/man-pages/man5/proc_pid_limits.5.html>). So the soft value of this limit holds the
//! mark, as a number that is too large to be a size.

#[cfg(target_os = "linux")]
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::unistd::Pid;
use std::fs;

/// The bit that distinguishes a mark from a limit: no size of memory has it.
const TAG: u64 = 1 << 62;
/// The line of `/proc/<id>/limits` with the limit of resident memory.
const NAME: &str = "Max resident set";

/// Sets `mark`, a number of 48 bits, for this process and all processes that it starts. If the hard limit is
/// lower, the process stays unmarked.
#[cfg(target_os = "linux")]
pub(super) fn set(mark: u64) {
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_RSS) {
        setrlimit(Resource::RLIMIT_RSS, TAG | mark, hard).ok();
    }
}

/// Does nothing, because commands are started on Linux only.
#[cfg(not(target_os = "linux"))]
pub(super) fn set(_mark: u64) {}

/// Returns the mark of the process with this `id`, if the process has one and has not ended.
pub(super) fn of(id: Pid) -> Option<u64> {
    parse(&fs::read_to_string(format!("/proc/{id}/limits")).ok()?)
}

fn parse(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(NAME))?;
    let soft: u64 = line.split_whitespace().next()?.parse().ok()?;
    (soft >> 48 == TAG >> 48).then_some(soft ^ TAG)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_a_soft_limit_with_the_tag_and_no_other_limit_is() {
        let limits = |soft: &str| {
            format!(
                "Limit                     Soft Limit           Hard Limit           Units     \n\
                 Max stack size            8388608              unlimited            bytes     \n\
                 Max resident set          {soft}  unlimited            bytes     \n"
            )
        };
        for (soft, mark) in [
            ("4611686018427387907", Some(3)),
            ("4611967493404098559", Some((1 << 48) - 1)),
            ("4611967493404098560", None),
            ("unlimited", None),
            ("536870912", None),
        ] {
            assert_eq!(parse(&limits(soft)), mark, "{soft}");
        }
        assert_eq!(parse(""), None);
    }
}
