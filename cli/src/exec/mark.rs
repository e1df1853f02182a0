//! A mark on the processes of a command.
//!
//! A process that calls `setsid` leaves the command's group, and one whose parent ends leaves the
//! command's descendants. It keeps its limits through both, and one of them holds the mark ([`limit`]). Its environment
//! holds the marks too, with those of the commands around it; `/proc` shows it to the same
//! user (<https://man7.org/linux/man-pages/man5/proc_pid_environ.5.html>).

use super::limit;
use super::procfs::Process;
use crate::platform::clock::pause;
use crate::platform::env::{random_id, variable};
use nix::unistd::Pid;
use std::time::Duration;
use std::{fs, io};

/// The variable that holds the marks, the outermost first, separated by colons: a command may run
/// `lockstep` itself.
const VARIABLE: &str = "LOCKSTEP_MARK";
/// Its value in the environment of a process that is to outlive its command.
const KEEP: &[u8] = b"keep";
/// Hexadecimal digits of a mark.
const DIGITS: usize = 12;
/// Time between two reads of an environment that is not in place yet.
const READ_EVERY: Duration = Duration::from_millis(1);
/// Reads of it at most. A call of `execve` takes some 0.1 ms, and longer where the disk is slow.
const READS: usize = 20;

/// Distinguishes the processes of one command from all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark(String);

impl Mark {
    /// Creates a random mark.
    pub(crate) fn new() -> Self {
        Self(random_id())
    }

    /// Parses the output of [`Self::text`].
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_mark = text.len() == DIGITS && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        is_mark.then(|| Self(text.to_owned()))
    }

    /// The mark as text.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// The variable for the command: the marks of this process, then this one.
    pub(super) fn variable(&self) -> (String, String) {
        let marks = match variable(VARIABLE) {
            Some(outer) => format!("{outer}:{}", self.0),
            None => self.0.clone(),
        };
        (VARIABLE.into(), marks)
    }

    /// The mark as a number, for [`limit::set`].
    pub(super) fn number(&self) -> u64 {
        u64::from_str_radix(&self.0, 16).unwrap_or_default()
    }

    /// Whether the process of this `id` was started with the mark.
    pub(super) fn is_on(&self, id: Pid) -> bool {
        limit::of(id) == Some(self.number())
            || environment(id).is_ok_and(|environment| self.is_in(&environment))
    }

    /// Whether the process of this `id` was started by a `lockstep` that was started with the mark: it is
    /// of a command within the command of the mark.
    pub(super) fn is_outer_of(&self, id: Pid) -> bool {
        match limit::of(id) {
            Some(innermost) => innermost != self.number(),
            None => {
                environment(id).is_ok_and(|environment| self.is_before_another_in(&environment))
            }
        }
    }

    fn is_in(&self, environment: &[u8]) -> bool {
        marks(environment).any(|mark| mark == self.0.as_bytes())
    }

    fn is_before_another_in(&self, environment: &[u8]) -> bool {
        self.is_in(environment)
            && marks(environment)
                .last()
                .is_some_and(|innermost| innermost != self.0.as_bytes())
    }
}

/// Whether the process of this `id` was started to outlive its command; `false` for a process of another user.
pub(super) fn is_kept(id: Pid) -> bool {
    environment(id).is_ok_and(|environment| marks(&environment).eq([KEEP]))
}

/// The marks in an environment, the outermost first.
fn marks(environment: &[u8]) -> impl Iterator<Item = &[u8]> {
    let variables = environment.split(|byte| *byte == 0);
    let marks = variables.filter_map(|variable| {
        let marks = variable.strip_prefix(VARIABLE.as_bytes());
        marks.and_then(|rest| rest.strip_prefix(b"="))
    });
    marks.flat_map(|marks| marks.split(|byte| *byte == b':'))
}

/// Reads the environment of the process of this `id`.
///
/// `/proc` shows an empty one while the process is inside `execve`: the old memory is gone, and the
/// new one is not variable yet. A daemon that has just been started is in that state, so an empty
/// environment is read again unless the process has none.
fn environment(id: Pid) -> io::Result<Vec<u8>> {
    let read = || fs::read(format!("/proc/{id}/environ"));
    let mut environment = read()?;
    for _ in 1..READS {
        let is_final = || {
            let process = Process::now(id).ok().flatten();
            process.is_none_or(|process| process.has_no_environment)
        };
        if !environment.is_empty() || is_final() {
            break;
        }
        pause(READ_EVERY);
        environment = read()?;
    }
    Ok(environment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_found_among_others_and_only_as_a_whole() {
        let mark = Mark::parse("0123456789ab").unwrap();

        for (environment, found, is_outer) in [
            ("A=1\0LOCKSTEP_MARK=0123456789ab\0B=2\0", true, false),
            ("LOCKSTEP_MARK=ffffffffffff:0123456789ab", true, false),
            ("LOCKSTEP_MARK=0123456789ab:ffffffffffff\0", true, true),
            ("LOCKSTEP_MARK=0123456789abc\0", false, false),
            ("LOCKSTEP_MARK=eeeeeeeeeeee:ffffffffffff\0", false, false),
            ("XLOCKSTEP_MARK=0123456789ab\0", false, false),
            ("LOCKSTEP_MARKS=0123456789ab\0", false, false),
            ("", false, false),
        ] {
            let bytes = environment.as_bytes();
            assert_eq!(mark.is_in(bytes), found, "{environment:?}");
            assert_eq!(
                mark.is_before_another_in(bytes),
                is_outer,
                "{environment:?}"
            );
        }
    }

    #[test]
    fn a_mark_is_parsed_as_it_is_written_and_other_text_is_rejected() {
        let mark = Mark::new();

        assert_eq!(Mark::parse(mark.text()), Some(mark));
        assert_eq!(Mark("00000000002a".into()).number(), 42);
        for other in ["", "0123456789a", "0123456789abc", "0123456789aG"] {
            assert_eq!(Mark::parse(other), None, "{other}");
        }
    }
}
