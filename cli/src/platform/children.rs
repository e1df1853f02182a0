//! What the kernel does for the parent of processes. Only Linux does: other systems build the operators'
//! commands, and those that guard processes refuse to start there.

/// This program, even where its file was replaced or is not in `PATH`.
pub(crate) const SELF: &str = "/proc/self/exe";

#[cfg(target_os = "linux")]
mod kernel {
    use nix::sys::prctl::{set_child_subreaper, set_pdeathsig};
    use nix::sys::signal::Signal;
    use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
    use nix::unistd::Pid;

    /// Has the kernel kill this process when its parent ends, and returns whether it will
    /// (<https://man7.org/linux/man-pages/man2/PR_SET_PDEATHSIG.2const.html>).
    pub(crate) fn die_with_parent() -> bool {
        set_pdeathsig(Signal::SIGKILL).is_ok()
    }

    /// Makes this process the parent of orphans below it
    /// (<https://man7.org/linux/man-pages/man2/PR_SET_CHILD_SUBREAPER.2const.html>).
    pub(crate) fn adopt_orphans() {
        set_child_subreaper(true).ok();
    }

    /// Finds how a child has ended, without reaping it: until then the kernel does not reuse its id and its
    /// group's.
    pub(crate) fn peek_exit(pid: Pid) -> nix::Result<WaitStatus> {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        waitid(Id::Pid(pid), flags)
    }

    /// Whether Ctrl-Z stopped a child in `group` since the last call.
    pub(crate) fn is_stopped(group: Pid) -> bool {
        let flags = WaitPidFlag::WSTOPPED | WaitPidFlag::WNOHANG;
        let stopped = waitid(Id::PGid(group), flags);
        matches!(stopped, Ok(WaitStatus::Stopped(_, Signal::SIGTSTP)))
    }
}

#[cfg(not(target_os = "linux"))]
mod kernel {
    use nix::errno::Errno;
    use nix::sys::wait::WaitStatus;
    use nix::unistd::Pid;

    pub(crate) fn die_with_parent() -> bool {
        false
    }

    pub(crate) fn adopt_orphans() {}

    pub(crate) fn peek_exit(_pid: Pid) -> nix::Result<WaitStatus> {
        Err(Errno::ENOSYS)
    }

    pub(crate) fn is_stopped(_group: Pid) -> bool {
        false
    }
}

pub(crate) use kernel::{adopt_orphans, die_with_parent, is_stopped, peek_exit};
