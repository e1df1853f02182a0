//! Stops: processes that outlive the first process of a command have the rest of its grace, in its
//! group and outside.

mod left;
mod once;
mod scope;
pub(crate) mod shapes;

use crate::agent::with_notes;
use crate::support::{Scene, Started, lives, output, until_dead};
use lockstep_tests::stack::until;
use serde_json::json;

/// Starts work in the group of the command, and work in a session of its own. Each notes its id,
/// and every TERM, USR1 and HUP that it gets. The first process ends at SIGTERM.
const IN_AND_OUT: &str = r#"
    work() {
        echo '
            for name in TERM USR1 HUP; do trap "echo '$1' $name >> $NOTES.got" $name; done
            echo $$ >> $NOTES
            until [ -e $NOTES.end ]; do sleep 0.05; done
            echo '$1' saved >> $NOTES.got'
    }
    sh -c "$(work in)" & setsid sh -c "$(work out)" & exec sleep 300"#;

/// A command whose first process has ended after SIGTERM, and whose two other processes work on.
struct Stopping {
    scene: Scene,
    run: Started,
    left: Vec<u32>,
}

impl Stopping {
    /// Starts the command with `flags`, and waits until `begin` has stopped it.
    async fn begin(test: &str, flags: &[&str], begin: impl AsyncFn(&Scene, &Started)) -> Self {
        let scene = Scene::open(test).await;
        let run = scene.start(flags, IN_AND_OUT);
        let left = scene.ids(2).await;
        begin(&scene, &run).await;
        let stopping = Self { scene, run, left };
        stopping.until_got(&["in TERM", "out TERM"]).await;
        stopping
    }

    async fn by_sigterm(test: &str, flags: &[&str]) -> Self {
        Self::begin(test, flags, async |_, run| run.signal("TERM").await).await
    }

    /// Returns the signals that the two processes got, sorted.
    fn got(&self) -> Vec<String> {
        let got = self.scene.notes.with_extension("got");
        let got = std::fs::read_to_string(got).unwrap_or_default();
        let mut lines: Vec<_> = got.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    }

    async fn until_got(&self, all: &[&str]) {
        until(&format!("{all:?}"), 20, async || self.got() == all).await;
    }

    /// Lets the two processes save, and returns the exit code of the run.
    async fn save(&mut self) -> i32 {
        std::fs::write(self.scene.notes.with_extension("end"), "").expect("a file");
        self.run.code().await
    }
}

#[tokio::test]
async fn processes_that_outlive_the_first_get_one_sigterm_and_may_end() {
    let mut stopping =
        Stopping::by_sigterm("stop-rest", &["--lease", "15s", "--grace", "60s"]).await;

    let first = stopping.scene.lease_end().await;
    let renewed = async || stopping.scene.lease_end().await > first;
    until("a renewal", 30, renewed).await;
    let code = stopping.save().await;

    assert_eq!(code, 143);
    assert_eq!(
        stopping.got(),
        ["in TERM", "in saved", "out TERM", "out saved"]
    );
    assert_eq!(stopping.scene.held().await, 0);
}

#[tokio::test]
async fn later_signals_reach_all_that_is_left_of_a_stopped_command() {
    let mut stopping = Stopping::by_sigterm("stop-again", &["--grace", "60s"]).await;
    let mut all = vec!["in TERM", "out TERM"];

    for (signal, lines) in [
        ("USR1", ["in USR1", "out USR1"]),
        ("HUP", ["in HUP", "out HUP"]),
        ("TERM", ["in TERM", "out TERM"]),
    ] {
        stopping.run.signal(signal).await;
        all.extend(lines);
        all.sort_unstable();
        stopping.until_got(&all).await;
    }

    assert_eq!(stopping.save().await, 143);
}

#[tokio::test]
async fn the_end_of_the_grace_kills_the_remaining_processes() {
    let mut stopping = Stopping::by_sigterm("stop-grace", &["--grace", "3s"]).await;

    assert_eq!(stopping.run.code().await, 143);

    assert!(!stopping.left.iter().any(|pid| lives(*pid)));
    assert_eq!(stopping.got(), ["in TERM", "out TERM"]);
    assert_eq!(stopping.scene.held().await, 0);
}

#[tokio::test]
async fn a_first_process_that_ignores_sigterm_keeps_it_from_no_other() {
    let scene = Scene::open("stop-outside").await;
    let ignores = "trap '' TERM; until [ -e $NOTES.end ]; do sleep 0.1; done";
    let mut run = scene.start(
        &["--grace", "4s"],
        &IN_AND_OUT.replace("exec sleep 300", ignores),
    );
    let left = scene.ids(2).await;

    run.signal("TERM").await;

    assert_eq!(run.code().await, 143);
    let got = std::fs::read_to_string(scene.notes.with_extension("got"));
    assert_eq!(got.expect("notes"), "in TERM\nout TERM\n");
    assert!(!left.iter().any(|pid| lives(*pid)));
}

#[tokio::test]
async fn a_stop_by_a_time_limit_gives_the_remaining_processes_their_grace() {
    for flag in ["--max-run", "--no-progress"] {
        let flags = [flag, "3s", "--grace", "60s"];
        let mut stopping = Stopping::begin("stop-limit", &flags, async |_, _| {}).await;

        assert_eq!(stopping.save().await, 124, "{flag}");
        assert_eq!(
            stopping.got(),
            ["in TERM", "in saved", "out TERM", "out saved"]
        );
    }
}

#[tokio::test]
async fn after_a_lost_lease_remaining_processes_work_until_its_end() {
    let flags = ["--lease", "15s", "--grace", "5m"];
    let evict = async |scene: &Scene, _: &Started| scene.evict_all(&scene.lock).await;
    let mut saved = Stopping::begin("stop-lost", &flags, evict).await;
    assert_eq!(saved.save().await, 76);
    let mut killed = Stopping::begin("stop-lost-killed", &flags, evict).await;
    assert_eq!(killed.run.code().await, 76);

    assert_eq!(
        saved.got(),
        ["in TERM", "in saved", "out TERM", "out saved"]
    );
    assert_eq!(killed.got(), ["in TERM", "out TERM"]);
    assert!(!killed.left.iter().any(|pid| lives(*pid)));
}

#[tokio::test]
async fn a_lease_that_is_lost_during_a_stop_signals_nothing_again() {
    let flags = ["--lease", "15s", "--grace", "5m"];
    let mut stopping = Stopping::by_sigterm("stop-then-lost", &flags).await;

    stopping.scene.evict_all(&stopping.scene.lock).await;

    assert_eq!(stopping.run.code().await, 143);
    assert_eq!(stopping.got(), ["in TERM", "out TERM"]);
}

#[tokio::test]
async fn remaining_processes_die_with_a_lockstep_killed_in_the_grace() {
    let stopping = Stopping::by_sigterm("stop-guard", &["--grace", "60s"]).await;

    stopping.run.signal("KILL").await;

    until_dead(&stopping.left, 5).await;
}

#[tokio::test]
async fn without_a_stop_remaining_processes_end_with_the_first() {
    let scene = Scene::open("no-stop").await;
    let script = format!(
        "{}; until [ \"$(wc -l < $NOTES)\" = 2 ]; do sleep 0.1; done",
        IN_AND_OUT.replace("exec sleep 300", "touch $NOTES")
    );

    let (code, _, stderr) = output(scene.bash(&["--grace", "60s"], &script)).await;

    let left = scene.ids(2).await;
    assert_eq!(code, 0, "{stderr}");
    assert!(!left.iter().any(|pid| lives(*pid)), "{stderr}");
}

#[tokio::test]
async fn remaining_processes_of_an_agents_program_keep_grace_and_jobs() {
    let scene = Scene::open("stop-agent").await;
    let flags = [
        "--lease", "6s", "--grace", "60s", "--", "bash", "-c", IN_AND_OUT,
    ];
    let mut agent = with_notes(&scene, &flags).await;
    let left = scene.ids(2).await;
    let job = agent
        .begin(json!({ "name": "export", "lock": scene.lock }))
        .await;
    let got = scene.notes.with_extension("got");
    let got = || std::fs::read_to_string(&got).unwrap_or_default();

    agent.process.signal("TERM").await;
    until("SIGTERM outside", 20, async || got().contains("out TERM")).await;
    let beat = agent.beat(&job, json!({})).await;
    let late = json!({ "name": "late", "lock": crate::support::lock("late") });
    let late = agent.ask(late).await;
    let end = agent.end(&job, "succeeded").await;
    std::fs::write(scene.notes.with_extension("end"), "").expect("a file");

    assert_eq!(agent.process.code().await, 143);
    assert_eq!((beat.status, late.error()), (200, (503, "Agent.Stopping")));
    assert_eq!(end.body["status"], "released");
    assert!(
        got().contains("in saved") && got().contains("out saved"),
        "{}",
        got()
    );
    assert!(!left.iter().any(|pid| lives(*pid)));
}
