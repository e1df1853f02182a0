//! A mark on the processes of a command.
//!
//! A process that calls `setsid` leaves the group of the command, and a process whose parent ends is no
//! longer a descendant of the command. It keeps its resource limits in both cases, and one of them holds the
//! innermost mark ([`limit`]). Its environment holds all marks: that of its command, and those of the
//! commands around it. `/proc` shows the environment to processes of the same user only
//! (<https://man7.org/linux/man-pages/man5/proc_pid_environ.5.html>).

use super::limit;
use super::procfs::Process;
use crate::platform::clock::pause;
use crate::platform::env::{random_id, variable};
use nix::unistd::Pid;
use std::time::Duration;
use std::{fs, io};

/// The variable that holds the marks, the outermost first, separated by colons. There are several if the
/// command runs `lockstep` itself.
const VARIABLE: &str = "LOCKSTEP_MARK";
/// The value of the variable for a process that is to outlive its command.
const KEEP: &[u8] = b"keep";
/// Hexadecimal digits of a mark.
const DIGITS: usize = 12;
/// Time between two reads of an environment that is still empty.
const READ_EVERY: Duration = Duration::from_millis(1);
/// Most reads of an environment. A call of `execve` takes some 0.1 ms, and longer where the disk is slow.
const READS: usize = 20;

/// Distinguishes the processes of one command from all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark(String);

impl Mark {
    /// Creates a random mark.
    pub(crate) fn new() -> Self {
        Self(random_id())
    }

    /// Parses a mark as [`Self::text`] writes it.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_mark = text.len() == DIGITS && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        is_mark.then(|| Self(text.to_owned()))
    }

    /// Returns the mark as text.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Returns the environment variable for the command. Its value is the marks of this process, then this
    /// mark.
    pub(super) fn variable(&self) -> (String, String) {
        let marks = match variable(VARIABLE) {
            Some(outer) => format!("{outer}:{}", self.0),
            None => self.0.clone(),
        };
        (VARIABLE.into(), marks)
    }

    /// Returns the mark as a number, for [`limit::set`].
    pub(super) fn number(&self) -> u64 {
        u64::from_str_radix(&self.0, 16).unwrap_or_default()
    }

    /// Returns whether the process with this `id` was started with the mark.
    pub(super) fn is_on(&self, id: Pid) -> bool {
        limit::of(id) == Some(self.number())
            || environment(id).is_ok_and(|environment| self.is_in(&environment))
    }

    /// Returns whether the process with this `id` belongs to an inner command: a `lockstep` that was itself
    /// started with the mark has started it, with a mark of its own.
    pub(super) fn is_of_inner_command(&self, id: Pid) -> bool {
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

/// Returns whether the process with this `id` was started to outlive its command; `false` for a process of
/// another user.
pub(super) fn is_kept(id: Pid) -> bool {
    environment(id).is_ok_and(|environment| marks(&environment).eq([KEEP]))
}

/// Returns the marks in an environment, the outermost first.
fn marks(environment: &[u8]) -> impl Iterator<Item = &[u8]> {
    let variables = environment.split(|byte| *byte == 0);
    let marks = variables.filter_map(|variable| {
        let marks = variable.strip_prefix(VARIABLE.as_bytes());
        marks.and_then(|rest| rest.strip_prefix(b"="))
    });
    marks.flat_map(|marks| marks.split(|byte| *byte == b':'))
}

/// Reads the environment of the process with this `id`.
///
/// `/proc` shows an empty environment while the process is inside `execve`: the old memory is gone, and the
/// new one is not visible yet. A daemon that has just been started is in that state. So an empty environment
/// is read again, at most [`READS`] times, unless the process has none.
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
