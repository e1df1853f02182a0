//! The adapter to ECS: its requests, and how it takes the answers.

use super::scripted::{Asked, on, refusal};
use lockstep::domain::{Task, TaskArn, TaskSet};
use lockstep::tasks::ecs::Ecs;
use lockstep::tasks::{Tasks, TasksError};
use lockstep::testing;
use serde_json::{Value, json};

const GROUP: &str = "lockstep:nightly:ba7816bf8f01cfea";

fn arn(name: &str) -> String {
    format!("arn:aws:ecs:eu-west-1:1:task/batch/{name}")
}

fn listed(names: &[&str], next: Option<&str>) -> (u16, Value) {
    let arns: Vec<_> = names.iter().map(|name| arn(name)).collect();
    (200, json!({ "taskArns": arns, "nextToken": next }))
}

fn described(tasks: Value, failures: Value) -> (u16, Value) {
    (200, json!({ "tasks": tasks, "failures": failures }))
}

fn task(name: &str, group: &str, last_status: &str) -> Value {
    json!({
        "taskArn": arn(name), "group": group, "lastStatus": last_status,
        "desiredStatus": "STOPPED", "version": 5, "startedAt": 1.5, "stoppedAt": null,
        "stoppedReason": "Task stopped by user",
        "containers": [{ "name": "report", "runtimeId": "c0ffee", "exitCode": 143 }]
    })
}

/// Searches the tasks of a group at an ECS that gives `answers`. Returns the result and the
/// requests.
async fn of_group(
    answers: Vec<(u16, Value)>,
    family: Option<&str>,
) -> (Result<Vec<Task>, TasksError>, Vec<Asked>) {
    let work = TaskSet {
        family: family.map(str::to_owned),
        ..testing::work("batch")
    };
    on(answers, async |sdk| {
        Ecs::from_sdk(sdk).of_group(&work, GROUP).await
    })
    .await
}

/// Stops a task at an ECS that gives `answer`. Returns the result and the requests.
async fn stop(answer: (u16, Value), reason: &str) -> (Result<(), TasksError>, Vec<Asked>) {
    let task = arn("a");
    on(vec![answer], async |sdk| {
        Ecs::from_sdk(sdk).stop("batch", &task, reason).await
    })
    .await
}

#[tokio::test]
async fn running_and_stopping_tasks_of_a_group_are_each_found_once() {
    let answers = vec![
        listed(&["a", "b"], Some("more")),
        listed(&["c"], None),
        // A StopTask between the two lists puts `c` into both.
        listed(&["c", "d"], None),
        described(
            json!([
                task("a", GROUP, "RUNNING"),
                task("b", "lockstep:nightly:0000000000000000", "RUNNING"),
                task("c", GROUP, "DEPROVISIONING"),
                task("d", GROUP, "STOPPED")
            ]),
            json!([]),
        ),
    ];

    let (found, asked) = of_group(answers, Some("report")).await;

    let found = found.unwrap();
    let seen: Vec<_> = found.iter().map(|t| (t.arn.clone(), t.stopped)).collect();
    let ours = [("a", false), ("c", false), ("d", true)];
    assert_eq!(seen, ours.map(|(name, stopped)| (arn(name), stopped)));
    assert_eq!(found[0].version, 5);
    assert_eq!(found[0].started_at.unwrap().millis(), 1500);
    assert_eq!(found[0].containers[0].exit_code, Some(143));
    let list = |status| json!({ "cluster": "batch", "family": "report", "desiredStatus": status });
    assert_eq!(asked[0], ("ListTasks".into(), list("RUNNING")));
    assert_eq!(asked[1].1["nextToken"], "more");
    assert_eq!(asked[2], ("ListTasks".into(), list("STOPPED")));
    let tasks = ["a", "b", "c", "d"].map(arn);
    let describe = json!({ "cluster": "batch", "tasks": tasks });
    assert_eq!(asked[3], ("DescribeTasks".into(), describe));
}

#[tokio::test]
async fn an_empty_cluster_is_not_described() {
    let (found, asked) = of_group(vec![listed(&[], None), listed(&[], None)], None).await;

    assert_eq!(found, Ok(vec![]));
    assert!(asked.iter().all(|(operation, _)| operation == "ListTasks"));
    assert_eq!(asked[0].1.get("family"), None);
}

#[tokio::test]
async fn more_tasks_than_one_describe_call_takes_are_described_by_the_hundred() {
    let names: Vec<_> = (0..150).map(|n| format!("t{n:03}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let answers = vec![
        listed(&names[..100], Some("more")),
        listed(&names[100..], None),
        listed(&[], None),
        described(json!([]), json!([])),
        described(json!([task("t149", GROUP, "RUNNING")]), json!([])),
    ];

    let (found, asked) = of_group(answers, None).await;

    assert_eq!(found.unwrap()[0].arn, arn("t149"));
    let sizes: Vec<_> = asked[3..]
        .iter()
        .map(|(_, body)| body["tasks"].as_array().unwrap().len())
        .collect();
    assert_eq!(sizes, [100, 50]);
}

#[tokio::test]
async fn a_list_that_ends_with_the_last_page_that_is_read_is_whole() {
    let page = |page| listed(&["a"], (page < 20).then(|| format!("p{page}")).as_deref());
    let mut answers: Vec<_> = (1..=20).map(page).collect();
    answers.push(listed(&[], None));
    answers.push(described(json!([task("a", GROUP, "RUNNING")]), json!([])));

    let (found, _) = of_group(answers, None).await;

    assert_eq!(found.unwrap()[0].arn, arn("a"));
}

#[tokio::test]
async fn a_task_list_of_more_than_twenty_pages_is_an_error() {
    let pages = (0..20).map(|page| listed(&["a"], Some(&format!("p{page}"))));

    let (found, asked) = of_group(pages.collect(), None).await;

    let Err(TasksError::Unavailable(text)) = found else {
        panic!("{found:?}");
    };
    assert!(text.contains("cluster batch"), "{text}");
    assert_eq!(asked.len(), 20);
}

#[tokio::test]
async fn a_listed_task_that_is_missing_is_gone_other_failures_are_errors() {
    let with = |reason: &str| {
        let failure = json!([{ "arn": arn("a"), "reason": reason }]);
        let lists = vec![listed(&["a"], None), listed(&[], None)];
        [lists, vec![described(json!([]), failure)]].concat()
    };

    let (forgotten, _) = of_group(with("MISSING"), None).await;
    let (gap, _) = of_group(with("INTERNAL"), None).await;

    assert_eq!(forgotten, Ok(vec![]));
    assert!(matches!(gap, Err(TasksError::Unavailable(_))), "{gap:?}");
}

#[tokio::test]
async fn a_cluster_that_is_denied_or_not_there_is_named() {
    for code in ["AccessDeniedException", "ClusterNotFoundException"] {
        let (found, asked) = of_group(vec![refusal(code, "no")], None).await;

        let Err(TasksError::Denied(text)) = found else {
            panic!("{found:?}");
        };
        assert_eq!(text, format!("cluster batch: {code}: no"));
        assert_eq!(asked.len(), 1, "not retried");
    }
}

#[tokio::test]
async fn throttling_is_ridden_out() {
    let throttled = refusal("ThrottlingException", "Rate exceeded");
    let answers = vec![throttled, listed(&[], None), listed(&[], None)];

    assert_eq!(of_group(answers, None).await.0, Ok(vec![]));
}

/// Describes a task at an ECS that gives `answer`. Returns the result and the requests.
async fn describe(answer: (u16, Value)) -> (Result<Option<Task>, TasksError>, Vec<Asked>) {
    let task = TaskArn::new(arn("a")).unwrap();
    on(vec![answer], async |sdk| {
        Ecs::from_sdk(sdk).describe(&task).await
    })
    .await
}

#[tokio::test]
async fn one_task_is_looked_at_in_its_own_cluster_whatever_its_group() {
    let answer = described(json!([task("a", "service:api", "STOPPED")]), json!([]));

    let (seen, asked) = describe(answer).await;

    let seen = seen.unwrap().unwrap();
    assert_eq!((seen.arn, seen.stopped), (arn("a"), true));
    let body = json!({ "cluster": "batch", "tasks": [arn("a")] });
    assert_eq!(asked, [("DescribeTasks".into(), body)]);
}

#[tokio::test]
async fn a_described_task_that_is_missing_is_none_other_failures_are_errors() {
    let failed = |reason: &str| {
        let failure = json!([{ "arn": arn("a"), "reason": reason }]);
        described(json!([]), failure)
    };

    let (unknown, _) = describe(failed("MISSING")).await;
    let (gap, _) = describe(failed("INTERNAL")).await;
    let (denied, _) = describe(refusal("AccessDeniedException", "no")).await;

    assert_eq!(unknown, Ok(None));
    assert!(matches!(gap, Err(TasksError::Unavailable(_))), "{gap:?}");
    assert!(matches!(denied, Err(TasksError::Denied(_))), "{denied:?}");
}

#[tokio::test]
async fn a_stop_says_which_task_and_why() {
    let answer = (200, json!({ "task": task("a", GROUP, "RUNNING") }));

    let (stopped, asked) = stop(answer, &"why".repeat(100)).await;

    assert_eq!(stopped, Ok(()));
    let reason = &"why".repeat(100)[..255];
    let body = json!({ "cluster": "batch", "task": arn("a"), "reason": reason });
    assert_eq!(asked, [("StopTask".into(), body)]);
}

#[tokio::test]
async fn a_stop_of_a_missing_task_succeeds() {
    let missing = refusal(
        "InvalidParameterException",
        "The referenced task was not found.",
    );
    let denied = refusal("AccessDeniedException", "no");

    let (missing, _) = stop(missing, "why").await;
    let (denied, _) = stop(denied, "why").await;

    assert_eq!(missing, Ok(()));
    assert!(matches!(denied, Err(TasksError::Denied(_))), "{denied:?}");
}
