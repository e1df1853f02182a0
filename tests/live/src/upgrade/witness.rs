//! What the runs left behind: ECS's record of their tasks, the histories of their executions, and what their processes
//! wrote. The lock table is no witness.

use super::plan::{Run, Way};
use super::start::{Handle, Starter};
use super::verdict::{Told, Work};
use crate::judge::{Container, Stop};
use crate::stack::{now, pause};
use aws_sdk_sfn::types::HistoryEvent;
use serde_json::Value;
use std::path::Path;

/// The state of a woven workflow that works.
const WORK: &str = "Work";

impl Starter<'_> {
    /// Waits until each of `runs` has begun to work, for at most `seconds`. Returns how many have.
    pub(super) async fn all_work(&self, runs: &[&Run], seconds: u64) -> usize {
        let end = now() + 1000 * seconds;
        loop {
            let works = self.works(runs).await;
            let works = |run: &&&Run| works.iter().any(|work| work.run == run.id);
            let count = runs.iter().filter(works).count();
            if count == runs.len() || now() > end {
                return count;
            }
            pause(1_000).await;
        }
    }

    /// Waits for the end of all runs, for at most `seconds`. Returns what the starters were told.
    pub(super) async fn told(&mut self, seconds: u64) -> Told {
        let end = now() + 1000 * seconds;
        let mut told = Told::new();
        for (run, handle) in &mut self.handles {
            let mut said = said(self.stack, handle).await;
            while said.is_none() && now() < end {
                pause(200).await;
                said = self::said(self.stack, handle).await;
            }
            told.insert(*run, said);
        }
        told
    }

    /// Returns the work of those of `runs` that have begun to work, as it is seen now.
    pub(super) async fn works(&self, runs: &[&Run]) -> Vec<Work> {
        let mut works = Vec::new();
        for (number, lock) in self.plan.locks.iter().enumerate() {
            let is_task = |run: &&&Run| run.lock == number && run.way == Way::Task;
            if runs.iter().any(|run| is_task(&run)) {
                let containers = self.stack.containers_now(&lock.name).await;
                works.extend(containers.into_iter().map(|container| Work {
                    run: self.run_of(&container.holder),
                    container,
                }));
            }
        }
        for run in runs {
            let seen = match self.handles.get(&run.id) {
                Some(Handle::Execution(arn)) if run.way == Way::Workflow => {
                    self.states(run, arn).await
                }
                Some(Handle::Process(_, notes)) => {
                    process(run, &self.plan.locks[run.lock].name, notes)
                }
                _ => Vec::new(),
            };
            works.extend(seen.into_iter().map(|container| Work {
                run: run.id,
                container,
            }));
        }
        works
    }

    fn run_of(&self, holder: &str) -> usize {
        let mut handles = self.handles.iter();
        let found =
            handles.find(|(_, handle)| matches!(handle, Handle::Execution(arn) if arn == holder));
        *found
            .unwrap_or_else(|| panic!("a task of {holder}, which was not started here"))
            .0
    }

    /// Returns each time that an execution was in its state of work.
    async fn states(&self, run: &Run, arn: &str) -> Vec<Container> {
        let events = self.stack.history(arn).await;
        let at = |event: &HistoryEvent| (event.timestamp.as_secs_f64() * 1000.0).round() as u64;
        let entered = events.iter().enumerate().filter(|(_, event)| {
            event
                .state_entered_event_details()
                .is_some_and(|state| state.name() == WORK)
        });
        let exits = events.iter().filter(|event| {
            event
                .state_exited_event_details()
                .is_some_and(|state| state.name() == WORK)
        });
        let mut exits = exits.map(at);
        let works: Vec<_> = entered
            .map(|(index, event)| (token(&events[..index]), at(event), exits.next()))
            .collect();
        let unfinished = works.iter().any(|(_, _, exit)| exit.is_none());
        let ended = if unfinished {
            self.stack.ended(arn).await
        } else {
            None
        };
        let container =
            |(number, (token, started, exit)): (usize, (u64, u64, Option<u64>))| Container {
                task: format!("{arn}/{number}"),
                lock: self.plan.locks[run.lock].name.clone(),
                holder: arn.to_owned(),
                token,
                run_key: run.run_key.clone(),
                started,
                ended: exit.or(ended.as_ref().map(|ended| ended.stopped)),
                exit_code: exit.map(|_| 0),
                stopped: None,
            };
        works.into_iter().enumerate().map(container).collect()
    }
}

/// Returns the token of the last grant that a function answered in `events`.
fn token(events: &[HistoryEvent]) -> u64 {
    let outputs = events
        .iter()
        .rev()
        .filter_map(|event| event.task_succeeded_event_details()?.output());
    let mut tokens = outputs.filter_map(|output| {
        let output: Value = serde_json::from_str(output).ok()?;
        let answer = output.get("Payload").unwrap_or(&output);
        answer["grant"]["token"].as_u64()
    });
    tokens.next().expect("a state works under a grant")
}

/// Returns what a starter is told of a run that has ended.
async fn said(stack: &crate::stack::Stack, handle: &mut Handle) -> Option<String> {
    match handle {
        Handle::Execution(arn) => {
            let ended = stack.ended(arn).await?;
            let words = [
                ended.status.as_str(),
                ended.answer(),
                ended.error.as_str(),
                ended.cause.as_str(),
            ];
            Some(words.join(" ").trim_end().to_owned())
        }
        Handle::Process(child, notes) => {
            let status = child.try_wait().expect("the state of a process")?;
            let log = std::fs::read_to_string(notes.with_extension("log")).unwrap_or_default();
            let last = log.lines().last().unwrap_or_default();
            Some(format!("{status} {last}"))
        }
    }
}

/// Returns the work of a process, by what it wrote into its file: one line for its start, and one for each that followed.
fn process(run: &Run, lock: &str, notes: &Path) -> Vec<Container> {
    let text = std::fs::read_to_string(notes).unwrap_or_default();
    let mut works: Vec<Container> = Vec::new();
    for line in text.lines() {
        let words: Vec<_> = line.split(' ').collect();
        let [word, at, token] = words[..] else {
            continue; // It is being written.
        };
        let (Ok(at), Ok(token)) = (at.parse(), token.parse()) else {
            panic!("{}: {line:?}", notes.display());
        };
        if word == "start" {
            works.push(Container {
                task: format!("process of run {} under {token}", run.id),
                lock: lock.to_owned(),
                holder: format!("run {}", run.id),
                token,
                run_key: run.run_key.clone(),
                started: at,
                ended: None,
                exit_code: None,
                stopped: None,
            });
            continue;
        }
        let work = works.last_mut().expect("a start before an end");
        work.ended = Some(at);
        if word == "end" {
            work.exit_code = Some(0);
        } else {
            work.stopped = Some(Stop {
                at,
                reason: "SIGTERM".into(),
            });
        }
    }
    works
}
