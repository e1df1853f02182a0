//! The answers of Step Functions and ECS to a check, and the effect of a stop on the world.

use crate::commands::machine;
use crate::inspect::lock;
use crate::state::{End, Phase, State, Who, Work};
use crate::world::{World, at};
use lockstep::domain::{
    Container, ExecutionArn, ExecutionDescription, ExecutionEnd, ExecutionState, FencingToken,
    Task, child_arn, parse_child,
};
use lockstep::recovery::{
    CheckAnswer, ExecutionEvent, ExecutionObservation, Hint, Ownership, Request, TaskObservation,
    WorkObservation,
};
use lockstep::testing;

/// How a check sees the state that it describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sighting {
    /// As it is.
    Clear,
    /// As it was before the latest change.
    Late,
    /// Not at all: the service gives no answer.
    Blind,
}

/// What an event reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    ExecutionEnded,
    TaskStopped,
}

/// Returns whether the request only reads.
pub(crate) const fn describes(request: &Request) -> bool {
    matches!(
        request,
        Request::DescribeExecution(_)
            | Request::ProveOwnership(_)
            | Request::DescribeTask(_)
            | Request::ListTasks(..)
            | Request::DescribeWork(_)
            | Request::FindStarted(_)
            | Request::LoadWaiter(_)
            | Request::LoadLease(..)
    )
}

impl World {
    /// Returns the answer to a request that only reads. Returns `None` if `sight` is not possible for it.
    pub(crate) fn described(
        &self,
        state: &State,
        who: Who,
        request: &Request,
        sight: Sighting,
    ) -> Option<CheckAnswer> {
        let hidden = || "no answer".to_owned();
        let work = state.executions[who].work;
        let mut answer = match (request, sight) {
            (Request::DescribeExecution(_), Sighting::Blind) => {
                CheckAnswer::Execution(ExecutionObservation::Hidden(hidden()))
            }
            (Request::DescribeExecution(arn), sight) => {
                let seen = self.execution_seen(state, self.execution(arn), sight)?;
                CheckAnswer::Execution(ExecutionObservation::Seen(seen))
            }
            (Request::ListTasks(..) | Request::DescribeWork(_), Sighting::Blind) => {
                CheckAnswer::Work(WorkObservation::Hidden(hidden()))
            }
            (Request::ListTasks(..), Sighting::Late) if !work.ended() => return None,
            (Request::ListTasks(..), sight) => {
                let last = if sight == Sighting::Late {
                    Work::Runs
                } else {
                    work
                };
                CheckAnswer::Work(WorkObservation::Tasks(tasks(state, who, last)))
            }
            (Request::DescribeWork(arn), sight) => {
                let seen = child(state, who, arn, sight)?;
                CheckAnswer::Work(WorkObservation::Execution(seen))
            }
            // No plan has the states of its own execution as its work.
            (Request::FindStarted(_), _) => CheckAnswer::Work(WorkObservation::States(None)),
            (Request::ProveOwnership(_), Sighting::Clear) => {
                CheckAnswer::Ownership(Ownership::Proven)
            }
            (Request::DescribeTask(_), _) => CheckAnswer::Task(TaskObservation::Unknown),
            (Request::LoadWaiter(id), Sighting::Clear) => {
                CheckAnswer::Waiter(state.table.waiters.get(id).cloned())
            }
            (Request::LoadLease(holder, token), Sighting::Clear) => {
                let record = state.record();
                CheckAnswer::Lease(record.and_then(|record| record.lease(holder, *token).cloned()))
            }
            _ => return None,
        };
        self.mutant.sight(&mut answer);
        Some(answer)
    }

    /// Carries out a request, and returns its answer.
    pub(crate) fn done(&self, state: &mut State, who: Who, request: &Request) -> CheckAnswer {
        match request {
            Request::StopExecution(arn, ..) if parse_child(arn).is_none() => {
                self.watch_stop(state, who);
                self.die(state, who);
                CheckAnswer::Accepted(true)
            }
            Request::StopExecution(..) | Request::StopTask(..) => {
                if self.would_change(state, who, request) {
                    self.watch_stop(state, who);
                    state.executions[who].work = Work::Stopping;
                }
                CheckAnswer::Accepted(true)
            }
            Request::Wake(lease) => {
                self.wake(state, self.holder(who), lease);
                CheckAnswer::Done
            }
            _ => CheckAnswer::Done,
        }
    }

    /// Returns whether the request would change anything now.
    pub(crate) fn would_change(&self, state: &State, who: Who, request: &Request) -> bool {
        let execution = &state.executions[who];
        match request {
            Request::Execute(_) => true,
            Request::StopExecution(arn, ..) if parse_child(arn).is_some() => {
                let over = matches!(execution.phase, Phase::Over(_));
                let newest = attempt_of(arn) == execution.begun_in;
                newest && execution.work == Work::Runs && (self.own_ends || !over)
            }
            Request::StopExecution(..) => !matches!(execution.phase, Phase::Over(_) | Phase::Idle),
            // Without `own_ends`, the work of an execution that is over can only be stopped, which `WorkEnds`
            // does.
            Request::StopTask(_, task, _) => {
                let over = matches!(execution.phase, Phase::Over(_));
                let newest = *task == arn_of(who, execution.copies);
                newest && execution.work == Work::Runs && (self.own_ends || !over)
            }
            Request::Wake(lease) => self.wakes(state, self.holder(who), lease).is_some(),
            _ => false,
        }
    }

    /// Returns the hint of an event about `who`. Returns `None` if there is no such event.
    pub(crate) fn hint(&self, state: &State, who: Who, news: News) -> Option<Hint> {
        let execution = &state.executions[who];
        match news {
            News::ExecutionEnded => {
                let end = ExecutionEnd::Aborted;
                let at = at(execution.died_at?);
                // If it was redriven since, the event reports the end before the redrive.
                let over = matches!(execution.phase, Phase::Over(_));
                let redrives = u32::from(execution.redrives) - u32::from(!over);
                Some(Hint::Execution(ExecutionEvent { end, at, redrives }))
            }
            News::TaskStopped => {
                let stopped = execution.copies - u8::from(execution.works());
                let end = match execution.works() {
                    true => Work::Stopped,
                    false => execution.work,
                };
                if self.plans[who].workflow {
                    // The model keeps no time for this end, so the event has the current time.
                    let at = at(state.tick);
                    let end = end_of(end)?;
                    let token = execution.had?;
                    let arn = Self::child_of(token, execution.begun_in);
                    let redrives = 0;
                    let event = ExecutionEvent { end, at, redrives };
                    return (stopped > 0).then_some(Hint::Work(arn, event));
                }
                (stopped > 0).then(|| Hint::Task(task(who, stopped, end)))
            }
        }
    }

    /// Returns the description of an execution. A late one misses the end of the execution, or the redrive
    /// after it.
    fn execution_seen(
        &self,
        state: &State,
        who: Who,
        sight: Sighting,
    ) -> Option<ExecutionDescription> {
        let execution = &state.executions[who];
        let seen = match execution.phase {
            Phase::Over(End::Worked) => ExecutionState::Ended(ExecutionEnd::Succeeded),
            Phase::Over(End::Failed | End::Refused | End::TurnedAway) => {
                ExecutionState::Ended(ExecutionEnd::Failed)
            }
            Phase::Over(End::Died) => ExecutionState::Ended(ExecutionEnd::Aborted),
            _ => ExecutionState::Running,
        };
        let described = |state, redrives: u8| ExecutionDescription {
            state,
            redrives: redrives.into(),
            stopped_at: match state {
                ExecutionState::Ended(_) => execution.died_at.map(at),
                ExecutionState::Running => None,
            },
        };
        let redrives = execution.redrives;
        match (sight, &seen) {
            (Sighting::Clear, _) => Some(described(seen, redrives)),
            (_, ExecutionState::Ended(_)) => Some(described(ExecutionState::Running, redrives)),
            (_, ExecutionState::Running) if execution.resuming => {
                let aborted = ExecutionState::Ended(ExecutionEnd::Aborted);
                Some(described(aborted, redrives - 1))
            }
            _ => None,
        }
    }

    fn child_of(token: FencingToken, attempt: u8) -> ExecutionArn {
        let arn = child_arn(&machine(), &lock(), token, attempt.into());
        arn.expect("a valid name")
    }

    fn execution(&self, arn: &ExecutionArn) -> Who {
        let names = self.names.iter();
        let mut named = names.map(|(holder, _)| holder.as_str() == arn.as_str());
        named.position(|named| named).expect("a known execution")
    }
}

/// Returns the description of the execution `arn`, which does the work of `who`. The inner `None` means that
/// it was not started. Returns `None` if `sight` is not possible for it.
fn child(
    state: &State,
    who: Who,
    arn: &ExecutionArn,
    sight: Sighting,
) -> Option<Option<(ExecutionArn, ExecutionDescription)>> {
    let execution = &state.executions[who];
    let attempt = attempt_of(arn);
    if execution.copies == 0 || attempt > execution.begun_in {
        return (sight == Sighting::Clear).then_some(None);
    }
    let now = match attempt == execution.begun_in {
        true => execution.work,
        false => Work::Stopped,
    };
    let seen = match (sight, end_of(now)) {
        (Sighting::Clear, Some(end)) => ExecutionState::Ended(end),
        (Sighting::Clear, None) | (_, Some(_)) => ExecutionState::Running,
        (_, None) => return None,
    };
    Some(Some((arn.clone(), seen.into())))
}

/// Returns the number of the attempt in the name of a child.
fn attempt_of(arn: &ExecutionArn) -> u8 {
    let attempt = arn.as_str().rsplit('-').next().and_then(|n| n.parse().ok());
    attempt.expect("a number of redrives")
}

/// Returns the end of an execution whose work ended with `work`.
const fn end_of(work: Work) -> Option<ExecutionEnd> {
    match work {
        Work::Succeeded => Some(ExecutionEnd::Succeeded),
        Work::Stopped => Some(ExecutionEnd::Aborted),
        Work::Failed => Some(ExecutionEnd::Failed),
        Work::None | Work::Runs | Work::Stopping => None,
    }
}

/// Returns the tasks of an execution, one for each copy of its work. Only the last one can run.
fn tasks(state: &State, who: Who, last: Work) -> Vec<Task> {
    let copies = state.executions[who].copies;
    let work = |copy| if copy == copies { last } else { Work::Stopped };
    (1..=copies)
        .map(|copy| task(who, copy, work(copy)))
        .collect()
}

/// Returns the task of a copy of the work. A container that is stopped exits with 0 as well.
fn task(who: Who, copy: u8, work: Work) -> Task {
    let stopped = work.ended();
    let exit_code = match work {
        Work::Succeeded | Work::Stopped => Some(0),
        Work::Failed => Some(1),
        Work::None | Work::Runs | Work::Stopping => None,
    };
    Task {
        version: u64::from(stopped),
        containers: vec![Container {
            name: "main".into(),
            runtime_id: None,
            exit_code,
            reason: None,
        }],
        ended_by_itself: matches!(work, Work::Succeeded | Work::Failed),
        started_at: Some(at(copy.into())),
        stopped_at: stopped.then(|| at(copy.into())),
        ..testing::task(&arn_of(who, copy), stopped)
    }
}

fn arn_of(who: Who, copy: u8) -> String {
    format!("task-{who}-{copy}")
}
