//! Checks of a holder, request by request.

mod states;
mod stops;
mod workflow;

use super::{
    ABORTED, RUNNING, after, ended, ending, holder, lease, seen, suspect, task, terms, work,
};
use crate::domain::{
    Command, EndingCause, ExecutionArn, ExecutionEnd, ExecutionState, HolderId, Lease, LockKey,
    NoteTask, Outcome, RunOutcome, Task, Terms, Timestamp, Waiter, Work,
};
use crate::recovery::{
    Check, CheckAnswer, CheckStep, ExecutionObservation, Gathered, Gathering, Hint, Inspection,
    Ownership, Request, TaskObservation, WorkObservation,
};
use crate::testing::{self, variant};

/// The answers to the requests of a check.
struct World {
    execution: ExecutionObservation,
    replacer: ExecutionObservation,
    waits_until: Option<Timestamp>,
    waits_since: Timestamp,
    /// The redrives that the waiter has reported.
    waits_redrives: u32,
    /// The observation of the holder, if it is a task.
    task: TaskObservation,
    ownership: Ownership,
    tasks: Vec<Task>,
    /// The tasks that failed calls of RunTask by the holder's states may have started.
    started: WorkObservation,
    /// The executions that do the work, by the end of their names.
    children: Vec<(&'static str, ExecutionState)>,
    /// The outcomes of commands, in order. The last one is repeated.
    outcomes: Vec<Outcome>,
    lease: Option<Lease>,
    accepts: bool,
}

impl World {
    fn of(execution: ExecutionObservation, outcomes: Vec<Outcome>) -> Self {
        Self {
            execution,
            replacer: RUNNING,
            waits_until: None,
            waits_since: after(0),
            waits_redrives: 0,
            task: TaskObservation::Unknown,
            ownership: Ownership::Proven,
            tasks: Vec::new(),
            started: WorkObservation::States(Some(Vec::new())),
            children: Vec::new(),
            outcomes,
            lease: None,
            accepts: true,
        }
    }

    fn answer(&mut self, request: &Request) -> CheckAnswer {
        match request {
            Request::DescribeExecution(arn)
                if Some(arn) == ExecutionArn::of_holder(&holder("a")).as_ref() =>
            {
                CheckAnswer::Execution(self.execution.clone())
            }
            Request::DescribeExecution(_) => CheckAnswer::Execution(self.replacer.clone()),
            Request::DescribeTask(_) => CheckAnswer::Task(self.task.clone()),
            Request::ListTasks(..) => CheckAnswer::Work(WorkObservation::Tasks(self.tasks.clone())),
            Request::DescribeWork(arn) => {
                let mut children = self.children.iter();
                let seen = children.find(|(name, _)| arn.as_str().ends_with(name));
                let seen = seen.map(|(_, state)| (arn.clone(), (*state).into()));
                CheckAnswer::Work(WorkObservation::Execution(seen))
            }
            Request::FindStarted(_) => CheckAnswer::Work(self.started.clone()),
            Request::Execute(_) => CheckAnswer::Executed(match self.outcomes.len() {
                1 => self.outcomes[0].clone(),
                _ => self.outcomes.remove(0),
            }),
            Request::Note(_) => CheckAnswer::Executed(Outcome::Done),
            Request::StopExecution(..) | Request::StopTask(..) => {
                CheckAnswer::Accepted(self.accepts)
            }
            Request::Wake(_) | Request::Raise(_) => CheckAnswer::Done,
            Request::ProveOwnership(_) => CheckAnswer::Ownership(self.ownership.clone()),
            Request::LoadWaiter(_) => CheckAnswer::Waiter(Some(Waiter {
                terms: Terms {
                    redrives: self.waits_redrives,
                    ..terms("b")
                },
                task_token: None,
                wait_until: self.waits_until,
                since: self.waits_since,
                queued_at: self.waits_since,
            })),
            Request::LoadLease(..) => CheckAnswer::Lease(self.lease.clone()),
        }
    }

    /// Executes a check of `a`. Returns its requests and its result.
    fn check(&mut self, lease: Lease, hint: Option<Hint>, now: Timestamp) -> (Asked, Inspection) {
        self.check_of(holder("a"), lease, hint, now)
    }

    fn check_of(
        &mut self,
        holder: HolderId,
        lease: Lease,
        hint: Option<Hint>,
        now: Timestamp,
    ) -> (Asked, Inspection) {
        let lock = LockKey::new("lock").unwrap();
        let mut check = Check::new(lock, holder, lease, hint, testing::RETENTION);
        let mut asked = Vec::new();
        let mut step = check.begin(now);
        for _ in 0..50 {
            let request = match step {
                CheckStep::Over(inspection) => return (Asked(asked), inspection),
                CheckStep::Ask(request) => request,
            };
            let answer = self.answer(&request);
            asked.push(request);
            step = check.answer(answer, now);
        }
        panic!("the check has no end: {asked:?}");
    }
}

#[derive(Debug)]
struct Asked(Vec<Request>);

impl Asked {
    /// Returns the name of each request: the name of its command or alert if it has one.
    fn names(&self) -> Vec<String> {
        let name = |request: &Request| match request {
            Request::Execute(Command::Mark(mark)) => variant(&mark.step),
            Request::Execute(command) => variant(command),
            Request::Raise(alert) => format!("raise {}", variant(alert)),
            other => variant(other),
        };
        self.0.iter().map(name).collect()
    }

    /// Returns the number of requests with this name.
    fn count(&self, name: &str) -> usize {
        self.names().iter().filter(|asked| *asked == name).count()
    }

    /// Returns the end of the lease under which each recovery was sent.
    fn fences(&self) -> Vec<Timestamp> {
        let fence = |request: &Request| match request {
            Request::Execute(Command::Recover(recover)) => Some(recover.seen.expires_at),
            _ => None,
        };
        self.0.iter().filter_map(fence).collect()
    }
}

fn ended_at(second: u32) -> ExecutionObservation {
    seen(ABORTED, 0, Some(second))
}

fn freed() -> Outcome {
    Outcome::Freed {
        outcome: Some(RunOutcome::Recovered),
    }
}

fn with_work(lease: Lease) -> Lease {
    let work = Some(Work::Tasks(work("batch")));
    Lease { work, ..lease }
}

#[test]
fn a_recovery_that_meets_a_heartbeat_is_judged_once_more_and_no_more() {
    let newer = lease().renewed(after(5), None, None);
    let (again, once) = (vec![Outcome::Unchanged, freed()], vec![Outcome::Unchanged]);
    let is_freed = Inspection::Freed(RunOutcome::Recovered);
    for (outcomes, now_held, recoveries, expected) in [
        (again, Some(&newer), 2, is_freed),
        (once.clone(), Some(&newer), 2, Inspection::Held),
        (once, None, 1, Inspection::Gone),
    ] {
        let mut world = World::of(ended(ExecutionEnd::Failed), outcomes);
        world.lease = now_held.cloned();

        let (asked, inspection) = world.check(lease(), None, after(6));

        assert_eq!(inspection, expected);
        let fences = [lease().expires_at, newer.expires_at];
        assert_eq!(asked.fences(), fences[..recoveries], "{:?}", asked.names());
        assert_eq!(asked.count("DescribeExecution"), recoveries, "{asked:?}");
    }
}

#[test]
fn a_holder_that_is_a_task_is_freed_when_its_task_has_stopped() {
    let name = "arn:aws:ecs:eu-west-1:1:task/batch/0123456789abcdef0123456789abcdef#main/1";
    for (stopped, inspection) in [
        (true, Inspection::Freed(RunOutcome::Recovered)),
        (false, Inspection::Held),
    ] {
        let mut world = World::of(RUNNING, vec![freed()]);
        world.task = TaskObservation::Seen(task("t", stopped));

        let holder = HolderId::new(name).unwrap();
        let (asked, came_to) = world.check_of(holder, lease(), None, after(1));

        assert_eq!(asked.names()[0], "DescribeTask");
        assert_eq!(came_to, inspection, "{:?}", asked.names());
    }
}

/// The result says whether a later check may see more, and when.
#[test]
fn a_check_says_whether_a_later_one_may_see_more() {
    let noted = ending(with_work(lease()), 5, EndingCause::Over);
    let renewed = lease().renewed(after(7), None, None);
    let cases = [
        (noted.clone(), ended_at(6), vec![], Inspection::Unlisted),
        (noted, RUNNING, vec![task("t", false)], Inspection::Ending),
        (renewed, ended_at(6), vec![], Inspection::Renewed),
        (lease(), RUNNING, vec![], Inspection::Held),
    ];
    for (lease, execution, tasks, expected) in cases {
        let mut world = World::of(execution, vec![Outcome::Done]);
        world.tasks = tasks;

        let (asked, inspection) = world.check(lease, None, after(8));

        assert_eq!(inspection, expected, "{:?}", asked.names());
    }
}

#[test]
fn an_event_of_a_task_counts_where_the_list_is_older() {
    let runs = |version| Task {
        version,
        ..task("t", false)
    };
    let over = |version| Task {
        stopped: true,
        ..runs(version)
    };
    let other = task("other", false);
    // The tasks in the list, the task of the event, and whether no task is running.
    let cases = [
        (vec![runs(1)], over(2), true, "the list is older"),
        (vec![runs(3)], over(2), false, "the event is older"),
        (vec![runs(2)], over(2), false, "neither is"),
        (vec![other], over(2), false, "it is about another task"),
        (vec![], over(2), true, "the list does not have it yet"),
        (vec![], runs(1), false, "it is not listed yet, and it runs"),
    ];
    for (listed, event, over, why) in cases {
        let mut world = World::of(ended(ExecutionEnd::Failed), vec![freed()]);
        world.tasks = listed;
        let noted = ending(with_work(lease()), 0, EndingCause::Stopped);

        let (asked, _) = world.check(noted, Some(Hint::Task(event)), after(1));

        let recoveries = asked.count("Recover");
        assert_eq!(recoveries, usize::from(over), "{why}: {asked:?}");
    }
}

#[test]
fn the_task_that_stopped_last_is_noted_after_the_recovery() {
    let at = |arn: &str, second| Task {
        stopped_at: Some(after(second)),
        ..task(arn, true)
    };
    let mut world = World::of(ended(ExecutionEnd::Failed), vec![freed()]);
    world.tasks = vec![at("first", 1), at("last", 3), at("second", 2)];

    let (asked, _) = world.check(with_work(lease()), None, after(5));

    let evidence = ["DescribeExecution", "ListTasks"];
    let names = [&evidence[..], &["Recover", "raise Freed", "Note"]].concat();
    assert_eq!(asked.names(), names);
    let Request::Note(Command::NoteTask(NoteTask { task, .. })) = &asked.0[4] else {
        panic!("{:?}", asked.0);
    };
    assert_eq!(task.arn, "last");
}

#[test]
fn a_check_of_a_grant_that_has_ended_returns_gone() {
    let noted = ending(lease(), 1, EndingCause::Over);
    let mut world = World::of(ended(ExecutionEnd::Failed), vec![Outcome::Unchanged]);

    let (asked, inspection) = world.check(noted, None, after(6));

    let names = ["DescribeExecution", "Recover", "LoadLease"];
    assert_eq!(asked.names(), names);
    assert_eq!(inspection, Inspection::Gone);
}
