//! Starts runs: executions of state machines, and processes under `lockstep run`.

use super::plan::{Lock, Plan, Run, Version, Way};
use crate::stack::{Stack, unique};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tokio::process::{Child, Command};

/// The lease of all runs, with a heartbeat every five seconds: many heartbeats fall into a deployment, and a
/// busy machine does not lose one.
const LEASE: u32 = 20;
const HEARTBEAT: u32 = 5;

/// What a process does under its lock: it writes when it starts, when it is asked to stop, and when its work is done.
const SCRIPT: &str = r#"
note() { echo "$1 $(date +%s%3N) $LOCKSTEP_FENCING_TOKEN" >> "$NOTES"; }
note start
trap 'note term; exit 143' TERM
sleep "$WORK_SECONDS" & wait $!
note end
"#;

/// A run that was accepted.
#[derive(Debug)]
pub(super) enum Handle {
    /// By its ARN.
    Execution(String),
    /// With the file that it writes to.
    Process(Box<Child>, PathBuf),
}

/// The built commands of both versions, and what was started by them.
#[derive(Debug)]
pub(super) struct Starter<'a> {
    pub(super) stack: &'a Stack,
    pub(super) plan: &'a Plan,
    /// The command of each version.
    commands: [PathBuf; 2],
    /// Where processes write to.
    folder: PathBuf,
    /// The woven workflow of each lock that has one.
    machines: BTreeMap<usize, String>,
    pub(super) handles: BTreeMap<usize, Handle>,
    /// How long the long runs work at least, in seconds: on a slow machine a deployment takes longer.
    pub(super) hold: f64,
}

impl<'a> Starter<'a> {
    /// Returns a starter that has started nothing.
    pub(super) fn new(
        stack: &'a Stack,
        plan: &'a Plan,
        commands: [PathBuf; 2],
        folder: PathBuf,
    ) -> Self {
        Self {
            stack,
            plan,
            commands,
            folder,
            machines: BTreeMap::new(),
            handles: BTreeMap::new(),
            hold: 0.0,
        }
    }

    fn command(&self, version: Version) -> &Path {
        &self.commands[usize::from(version == Version::To)]
    }

    /// Gives each woven workflow the definition that a version weaves, as a user does after an upgrade.
    pub(super) async fn weave(&mut self, version: Version) {
        let plan = self.plan;
        for (number, lock) in plan.locks.iter().enumerate() {
            if plan
                .runs
                .iter()
                .all(|run| run.lock != number || run.way != Way::Workflow)
            {
                continue;
            }
            let definition = self.woven(version, lock).await;
            if let Some(arn) = self.machines.get(&number) {
                let update = self.stack.sfn.update_state_machine().state_machine_arn(arn);
                let update = update.definition(definition).send().await;
                update.expect("an update of a state machine");
            } else {
                let definition =
                    serde_json::from_str(&definition).expect("a woven definition is JSON");
                let machine = self.stack.guarded(&definition).await;
                self.machines.insert(number, machine);
            }
        }
    }

    async fn woven(&self, version: Version, lock: &Lock) -> String {
        let plain = json!({ "StartAt": "Work", "States": {
            "Work": { "Type": "Wait", "SecondsPath": "$.seconds", "End": true }
        } });
        let [plain_file, woven_file] =
            ["plain", "woven"].map(|name| self.folder.join(unique(name)));
        std::fs::write(&plain_file, plain.to_string()).expect("a definition is written");
        let mut weave = Command::new(self.command(version));
        weave
            .arg("weave")
            .arg(&plain_file)
            .arg("-o")
            .arg(&woven_file);
        weave.args(["--lock", &lock.name, "--overlap", "queue"]);
        for (flag, value) in [
            ("--permits", lock.permits.to_string()),
            ("--lease-seconds", LEASE.to_string()),
            ("--heartbeat-seconds", HEARTBEAT.to_string()),
            ("--max-heartbeat-seconds", HEARTBEAT.to_string()),
        ] {
            weave.arg(flag).arg(value);
        }
        let done = weave.output().await.expect("the command runs");
        assert!(done.status.success(), "{weave:?}: {done:?}");
        let text = std::fs::read_to_string(&woven_file).expect("a woven definition");
        let functions =
            ["AcquireLock", "Heartbeat", "ReleaseLock"].map(|name| format!("{name}FunctionArn"));
        functions.iter().fold(text, |text, name| {
            text.replace(&format!("${{{name}}}"), self.stack.output(name))
        })
    }

    /// Starts a run.
    pub(super) async fn start(&mut self, run: &Run) {
        let mut run = run.clone();
        if run.long {
            run.seconds = run.seconds.max(self.hold);
        }
        let run = &run;
        let handle = match run.way {
            Way::Task => {
                let machine = self.stack.output("ExclusiveRunStateMachineArn");
                Handle::Execution(self.stack.start_machine(machine, &self.input(run)).await)
            }
            Way::Workflow => {
                // A Wait state takes whole seconds.
                let input = json!({ "seconds": run.seconds.ceil() as u64 });
                Handle::Execution(
                    self.stack
                        .start_machine(&self.machines[&run.lock], &input)
                        .await,
                )
            }
            Way::Process => self.process(run),
        };
        self.handles.insert(run.id, handle);
    }

    fn input(&self, run: &Run) -> serde_json::Value {
        let lock = &self.plan.locks[run.lock];
        let input = self
            .stack
            .batch_input(&lock.name)
            .queued()
            .seconds(run.seconds);
        let input = input.env("BATCH_STEP", "0.5").with("permits", lock.permits);
        let input = input
            .with("leaseSeconds", LEASE)
            .with("heartbeatSeconds", HEARTBEAT);
        let input = input.with("maxHeartbeatSeconds", HEARTBEAT);
        let input = match &run.run_key {
            Some(key) => input.with("runKey", key.as_str()),
            None => input,
        };
        input.json().clone()
    }

    fn process(&self, run: &Run) -> Handle {
        let lock = &self.plan.locks[run.lock];
        let notes = self.folder.join(format!("run-{}", run.id));
        let log = std::fs::File::create(notes.with_extension("log")).expect("a log");
        let mut command = Command::new(self.command(run.version));
        command.args([
            "run",
            "--lock",
            &lock.name,
            "--overlap",
            "queue",
            "--max-wait",
            "1h",
        ]);
        command.args([
            "--permits",
            &lock.permits.to_string(),
            "--lease",
            &format!("{LEASE}s"),
        ]);
        if let Some(key) = &run.run_key {
            command.args(["--run-key", key]);
        }
        command.args(["--", "bash", "-c", SCRIPT]);
        command.envs(&self.stack.settings);
        command.env("LOCKSTEP_TABLE", self.stack.output("LockTableName"));
        command
            .env("WORK_SECONDS", run.seconds.to_string())
            .env("NOTES", &notes);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .kill_on_drop(true);
        let child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        Handle::Process(Box::new(child), notes)
    }
}
