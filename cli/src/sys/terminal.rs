//! Who gets the keyboard, when there is one.

use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{Pid, getpgrp, tcsetpgrp};
use std::io::{IsTerminal, stdin};

/// Makes the group of this process the one that reads the terminal and gets its Ctrl-C. Without a
/// terminal there is nothing to do.
///
/// A process in the background that asks for the terminal is stopped by SIGTTOU unless it blocks
/// that (<https://man7.org/linux/man-pages/man3/tcsetpgrp.3.html>).
pub(crate) fn take() {
    give_to(getpgrp());
}

fn give_to(group: Pid) {
    if !stdin().is_terminal() {
        return;
    }
    let mut quiet = SigSet::empty();
    quiet.add(Signal::SIGTTOU);
    if quiet.thread_block().is_ok() {
        // A terminal that is not ours to give stays with whoever has it.
        tcsetpgrp(stdin(), group).ok();
        quiet.thread_unblock().ok();
    }
}
