//! The foreground process group of the terminal, if there is one.

use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{Pid, getpgid, getpgrp, getppid, tcgetpgrp, tcsetpgrp};
use std::io::{IsTerminal, stdin};

/// Makes the group of this process the foreground group of the terminal, which reads the terminal and gets
/// SIGINT from Ctrl-C, if the group of its parent is that now. Does nothing without a terminal, or if the
/// parent is in the background.
pub(crate) fn take() {
    if let Ok(parent) = getpgid(Some(getppid())) {
        pass(parent, getpgrp());
    }
}

/// Makes the group of this process the foreground group again, after the command of `group` has ended.
pub(crate) fn take_back(group: Pid) {
    pass(group, getpgrp());
}

/// Returns whether there is a terminal and `group` is its foreground group.
pub(crate) fn is_of(group: Pid) -> bool {
    stdin().is_terminal() && tcgetpgrp(stdin()) == Ok(group)
}

/// Makes `to` the foreground group, if `from` is that now. Blocks SIGTTOU meanwhile, by which the kernel
/// stops a background process that calls `tcsetpgrp`
/// (<https://man7.org/linux/man-pages/man3/tcsetpgrp.3.html>).
fn pass(from: Pid, to: Pid) {
    if !stdin().is_terminal() || tcgetpgrp(stdin()) != Ok(from) {
        return;
    }
    let mut blocked = SigSet::empty();
    blocked.add(Signal::SIGTTOU);
    if blocked.thread_block().is_ok() {
        tcsetpgrp(stdin(), to).ok();
        blocked.thread_unblock().ok();
    }
}
