//! Who gets the keyboard, when there is one.

use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{Pid, getpgid, getpgrp, getppid, tcgetpgrp, tcsetpgrp};
use std::io::{IsTerminal, stdin};

/// Makes the group of this process the one that reads the terminal and gets its Ctrl-C, if that is
/// its parent's to give. Without a terminal there is nothing to do, and a command that was started in
/// the background stays there.
pub(crate) fn take() {
    if let Ok(parent) = getpgid(Some(getppid())) {
        pass(parent, getpgrp());
    }
}

/// Makes the group of this process that one again, after the command of `group` has ended.
pub(crate) fn take_back(group: Pid) {
    pass(group, getpgrp());
}

/// Whether there is a terminal, and `group` is the one that reads it.
pub(crate) fn is_of(group: Pid) -> bool {
    stdin().is_terminal() && tcgetpgrp(stdin()) == Ok(group)
}

/// A process in the background that does this is stopped by SIGTTOU unless it blocks that
/// (<https://man7.org/linux/man-pages/man3/tcsetpgrp.3.html>).
fn pass(from: Pid, to: Pid) {
    if !stdin().is_terminal() || tcgetpgrp(stdin()) != Ok(from) {
        return;
    }
    let mut quiet = SigSet::empty();
    quiet.add(Signal::SIGTTOU);
    if quiet.thread_block().is_ok() {
        tcsetpgrp(stdin(), to).ok();
        quiet.thread_unblock().ok();
    }
}
