//! Executions: of exclusive-run as it is deployed, and of workflows that call the functions
//! themselves.

use crate::asl::{Frame, Machine, Place, Run};
use crate::cloud::{self, ExecutionRow};
use crate::engine::locked;
use crate::invoke::Failure;
use crate::pairs::{Event, Facet, facets};
use crate::trial::Trial;
use crate::witness::{self, RunFacts, Terms};
use crate::world::{World, short};
use lockstep::domain::{ExecutionArn, ExecutionEnd, WaiterId};
use serde_json::Value;
use std::sync::Arc;

/// What an execution is started with.
#[derive(Clone)]
pub(crate) struct Order {
    pub(crate) arn: ExecutionArn,
    pub(crate) machine: &'static Machine,
    pub(crate) input: Value,
    /// Whether it is ended from outside while it releases.
    pub(crate) dies_releasing: bool,
}

impl Order {
    /// Returns the same order under another name.
    pub(crate) fn named(&self, what: &str) -> Self {
        let arn = ExecutionArn::new(format!("{}-{what}", self.arn)).expect("a valid ARN");
        Self {
            arn,
            ..self.clone()
        }
    }

    /// Returns the kind of its work, as the pairs count it.
    fn kind(&self) -> Facet {
        match &self.input["work"] {
            work if work["startExecution"].is_object() => Facet::Workflow,
            work if work["runTask"].is_object() => Facet::Task,
            _ => Facet::States,
        }
    }
}

/// What StartExecution and RedriveExecution know of an execution.
#[derive(Clone)]
pub(crate) struct Story {
    machine: &'static Machine,
    pub(crate) input: Value,
    place: Place,
    pub(crate) redrives: u64,
}

impl Story {
    /// Returns whether the states themselves are the work.
    pub(crate) fn is_own(&self) -> bool {
        !std::ptr::eq(self.machine, Machine::exclusive_run())
    }
}

/// Starts an execution.
pub(crate) fn start(world: &Arc<World>, order: &Order) {
    let input = &order.input;
    let name = short(order.arn.as_str());
    world.note(name, format_args!("starts with {input}"));
    let holder = cloud::holder_of(&order.arn);
    let terms = Terms::read(input).expect("the input names a lock");
    let lock = terms.lock.clone();
    let facts = RunFacts {
        from_begin: world.tries(Trial::WorkTime),
        ..RunFacts::of(terms)
    };
    if input["overlap"] == "replace" {
        locked(&world.audit).replacers.insert(WaiterId::of(&holder));
    }
    world.plays(&holder, &lock, facets(input, order.kind()));
    locked(&world.witness).runs.insert(holder, facts);
    let story = Story {
        machine: order.machine,
        input: input.clone(),
        place: Frame::starting_at(&order.machine.start_at, input.clone()),
        redrives: 0,
    };
    let job = carry_out(world, &order.arn, world.now(), &story);
    let row = ExecutionRow {
        lock,
        started: world.now(),
        ended: None,
        redriven: None,
        end_before: None,
        job,
        story,
        dies_releasing: order.dies_releasing,
    };
    cloud::begin(world, &order.arn, row);
}

/// Redrives an execution that has not succeeded. It goes on from the state that did not succeed,
/// with the variables of that time. An execution that failed by a Fail state fails again.
pub(crate) fn redrive(world: &Arc<World>, arn: &ExecutionArn) {
    if world.is_calm() || !cloud::has_failed(world, arn) {
        return;
    }
    let cloud = locked(&world.cloud);
    let Some(row) = cloud.executions.get(arn) else {
        return;
    };
    let (mut story, started) = (row.story.clone(), row.started);
    drop(cloud);
    story.redrives += 1;
    let job = carry_out(world, arn, started, &story);
    cloud::begin_again(world, arn, job, story);
    let holder = cloud::holder_of(arn);
    world.plays_on(&holder);
    world.happens_to(Event::Redrive, &holder);
}

fn carry_out(world: &Arc<World>, arn: &ExecutionArn, started: u64, story: &Story) -> u64 {
    let run = Run {
        world: Arc::clone(world),
        arn: arn.clone(),
        machine: story.machine,
        input: story.input.clone(),
        started,
        redrives: story.redrives,
        root: Arc::clone(&story.place),
        script: None,
    };
    world.spawn(async move {
        let end = run.carry_out().await;
        conclude(&run, end);
    })
}

fn conclude(run: &Run, end: Result<Value, Failure>) {
    let (world, name) = (&run.world, short(run.arn.as_str()));
    let how = match end {
        Ok(output) => {
            match output["status"].as_str() {
                Some("skipped") => world.count("skipped"),
                Some("duplicate") => world.count("duplicates"),
                Some("gaveUp") => world.count("gave up"),
                _ => {}
            }
            world.note(name, format_args!("succeeds with {output}"));
            witness::is_green(world, &run.arn, &output);
            ExecutionEnd::Succeeded
        }
        Err(Failure { error, cause }) => {
            if error.is_empty() {
                world.break_promise(format!("{name} failed without an error: {cause}"));
            }
            world.note(name, format_args!("fails with {error}: {cause}"));
            ExecutionEnd::Failed
        }
    };
    cloud::end(world, &run.arn, how);
}

/// Notes that the execution asks to release its grant. Some executions are ended from outside just
/// then, because most is under way at that moment.
pub(crate) fn is_releasing(world: &Arc<World>, arn: &ExecutionArn) {
    let mut cloud = locked(&world.cloud);
    let row = cloud.executions.get_mut(arn);
    let doomed = row.is_some_and(|row| std::mem::take(&mut row.dies_releasing));
    drop(cloud);
    if !doomed || world.is_calm() {
        return;
    }
    let (later, arn) = (Arc::clone(world), arn.clone());
    world.spawn(async move {
        later.linger(0..=60).await;
        later.count("ended while releasing");
        cloud::abort(&later, &arn, ExecutionEnd::Aborted);
        if later.chance(600) {
            later.linger(2000..=90_000).await;
            redrive(&later, &arn);
        }
    });
}
