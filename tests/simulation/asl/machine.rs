//! The way of an execution from state to state.

use super::definition::{
    ChoiceState, FailState, ParallelState, State, States, TaskState, WaitState,
};
use super::jsonata::Template;
use super::scope::{Facts, Frame, Place, Run, Scope};
use super::task::{Retries, catcher};
use crate::engine::locked;
use crate::invoke::Failure;
use crate::{bill, witness};
use futures_util::future::try_join_all;
use lockstep::contract::parse_time;
use serde_json::Value;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

type Running<'a, T> = Pin<Box<dyn Future<Output = Result<T, Failure>> + Send + 'a>>;

/// Where a state leads.
enum Step {
    Next(String, Value),
    End(Value),
}

/// The states that a retrier may repeat.
#[derive(Clone, Copy)]
enum Work<'a> {
    Task(&'a TaskState),
    Parallel(&'a ParallelState),
}

impl Run {
    /// Runs the execution from its present state to its end.
    pub(crate) async fn carry_out(&self) -> Result<Value, Failure> {
        let scope = Scope {
            run: self,
            place: Arc::clone(&self.root),
            outer: None,
        };
        bill::event(&self.world);
        let end = scope.carry_out(&self.machine.states).await;
        bill::event(&self.world);
        end
    }

    fn note(&self, what: &str) {
        let name = self.arn.as_str().rsplit(':').next().unwrap_or_default();
        self.world.note(name, format_args!("{what}"));
    }
}

impl Scope<'_> {
    fn carry_out<'a>(&'a self, states: &'a States) -> Running<'a, Value> {
        Box::pin(async move {
            loop {
                let (name, input) = self.here();
                let state = states
                    .get(&name)
                    .unwrap_or_else(|| panic!("the definition has no state {name}"));
                self.run.world.linger(5..=30).await;
                self.run.note(&format!("enters {name}"));
                bill::entered(&self.run.world);
                if self.outer.is_none() {
                    let is_parallel = matches!(state, State::Parallel(_));
                    witness::entered(&self.run.world, &self.run.arn, is_parallel);
                }
                let step = self.enter(&name, state, &input).await?;
                bill::event(&self.run.world);
                match step {
                    Step::Next(next, output) => {
                        let mut frame = locked(&self.place);
                        (frame.state, frame.input) = (next, output);
                    }
                    Step::End(output) => {
                        locked(&self.place).output = Some(output.clone());
                        return Ok(output);
                    }
                }
            }
        })
    }

    fn here(&self) -> (String, Value) {
        let frame = locked(&self.place);
        (frame.state.clone(), frame.input.clone())
    }

    async fn enter(&self, name: &str, state: &State, input: &Value) -> Result<Step, Failure> {
        let facts = Facts {
            state: name,
            input,
            retries: 0,
            token: None,
            result: None,
            error: None,
        };
        match state {
            State::Task(state) => self.persist(Work::Task(state), facts).await,
            State::Parallel(state) => self.persist(Work::Parallel(state), facts).await,
            State::Choice(state) => self.choose(state, facts),
            State::Wait(state) => {
                let until = self.end_of(state, facts)?;
                let now = self.run.world.now();
                self.run.world.sleep(until.saturating_sub(now)).await;
                self.assign(state.assign.as_ref(), facts)?;
                let output = self.fill_or(state.output.as_ref(), facts, input)?;
                Ok(leave(state.next.as_ref(), state.end, output))
            }
            State::Pass(state) => {
                let output = self.fill_or(state.output.as_ref(), facts, input)?;
                self.assign(state.assign.as_ref(), facts)?;
                Ok(leave(state.next.as_ref(), state.end, output))
            }
            State::Succeed(state) => {
                let output = self.fill_or(state.output.as_ref(), facts, input)?;
                Ok(Step::End(output))
            }
            State::Fail(state) => Err(self.fail(state, facts)?),
        }
    }

    fn choose(&self, state: &ChoiceState, facts: Facts<'_>) -> Result<Step, Failure> {
        for rule in &state.choices {
            match self.fill(&rule.condition, facts)? {
                Value::Bool(true) => {
                    let output = self.fill_or(rule.output.as_ref(), facts, facts.input)?;
                    self.assign(rule.assign.as_ref(), facts)?;
                    return Ok(Step::Next(rule.next.clone(), output));
                }
                Value::Bool(false) => {}
                other => {
                    let cause = format!("a Condition returned {other}, which is no boolean");
                    return Err(Failure::new("States.QueryEvaluationError", &cause));
                }
            }
        }
        let Some(next) = &state.default else {
            let cause = format!("no rule of {} matches", facts.state);
            return Err(Failure::new("States.NoChoiceMatched", &cause));
        };
        let output = self.fill_or(state.output.as_ref(), facts, facts.input)?;
        self.assign(state.assign.as_ref(), facts)?;
        Ok(Step::Next(next.clone(), output))
    }

    fn end_of(&self, state: &WaitState, facts: Facts<'_>) -> Result<u64, Failure> {
        let invalid = |value: &Value| {
            let cause = format!("{} cannot wait for {value}", facts.state);
            Failure::new("States.QueryEvaluationError", &cause)
        };
        match (&state.seconds, &state.timestamp) {
            (Some(seconds), None) => {
                let seconds = self.fill(seconds, facts)?;
                let length = seconds.as_u64().ok_or_else(|| invalid(&seconds))?;
                Ok(self.run.world.now() + length * 1000)
            }
            (None, Some(timestamp)) => {
                let timestamp = self.fill(timestamp, facts)?;
                let time = timestamp.as_str().map(|text| parse_time("Timestamp", text));
                let time = time.and_then(Result::ok);
                let time = time.ok_or_else(|| invalid(&timestamp))?.millis();
                let early = self.run.script.as_ref().map_or(0, |script| script.early());
                Ok(time.saturating_sub(early))
            }
            _ => panic!("{} needs Seconds or Timestamp", facts.state),
        }
    }

    /// Returns the error that a Fail state raises.
    fn fail(&self, state: &FailState, facts: Facts<'_>) -> Result<Failure, Failure> {
        let text = |template: &Option<Template>| -> Result<String, Failure> {
            let value = self.fill_or(template.as_ref(), facts, &Value::from(""))?;
            let text = value.as_str().map(str::to_owned);
            text.ok_or_else(|| {
                let cause = format!("{value} is no text for an error");
                Failure::new("States.QueryEvaluationError", &cause)
            })
        };
        Ok(Failure::new(&text(&state.error)?, &text(&state.cause)?))
    }

    /// Repeats a state until it succeeds, no retrier covers its error any more, or a catcher takes
    /// the error.
    async fn persist(&self, work: Work<'_>, mut facts: Facts<'_>) -> Result<Step, Failure> {
        let (retriers, catchers) = match work {
            Work::Task(state) => (&state.retry, &state.catch),
            Work::Parallel(state) => (&state.retry, &state.catch),
        };
        let mut retries = Retries::new(retriers);
        let mut timeout = None;
        let failure = loop {
            facts.retries = retries.count();
            let failure = match self.attempt(work, facts, &mut timeout).await {
                Ok(step) => return Ok(step),
                Err(failure) => failure,
            };
            let Some(delay) = retries.delay(&self.run.world, &failure.error) else {
                break failure;
            };
            locked(&self.place).branches.clear();
            self.run.world.sleep(delay).await;
            bill::retried(&self.run.world);
        };
        let Some(catcher) = catcher(catchers, &failure.error) else {
            return Err(failure);
        };
        self.run
            .note(&format!("{} fails with {}", facts.state, failure.error));
        locked(&self.place).branches.clear();
        facts.error = Some(&failure);
        let output = self.fill_or(catcher.output.as_ref(), facts, &failure.as_output())?;
        self.assign(catcher.assign.as_ref(), facts)?;
        Ok(Step::Next(catcher.next.clone(), output))
    }

    async fn attempt(
        &self,
        work: Work<'_>,
        mut facts: Facts<'_>,
        timeout: &mut Option<u64>,
    ) -> Result<Step, Failure> {
        let result = match work {
            Work::Task(state) => {
                bill::task_begins(&self.run.world);
                self.call(state, facts, timeout).await
            }
            Work::Parallel(state) => {
                bill::event(&self.run.world);
                self.branches(state, facts).await
            }
        };
        bill::event(&self.run.world);
        let result = result?;
        let (assign, output, next, end) = match work {
            Work::Task(state) => (&state.assign, &state.output, &state.next, state.end),
            Work::Parallel(state) => (&state.assign, &state.output, &state.next, state.end),
        };
        facts.result = Some(&result);
        let output = self.fill_or(output.as_ref(), facts, &result)?;
        self.assign(assign.as_ref(), facts)?;
        locked(&self.place).branches.clear();
        Ok(leave(next.as_ref(), end, output))
    }

    /// Runs all branches at once. The first that fails ends the others. After a redrive, a branch
    /// that has succeeded is not repeated.
    async fn branches(&self, state: &ParallelState, facts: Facts<'_>) -> Result<Value, Failure> {
        let places = self.places(state, facts)?;
        let scopes = places.into_iter().map(|place| Scope {
            run: self.run,
            place,
            outer: Some(self),
        });
        let scopes: Vec<_> = scopes.collect();
        let branches = scopes.iter().zip(&state.branches);
        let branches = branches.map(|(scope, branch)| -> Running<'_, Value> {
            let done = locked(&scope.place).output.clone();
            match done {
                Some(output) => Box::pin(async { Ok(output) }),
                None => scope.carry_out(&branch.states),
            }
        });
        try_join_all(branches).await.map(Value::Array)
    }

    fn places(&self, state: &ParallelState, facts: Facts<'_>) -> Result<Vec<Place>, Failure> {
        let known = locked(&self.place).branches.clone();
        if !known.is_empty() {
            return Ok(known);
        }
        let input = self.fill_or(state.arguments.as_ref(), facts, facts.input)?;
        let branches = state.branches.iter();
        let places = branches.map(|branch| Frame::starting_at(&branch.start_at, input.clone()));
        let places: Vec<_> = places.collect();
        locked(&self.place).branches.clone_from(&places);
        Ok(places)
    }
}

fn leave(next: Option<&String>, end: bool, output: Value) -> Step {
    match (next, end) {
        (Some(next), false) => Step::Next(next.clone(), output),
        (None, true) => Step::End(output),
        _ => panic!("a state needs either Next or End"),
    }
}
