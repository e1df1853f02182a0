//! The proof of an upgrade and a rollback: a stack is deployed to twice while runs are at work and in queues, and nothing
//! overlaps, is lost, is done twice or is cut off.

mod operator;
pub mod plan;
mod start;
pub mod verdict;
mod witness;

use crate::stack::{Stack, now, pause};
use plan::{Plan, Run, Stage, Version};
use start::Starter;
use std::path::{Path, PathBuf};
use tokio::process::Command;
use verdict::{Deployment, Seen};

/// One built version of Lockstep.
#[derive(Clone, Debug)]
pub struct Built {
    /// Its folder, with the template and the functions.
    pub folder: PathBuf,
    /// Its command.
    pub command: PathBuf,
}

/// What a proof is asked for.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The version that the stack has, and gets again.
    pub from: Built,
    /// The version that the stack is upgraded to.
    pub to: Built,
    /// How many runs are started.
    pub runs: usize,
    /// How many runs are in the queues at each deployment, at least.
    pub queue: usize,
    /// How long the runs work that are to be at work during a deployment, in seconds.
    pub hold: f64,
    /// How long the runs may take after the rollback, in seconds.
    pub limit: u64,
}

/// How long the long runs of a stage may take to begin, in seconds.
const PATIENCE: u64 = 300;

/// Upgrades the stack, which has the version `from`, and rolls it back, with runs in flight.
///
/// # Errors
/// If a deployment failed, or the rollback deployed something else.
pub async fn prove(settings: &Settings) -> Result<Seen, String> {
    let stack = Stack::connect().await?;
    let prefix = format!("upgrade-{}", now());
    let folder = crate::repository().join("target/upgrade").join(&prefix);
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let plan = Plan::new(&prefix, settings.runs, settings.hold);
    let commands = [&settings.from, &settings.to].map(|built| built.command.clone());
    let operated = format!("{prefix}/operated");
    let mut starter = Starter::new(&stack, &plan, commands.clone(), folder);
    let before = deployed(&stack).await;
    let mut lacks = Vec::new();

    let upgrade = stage(&mut starter, Stage::First, settings, &mut lacks).await?;
    starter.hold = 3.0 * upgrade.seconds();
    let upgraded = deployed(&stack).await;
    let mut refused = operator::refused(&stack, &commands, &operated, "upgraded").await;
    let rollback = stage(&mut starter, Stage::Upgraded, settings, &mut lacks).await?;
    let rolled_back = deployed(&stack).await;
    refused.extend(operator::refused(&stack, &commands, &operated, "rolled back").await);
    start(&mut starter, Stage::RolledBack).await;
    let told = starter.told(settings.limit).await;
    let works = starter.works(&plan.runs.iter().collect::<Vec<_>>()).await;

    if rolled_back != before {
        return Err("the rollback deployed other code than there was before".into());
    }
    let changed = before
        .iter()
        .zip(&upgraded)
        .filter(|(before, after)| before != after)
        .count();
    if changed == 0 {
        lacks.push("the upgrade changed no function and no definition".into());
    }
    Ok(Seen {
        works,
        told,
        deployments: [upgrade, rollback],
        changed,
        refused,
        lacks,
        plan: plan.clone(),
    })
}

/// Starts the runs of a stage, waits until enough are at work and in the queues, and deploys the other version. Notes
/// what is not as it was asked for.
async fn stage(
    starter: &mut Starter<'_>,
    stage: Stage,
    settings: &Settings,
    lacks: &mut Vec<String>,
) -> Result<Deployment, String> {
    start(starter, stage).await;
    let long: Vec<&Run> = starter.plan.of(stage).filter(|run| run.long).collect();
    let work = starter.all_work(&long, PATIENCE).await;
    if work < long.len() {
        lacks.push(format!(
            "{stage:?}: {work} of {} long runs work after {PATIENCE} s",
            long.len()
        ));
    }
    let waiting = in_queues(starter, settings.queue).await;
    if waiting < settings.queue {
        lacks.push(format!(
            "{stage:?}: {waiting} runs are in the queues, not {}",
            settings.queue
        ));
    }
    let next = if stage == Stage::First {
        &settings.to
    } else {
        &settings.from
    };
    println!("{stage:?}: {work} long runs at work, {waiting} in the queues");
    let began = now();
    deploy(&next.folder).await?;
    Ok(Deployment {
        began,
        ended: now(),
        waiting,
    })
}

async fn start(starter: &mut Starter<'_>, stage: Stage) {
    let version = if stage == Stage::Upgraded {
        Version::To
    } else {
        Version::From
    };
    starter.weave(version).await;
    let plan = starter.plan;
    for run in plan.of(stage) {
        starter.start(run).await;
    }
}

/// Returns how many runs are in the queues, once there are `enough` or after some seconds.
async fn in_queues(starter: &Starter<'_>, enough: usize) -> usize {
    let end = now() + 20_000;
    loop {
        let mut waiting = 0;
        for lock in &starter.plan.locks {
            waiting += starter.stack.waiting(&lock.name).await;
        }
        if waiting >= enough || now() > end {
            return waiting;
        }
        pause(500).await;
    }
}

/// Deploys a version over the stack, as a user does: `sam deploy`.
async fn deploy(version: &Path) -> Result<(), String> {
    let mut deploy = Command::new(crate::repository().join("tests/stack/lockstack"));
    deploy.arg("deploy").arg("--version").arg(version);
    let status = deploy
        .status()
        .await
        .map_err(|error| format!("{deploy:?}: {error}"))?;
    if status.success() {
        return Ok(());
    }
    Err(format!("the deployment of {} failed", version.display()))
}

/// Returns what identifies the code of each function and the definition of exclusive-run.
async fn deployed(stack: &Stack) -> Vec<String> {
    let mut all = Vec::new();
    for name in [
        "AcquireLock",
        "Heartbeat",
        "ReleaseLock",
        "CheckRunningExecutions",
        "Reaper",
        "Operate",
    ] {
        let arn = stack.output(&format!("{name}FunctionArn"));
        let path = format!("/2015-03-31/functions/{arn}/configuration");
        let reply = stack
            .rest("lambda", "GET", &path, serde_json::Value::Null)
            .await;
        let digest = reply.body["CodeSha256"].as_str();
        all.push(
            digest
                .unwrap_or_else(|| panic!("{arn}: {}", reply.body))
                .to_owned(),
        );
    }
    let machine = stack.output("ExclusiveRunStateMachineArn");
    let described = stack
        .sfn
        .describe_state_machine()
        .state_machine_arn(machine)
        .send()
        .await;
    all.push(described.expect("the deployed state machine").definition);
    all
}
