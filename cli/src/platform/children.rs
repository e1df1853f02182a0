//! What the kernel does for the parent of processes. Only Linux does it: on other systems only the operators'
//! subcommands run, and those that guard processes refuse to start.

/// The path of this program, also if its file was replaced or is not in `PATH`.
pub(crate) const SELF: &str = "/proc/self/exe";

#[cfg(target_os = "linux")]
mod kernel {
    use nix::sys::prctl::{set_child_subreaper, set_pdeathsig};
    use nix::sys::signal::Signal;
    use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
    use nix::unistd::Pid;

    /// Makes the kernel kill this process when its parent ends, and returns whether that was possible
    /// (<https://man7.org/linux/man-pages/man2/PR_SET_PDEATHSIG.2const.html>).
    pub(crate) fn die_with_parent() -> bool {
        set_pdeathsig(Signal::SIGKILL).is_ok()
    }

    /// Makes this process the parent of all descendants that lose theirs
    /// (<https://man7.org/linux/man-pages/man2/PR_SET_CHILD_SUBREAPER.2const.html>).
    pub(crate) fn adopt_orphans() {
        set_child_subreaper(true).ok();
    }

    /// Returns how a child has ended, without reaping it. Until it is reaped, the kernel reuses neither its
    /// id nor the id of its group.
    pub(crate) fn peek_exit(pid: Pid) -> nix::Result<WaitStatus> {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        waitid(Id::Pid(pid), flags)
    }

    /// Returns whether Ctrl-Z has stopped a child in `group` since the last call.
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
