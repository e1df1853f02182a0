use super::*;
use lockstep::domain::{Container, FencingToken, HolderId, LockKey, Task};
use lockstep::tasks::{ProtectionAnswer, TasksError};
use lockstep::testing;

const ARN: &str = "arn:aws:ecs:eu-west-1:1:task/batch/4f0c";
/// A lease from 0 to 60 s; its heartbeat is overdue after 25 s.
const GOOD: Timestamp = Timestamp::from_millis(10_000);
const LATE: Timestamp = Timestamp::from_millis(26_000);
const OVER: Timestamp = Timestamp::from_millis(60_000);

fn lease() -> Lease {
    let terms = testing::terms(testing::holder("h"));
    terms.lease(FencingToken::from_number(1), Timestamp::from_millis(0))
}

/// A holder whose lease is good.
pub(in crate::jobs) fn held() -> ListedHolder {
    held_by("host:x#1/c")
}

fn held_by(holder: &str) -> ListedHolder {
    let (lock, holder) = (LockKey::new("l").unwrap(), HolderId::new(holder).unwrap());
    ListedHolder::of(&lock, &holder, &lease())
}

/// Any loss.
pub(in crate::jobs) fn loss() -> Loss {
    Loss {
        at: None,
        why: String::new(),
        next: NEXT,
    }
}

fn task(stopped: bool) -> Task {
    let container = |name: &str, exit_code| Container {
        name: name.into(),
        runtime_id: Some(format!("{name}-1")),
        exit_code,
        reason: None,
    };
    Task {
        arn: ARN.into(),
        version: 3,
        stopped,
        containers: vec![container("sidecar", Some(0)), container("app", Some(137))],
        ended_by_itself: false,
        stopped_reason: Some("Scaling activity".into()),
        started_at: None,
        stopped_at: Some(LATE),
    }
}

fn why(observed: &TaskObservation, now: Timestamp) -> Option<String> {
    judge(&lease(), observed, Some("app-1"), now).map(|loss| loss.why)
}

#[test]
fn a_job_whose_task_has_stopped_is_lost_even_if_its_lease_is_good() {
    let loss = judge(
        &lease(),
        &TaskObservation::Seen(task(true)),
        Some("app-1"),
        GOOD,
    )
    .unwrap();

    assert!(loss.why.contains("exit code 137"), "{loss:?}");
    assert!(loss.why.contains("Scaling activity"), "{loss:?}");
    assert_eq!(loss.at, Some(rfc3339(LATE)));
}

#[test]
fn a_job_with_recent_heartbeats_is_not_lost_and_one_whose_lease_ran_out_is_for_any_task() {
    for observed in [
        TaskObservation::Seen(task(false)),
        TaskObservation::Unknown,
        TaskObservation::NotOne,
        TaskObservation::Hidden("denied".into()),
    ] {
        assert_eq!(why(&observed, GOOD), None, "{observed:?}");
        assert!(why(&observed, OVER).is_some(), "{observed:?}");
    }
}

#[test]
fn a_job_of_an_unknown_task_is_lost_once_its_heartbeat_is_overdue() {
    let unknown = why(&TaskObservation::Unknown, LATE).unwrap();

    assert!(unknown.contains("does not know"), "{unknown}");
    assert_eq!(why(&TaskObservation::NotOne, LATE), None);
}

/// ECS that records the described tasks, and has stopped them all, or fails.
#[derive(Default)]
struct FakeEcs(std::sync::Mutex<Vec<String>>, Option<TasksError>);

impl Tasks for FakeEcs {
    async fn of_group(
        &self,
        _: &lockstep::domain::TaskSet,
        _: &str,
    ) -> Result<Vec<Task>, TasksError> {
        panic!("unexpected call")
    }

    async fn describe(&self, arn: &TaskArn) -> Result<Option<Task>, TasksError> {
        self.0.lock().unwrap().push(arn.to_string());
        match &self.1 {
            Some(error) => Err(error.clone()),
            None => Ok(Some(task(true))),
        }
    }

    async fn protect(&self, _: &TaskArn, _: Option<u16>) -> Result<ProtectionAnswer, TasksError> {
        panic!("unexpected call")
    }

    async fn stop(&self, _: &str, _: &str, _: &str) -> Result<(), TasksError> {
        panic!("unexpected call")
    }
}

fn jobs() -> Vec<ListedHolder> {
    let in_task = |job| held_by(&format!("{ARN}#app-1/{job}"));
    vec![in_task("a"), in_task("b"), held()]
}

#[tokio::test]
async fn a_task_is_described_once_and_a_holder_that_is_no_task_never() {
    let (tasks, mut jobs) = (FakeEcs::default(), jobs());

    let complete = mark_lost(&mut jobs, &tasks, GOOD).await;

    assert!(complete);
    assert_eq!(*tasks.0.lock().unwrap(), [ARN]);
    let lost: Vec<_> = jobs.iter().map(|job| job.lost.is_some()).collect();
    assert_eq!(lost, [true, true, false]);
}

#[tokio::test]
async fn a_failed_describe_makes_the_list_incomplete() {
    let (mut tasks, mut jobs) = (FakeEcs::default(), jobs());
    tasks.1 = Some(TasksError::Denied("no".into()));

    let complete = mark_lost(&mut jobs, &tasks, GOOD).await;

    assert!(!complete && jobs.iter().all(|job| job.lost.is_none()));
}
