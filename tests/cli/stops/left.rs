//! Processes of a command that are hard to see: they fork while they end, their first thread has
//! ended, `lockstep` has no file descriptor to look for them, or they end by the hundred.

use crate::support::{HOPPER, Scene, Started, output};
use futures_util::future::join_all;
use lockstep_tests::stack::{pause, until};
use tokio::process::Command;

/// The beginning of each program. Its first argument is a number of milliseconds.
const BEGIN: &str = r#"
import ctypes, os, platform, signal, sys, threading, time

def note(text):
    with open(os.environ["NOTES"] + ".got", "a") as notes:
        notes.write(text + "\n")

def ready():
    with open(os.environ["NOTES"], "a") as notes:
        notes.write(f"{os.getpid()}\n")

millis = int(sys.argv[1]) / 1000
"#;

/// Hands its work over to a child after SIGTERM, and ends.
const HAND_OVER: &str = r#"
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
ready()
signal.sigwait({signal.SIGTERM})
time.sleep(millis)
if os.fork() == 0:
    os.setsid()
    time.sleep(0.7)
    note("saved")
os._exit(0)
"#;

/// Ends its first thread, and works in its second one.
const SECOND_THREAD: &str = r#"
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

def work():
    # The first thread has ended by then.
    time.sleep(0.3)
    ready()
    signal.sigwait({signal.SIGTERM})
    note("term")
    time.sleep(0.7)
    note("saved")
    os._exit(0)

threading.Thread(target=work).start()
# Ends this thread alone.
ctypes.CDLL(None).syscall(60 if platform.machine() == "x86_64" else 93, 0)
"#;

/// Starts short jobs that lose their parent, as fast as it can, until nine seconds after SIGTERM.
/// Perl forks in a tenth of the time that Python needs.
const STORM: &str = r#"
use POSIX; use Time::HiRes qw(time usleep);
sub note { open my $notes, ">>", $_[0]; print $notes "$_[1]\n"; close $notes; }
my $is_asked = 0;
$SIG{TERM} = sub { $is_asked = 1 };
note($ENV{NOTES}, $$);
usleep(10000) until $is_asked;
my $end = time + 9;
while (time < $end) {
    my $job = fork();
    if ($job == 0) {
        usleep(2000) if fork() == 0;
        POSIX::_exit(0);
    }
    waitpid($job, 0);
}
note("$ENV{NOTES}.got", "saved");
"#;

/// Joins the group of `lockstep`, notes SIGTERM, and does not end.
const ELSEWHERE: &str = r#"
os.setpgid(0, os.getpgid(os.getppid()))
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
ready()
signal.sigwait({signal.SIGTERM})
note("term")
time.sleep(300)
"#;

/// Becomes a daemon by two forks, the second one after a time.
const DAEMON: &str = r#"
if os.fork() == 0:
    os.setsid()
    time.sleep(millis)
    if os.fork() == 0:
        note("up")
        time.sleep(1.5)
        note("outlived")
os._exit(0)
"#;

/// Returns a run of `program` in `shell`, which has the program in `$P` and its number in `$N`.
fn run(scene: &Scene, flags: &[&str], (shell, program): (&str, &str), millis: u32) -> Command {
    let mut run = scene.run(flags, &["sh", "-c", shell]);
    let begin = if program == STORM { "" } else { BEGIN };
    run.env("P", format!("{begin}{program}"))
        .env("N", millis.to_string());
    run
}

/// Returns the lines that scripts have written to `$NOTES.got`.
fn got(scene: &Scene) -> Vec<String> {
    let got = std::fs::read_to_string(scene.notes.with_extension("got"));
    got.unwrap_or_default().lines().map(str::to_owned).collect()
}

/// Stops a run of `programs` by SIGTERM, and returns its exit code and the notes.
async fn stopped(flags: &[&str], programs: (&str, &str), millis: u32) -> (i32, Vec<String>) {
    let scene = Scene::open("hard-to-see").await;
    let mut run = Started::of(run(&scene, flags, programs, millis));
    scene.ids(programs.0.matches("$P").count()).await;

    run.signal("TERM").await;

    let code = run.code().await;
    assert_eq!(scene.held().await, 0);
    (code, got(&scene))
}

#[tokio::test]
async fn a_child_forked_at_any_time_of_a_stop_may_finish() {
    let alone = "exec python3 -c \"$P\" $N";
    for shell in [alone, "python3 -c \"$P\" $N; true"] {
        for millis in (0..24).step_by(4) {
            let delays = millis..millis + 4;
            let runs =
                delays.map(|millis| stopped(&["--grace", "60s"], (shell, HAND_OVER), millis));
            for (code, got) in join_all(runs).await {
                assert_eq!(
                    (code, got),
                    (143, vec!["saved".into()]),
                    "{shell}: {millis} ms"
                );
            }
        }
    }
}

#[tokio::test]
async fn a_process_whose_first_thread_has_ended_counts_as_alive() {
    for shell in [
        "python3 -c \"$P\" $N; true",
        "setsid python3 -c \"$P\" $N & exec sleep 300",
    ] {
        let end = stopped(&["--grace", "60s"], (shell, SECOND_THREAD), 0).await;

        assert_eq!(end, (143, vec!["term".into(), "saved".into()]), "{shell}");
    }
}

#[tokio::test]
#[ignore = "takes the whole machine from the tests beside it: make storm"]
async fn a_storm_of_orphans_costs_no_lease_and_no_grace() {
    let shell = "perl -e \"$P\" & ".repeat(4) + "exec sleep 300";
    for (grace, saved) in [("60s", 4), ("2s", 0)] {
        let flags = ["--lease", "5s", "--grace", grace];

        let (code, got) = stopped(&flags, (&shell, STORM), 0).await;

        assert_eq!((code, got.len()), (143, saved), "--grace {grace}: {got:?}");
    }
}

#[tokio::test]
async fn a_first_process_in_another_group_is_stopped_and_killed() {
    let shell = "exec python3 -c \"$P\" $N";

    let end = stopped(&["--grace", "1s"], (shell, ELSEWHERE), 0).await;

    assert_eq!(end, (143, vec!["term".into()]));
}

#[tokio::test]
async fn a_daemon_escapes_at_no_time_of_its_two_forks() {
    for millis in (0..24).step_by(4) {
        let runs = (millis..millis + 4).map(async |millis| {
            let scene = Scene::open("escapes").await;
            let programs = ("exec python3 -c \"$P\" $N", DAEMON);
            let (code, _, stderr) = output(run(&scene, &[], programs, millis)).await;
            (code, scene, stderr)
        });
        let ended = join_all(runs).await;
        pause(2_000).await;

        for (code, scene, stderr) in ended {
            assert_eq!(code, 0, "{stderr}");
            assert!(!got(&scene).contains(&"outlived".to_owned()), "{stderr}");
        }
    }
}

#[tokio::test]
async fn a_process_that_forks_and_ends_all_the_time_is_killed() {
    let scene = Scene::open("hopper").await;
    let hops = || {
        let hops = std::fs::read_to_string(scene.notes.with_extension("hops"));
        hops.unwrap_or_default()
    };
    let mut run = scene.bash(
        &[],
        "perl -e \"$P\" & until [ -s $NOTES.hops ]; do sleep 0.1; done",
    );
    run.env("P", HOPPER);

    let (code, _, stderr) = output(run).await;

    let at_end = hops();
    pause(2_500).await;
    assert!(!at_end.contains("ended"), "{stderr}");
    assert_eq!((code, hops()), (0, at_end), "{stderr}");
}

#[tokio::test]
async fn without_a_file_descriptor_lockstep_still_waits_for_processes() {
    let scene = Scene::open("no-descriptor").await;
    let script = "trap 'sleep 2; echo saved >> $NOTES.got; exit' TERM; echo $BASHPID >> $NOTES; \
        while :; do sleep 0.1; done";
    let script = format!("({script}) & exec sleep 300");
    let mut run = scene.start(&["--grace", "60s"], &script);
    scene.ids(1).await;
    let limit = async |most: &str| {
        let mut limit = Command::new("prlimit");
        limit.args(["--pid", &run.pid.to_string(), &format!("--nofile={most}:")]);
        assert!(limit.status().await.expect("prlimit").success());
    };

    limit("3").await;
    run.signal("TERM").await;
    until("the first process", 10, async || run.children().len() == 1).await;
    pause(500).await;
    limit("1024").await;

    assert_eq!((run.code().await, got(&scene)), (143, vec!["saved".into()]));
}
