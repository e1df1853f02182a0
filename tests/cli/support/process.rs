//! A started `lockstep`, and the processes that it started.

use lockstep_tests::stack::until;
use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{ExitStatus, Stdio};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};

/// A Perl script that forks and ends every five milliseconds for ten seconds, each time in a
/// session of its own. It writes a line to `$NOTES.hops` after each second, and one at its end.
pub(crate) const HOPPER: &str = r#"
use POSIX; use Time::HiRes qw(time usleep);
sub note { open my $notes, ">>", "$ENV{NOTES}.hops"; print $notes "$_[0]\n"; close $notes; }
my $end = time + 10;
my $next = time;
while (time < $end) {
    exit 0 if fork();
    POSIX::setsid();
    if (time > $next) {
        $next += 1;
        note("hop");
    }
    usleep(5000);
}
note("ended");
"#;

/// A process that a test started. It is killed when the test ends.
#[derive(Debug)]
pub(crate) struct Started {
    child: Child,
    /// Its process id.
    pub(crate) pid: u32,
}

impl Started {
    /// Starts `command`.
    pub(crate) fn of(mut command: Command) -> Self {
        command.kill_on_drop(true);
        let child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let pid = child.id().expect("a process that runs");
        Self { child, pid }
    }

    /// Starts `command`, whose standard error is a pipe.
    pub(crate) fn with_stderr(mut command: Command) -> Self {
        command.stderr(Stdio::piped());
        Self::of(command)
    }

    /// Sends it a signal, by name or number.
    pub(crate) async fn signal(&self, signal: &str) {
        signal_to(self.pid, signal).await;
    }

    /// Waits for its end. Returns its exit code as a shell shows it: 128 and the signal that ended
    /// it.
    pub(crate) async fn code(&mut self) -> i32 {
        code_of(self.child.wait().await.expect("an end"))
    }

    /// Closes its standard input, which is a pipe.
    pub(crate) fn close_stdin(&mut self) {
        drop(self.child.stdin.take().expect("a pipe"));
    }

    /// Closes the reading end of its standard error, which is a pipe.
    pub(crate) fn close_stderr(&mut self) {
        drop(self.child.stderr.take().expect("a pipe"));
    }

    /// Returns what it prints on standard error until its end.
    pub(crate) async fn rest_of_stderr(&mut self) -> String {
        let mut stderr = self.child.stderr.take().expect("a pipe");
        let mut all = Vec::new();
        stderr.read_to_end(&mut all).await.expect("a pipe");
        String::from_utf8_lossy(&all).into_owned()
    }

    /// Returns the id and the command line of its living children, except the watchdog and those
    /// that do not run their own program yet.
    pub(crate) fn children(&self) -> Vec<(u32, String)> {
        let own = command_line(self.pid);
        let mut children = children_of(self.pid);
        // A child has its parent's command line until it calls `execve`, and none inside that call.
        let is_starting = |command: &str| command.is_empty() || command == own;
        children.retain(|(_, command)| !is_starting(command) && !command.contains(" watchdog"));
        children
    }

    /// Returns the id of its watchdog.
    pub(crate) fn watchdog(&self) -> u32 {
        self.find_watchdog().expect("a watchdog")
    }

    /// Stops its watchdog, and fills the pipe to it. Returns the watchdog.
    pub(crate) async fn stop_watchdog(&self) -> u32 {
        let watchdog = self.watchdog();
        signal_to(watchdog, "STOP").await;
        let link = |pid, fd: &str| fs::read_link(format!("/proc/{pid}/fd/{fd}")).ok();
        let pipe = link(watchdog, "0");
        let files = fs::read_dir(format!("/proc/{}/fd", self.pid)).expect("open files");
        let own = files
            .flatten()
            .find(|file| fs::read_link(file.path()).ok() == pipe);
        let mut options = fs::OpenOptions::new();
        // O_NONBLOCK, for this opening of the pipe only.
        options.write(true).custom_flags(0o4000);
        let mut pipe = options.open(own.expect("a pipe").path()).expect("the pipe");
        loop {
            // Empty orders change nothing.
            match pipe.write(&[b'\n'; 4096]) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return watchdog,
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Returns the id of its watchdog, if it has one.
    pub(crate) fn find_watchdog(&self) -> Option<u32> {
        let mut all = children_of(self.pid).into_iter();
        let found = all.find(|(_, command)| command.contains(" watchdog"));
        found.map(|(pid, _)| pid)
    }
}

/// Runs `command` to its end. Returns exit code, stdout and stderr.
pub(crate) async fn output(mut command: Command) -> (i32, String, String) {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = command
        .kill_on_drop(true)
        .output()
        .await
        .expect("a command that runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        code_of(output.status),
        text(&output.stdout),
        text(&output.stderr),
    )
}

/// Runs `command` to its end, and checks that it ends with `code`, prints nothing, and names `part` in
/// its one line of standard error.
pub(crate) async fn assert_refused(command: Command, code: i32, part: &str) {
    let name = format!("{:?}", command.as_std());
    let (ended, out, stderr) = output(command).await;
    let actual = (ended, out.as_str(), stderr.lines().count());
    assert_eq!(actual, (code, "", 1), "{name}: {stderr}");
    assert!(stderr.contains(part), "{name}: {stderr}");
}

/// Sends a signal to a process, or to a group if `-` stands before its id.
pub(crate) async fn signal_to(pid: impl ToString, signal: &str) {
    // The `kill` of the shell, because a small system has no other.
    let mut kill = Command::new("bash");
    kill.args(["-c", "kill -s \"$0\" -- \"$1\"", signal, &pid.to_string()]);
    let sent = kill.status().await.expect("bash");
    assert!(sent.success(), "kill -s {signal}");
}

/// Sends SIGTERM to all of `pids`, one right after the other.
pub(crate) async fn terminate(pids: &[u32]) {
    let pids: Vec<_> = pids.iter().map(ToString::to_string).collect();
    let mut kill = Command::new("bash");
    kill.args(["-c", r#"kill -TERM "$@""#, "kill"]).args(pids);
    assert!(kill.status().await.expect("bash").success());
}

/// Returns whether a process lives. A zombie does not.
pub(crate) fn lives(pid: u32) -> bool {
    stat(pid).is_some_and(|(state, _)| !matches!(state, 'Z' | 'X'))
}

/// Waits until none of `pids` lives.
pub(crate) async fn until_dead(pids: &[u32], seconds: u64) {
    let what = format!("end of {pids:?}");
    until(&what, seconds, async || !pids.iter().any(|pid| lives(*pid))).await;
}

/// Returns the id and the command line of the living children of a process.
pub(crate) fn children_of(parent: u32) -> Vec<(u32, String)> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let own = ids.filter(|id| stat(*id).is_some_and(|(state, of)| state != 'Z' && of == parent));
    own.map(|id| (id, command_line(id))).collect()
}

fn command_line(pid: u32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).replace('\0', " ")
}

/// Returns the state and the parent of a process.
fn stat(pid: u32) -> Option<(char, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?.chars().next()?;
    Some((state, fields.next()?.parse().ok()?))
}

fn code_of(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    let signal = status.signal().map(|signal| 128 + signal);
    status.code().or(signal).expect("a code or a signal")
}
