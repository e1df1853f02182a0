//! The examples of docs/ways: deployed as they are, with the roles that they name, and run.

use crate::support::at_work;
use crate::{ran_alone, stack};
use lockstep::domain::{Timestamp, rfc3339};
use lockstep_tests::stack::{Ended, Event, Stack, now, pause, unique, until};
use serde_json::{Value, json};

/// Returns the `at` expression of a schedule some seconds from now, and its time.
fn soon(seconds: u64) -> (String, String) {
    let time = rfc3339(Timestamp::from_millis((now() / 1000 + seconds) * 1000));
    let time = time.trim_end_matches('Z');
    (format!("at({time})"), format!("{time}Z"))
}

/// Waits until `count` runs of `lock` have ended. Returns their outcomes, in the order of their tokens.
async fn ended_runs(stack: &Stack, lock: &str, count: usize) -> Vec<String> {
    until("ended runs", 40, async || {
        stack.outcomes(lock).await.len() >= count
    })
    .await;
    stack.outcomes(lock).await
}

async fn describe(stack: &Stack, machine: &str) -> (String, Option<String>) {
    let described = stack
        .sfn
        .describe_state_machine()
        .state_machine_arn(machine);
    let described = described.send().await.expect("a state machine");
    (described.definition, described.revision_id)
}

/// Returns the executions of a state machine, newest first, each with its end.
async fn executions(stack: &Stack, machine: &str) -> Vec<(String, Ended)> {
    let list = stack.sfn.list_executions().state_machine_arn(machine);
    let list = list.send().await.expect("executions").executions;
    let mut all = Vec::new();
    for one in list {
        let ended = stack.wait(&one.execution_arn, 30).await;
        all.push((one.name, ended));
    }
    all
}

/// Deploys the workflow with a schedule of its own, and then as docs/ways/whole-workflow.md guards
/// it.
#[tokio::test]
async fn a_whole_workflow_is_guarded_without_an_edit_of_its_definition() {
    let stack = stack().await;
    // exclusive-run of the local stack may start guarded-*: that is the first edit.
    let name = unique("guarded-etl");
    let lock = name.as_str();
    let before = [
        ("WorkflowName", lock),
        ("ScheduleExpression", "at(2099-01-01T00:00:00)"),
    ];
    let outputs = stack
        .deploy_example("existing-workflow.yaml", lock, &before)
        .await;
    let machine = outputs["WorkflowArn"].clone();
    let unguarded = describe(&stack, &machine).await;

    let (at, time) = soon(30);
    let after = [("WorkflowName", lock), ("ScheduleExpression", &*at)];
    let outputs = stack
        .deploy_example("guarded-workflow.yaml", lock, &after)
        .await;
    until("the schedule", 90, async || stack.held(lock).await == 1).await;
    let start = json!({ "StateMachineArn": machine, "Input": { "regions": ["eu-west-1"] } });
    let by_hand = json!({ "lock": lock, "work": { "startExecution": start } });
    let exclusive_run = stack.output("ExclusiveRunStateMachineArn");
    let beside = stack.start_machine(exclusive_run, &by_hand).await;
    let beside = stack.wait(&beside, 30).await;
    let outcomes = ended_runs(&stack, lock, 1).await;

    assert_eq!(outputs["WorkflowArn"], machine);
    assert_eq!(describe(&stack, &machine).await, unguarded, "the workflow");
    assert_eq!(beside.answer(), "skipped", "{beside:?}");
    assert_eq!(outcomes, ["succeeded"]);
    let children = executions(&stack, &machine).await;
    assert_eq!(children.len(), 1, "{children:?}");
    let (child, ended) = &children[0];
    assert!(child.starts_with(&format!("lockstep-{lock}-")), "{child}");
    assert_eq!(
        ended.output,
        json!([{ "rows": 7 }, { "rows": 7 }]),
        "{ended:?}"
    );
    assert!(run_key(&stack, lock).await.ends_with(&format!("#{time}")));
}

/// existing-workflow.yaml after the edits of docs/ways/weave.md.
#[tokio::test]
async fn a_woven_workflow_that_a_schedule_has_started_skips_a_start_by_hand() {
    let (stack, lock) = (stack().await, unique("woven-etl"));
    let (at, _) = soon(30);
    let parameters = [("WorkflowName", &*lock), ("ScheduleExpression", &*at)];
    let outputs = stack
        .deploy_example("woven-workflow.yaml", &lock, &parameters)
        .await;
    let machine = &outputs["WorkflowArn"];
    until("the schedule", 90, async || stack.held(&lock).await == 1).await;
    let by_hand = json!({ "regions": ["eu-west-1"] });
    stack.start_machine(machine, &by_hand).await;

    let executions = executions(&stack, machine).await;

    let [(_, by_hand), (_, scheduled)] = &executions[..] else {
        panic!("not two executions: {executions:?}")
    };
    assert_eq!(by_hand.answer(), "skipped", "{by_hand:?}");
    let rows = json!([{ "rows": 7 }, { "rows": 7 }]);
    assert_eq!(scheduled.output, rows, "{scheduled:?}");
    assert_eq!(stack.outcomes(&lock).await, ["succeeded"]);
}

/// Returns the run key of the one run of `lock`.
async fn run_key(stack: &Stack, lock: &str) -> String {
    let items = stack.items(lock).await;
    let keys = items.iter().filter_map(|item| item["sk"].as_s().ok());
    let mut keys = keys.filter_map(|key| key.strip_prefix("run#key/"));
    keys.next().expect("the run of a key").to_owned()
}

#[tokio::test]
async fn a_rule_gives_its_run_a_key_of_its_own_arn_and_the_events_time() {
    let (stack, lock) = (stack().await, unique("rule"));
    let parameters = [
        ("LockName", lock.as_str()),
        ("ClusterArn", stack.fixture("ClusterArn")),
        ("TaskDefinitionArn", stack.fixture("BatchTaskDefinitionArn")),
        ("SubnetIds", "subnet-1"),
    ];
    let outputs = stack.deploy_example("rule.yaml", &lock, &parameters).await;

    stack.fire_schedule(&outputs["RuleName"]).await;
    let outcomes = ended_runs(&stack, &lock, 1).await;
    let key = run_key(&stack, &lock).await;
    let again = stack.batch_input(&lock).with("runKey", key.as_str());
    let again = stack.run(&again, 20).await;

    assert_eq!(outcomes, ["succeeded"]);
    let time = key.strip_prefix(&format!("{}#", outputs["RuleArn"]));
    let time = time.unwrap_or_else(|| panic!("{key} has no {}", outputs["RuleArn"]));
    assert!(time.ends_with('Z') && time.starts_with("20"), "{key}");
    assert_eq!(again.answer(), "duplicate", "{again:?}");
    ran_alone(&stack, &lock, 1).await;
}

#[tokio::test]
async fn of_two_schedules_on_one_lock_one_runs_at_a_time() {
    let (stack, lock) = (stack().await, unique("schedules"));
    let (at, _) = soon(30);
    let task = stack.fixture("BatchTaskDefinitionArn");
    let parameters = [
        ("LockName", lock.as_str()),
        ("DeltaExpression", &at),
        ("FullExpression", &at),
        ("ClusterArn", stack.fixture("ClusterArn")),
        ("DeltaTaskDefinitionArn", task),
        ("FullTaskDefinitionArn", task),
        ("SubnetIds", "subnet-1"),
    ];
    stack
        .deploy_example("schedules.yaml", &lock, &parameters)
        .await;

    stack.wait_for(&lock, Event::End, 1, 90).await;
    // Either may come first. A delta that comes second is skipped; a full import that comes second
    // waits for its turn.
    until("a free lock", 40, async || {
        stack.held(&lock).await == 0 && stack.waiting(&lock).await == 0
    })
    .await;

    let outcomes = stack.outcomes(&lock).await;
    assert!((1..=2).contains(&outcomes.len()), "{outcomes:?}");
    assert!(
        outcomes.iter().all(|one| one == "succeeded"),
        "{outcomes:?}"
    );
    ran_alone(&stack, &lock, outcomes.len()).await;
}

/// Deploys workflows.yaml, whose role has the one policy that docs/ways shows. Returns its outputs.
async fn workflows(stack: &Stack, what: &str) -> std::collections::HashMap<String, String> {
    let parameters = [
        ("ClusterArn", stack.fixture("ClusterArn")),
        ("TaskDefinitionArn", stack.fixture("BatchTaskDefinitionArn")),
        ("SubnetId", "subnet-1"),
    ];
    let name = unique(what);
    stack
        .deploy_example("workflows.yaml", &name, &parameters)
        .await
}

#[tokio::test]
async fn workflows_call_exclusive_run_with_the_rights_that_are_shown() {
    let stack = stack().await;
    let machines = workflows(&stack, "workflows").await;
    tokio::join!(
        calls(&stack, &machines["ReportJsonPathArn"]),
        calls(&stack, &machines["ReportJsonataArn"]),
        tells_held_from_failed(&stack, &machines["HeldJsonPathArn"]),
        tells_held_from_failed(&stack, &machines["HeldJsonataArn"]),
        locks_each_item(&stack, &machines["LockPerItemArn"]),
        stops_what_it_called(&stack, &machines["ReportJsonataArn"]),
    );
}

async fn calls(stack: &Stack, machine: &str) {
    let lock = unique("calls");
    let ended = stack.start_machine(machine, &json!({ "lock": lock })).await;
    let ended = stack.wait(&ended, 60).await;

    assert_eq!(ended.status, "SUCCEEDED", "{ended:?}");
    let run = &ended.output["run"];
    let output = run.get("output").unwrap_or(run);
    assert!(output["TaskArn"].is_string(), "{ended:?}");
    ran_alone(stack, &lock, 1).await;
}

async fn tells_held_from_failed(stack: &Stack, machine: &str) {
    let lock = unique("tells");
    let holder = at_work(stack, &stack.batch_input(&lock).seconds(60.0)).await;
    let input = json!({ "lock": lock, "exit": "0" });
    let held = stack.start_machine(machine, &input).await;
    let held = stack.wait(&held, 60).await;
    stack.abort(&holder.arn).await;
    stack.wait_free(&lock, 60).await;
    let failing = json!({ "lock": lock, "exit": "3" });
    let failed = stack.start_machine(machine, &failing).await;
    let failed = stack.wait(&failed, 60).await;

    assert_eq!(held.status, "SUCCEEDED", "{held:?}");
    assert!(visited(stack, &held.arn, "Another Run Works").await);
    assert_eq!(
        (&*failed.status, &*failed.error),
        ("FAILED", "States.TaskFailed")
    );
    assert!(failed.cause.contains("ExitCode"), "{failed:?}");
}

/// The Cause of such an error contains no description of an execution.
#[tokio::test]
async fn a_run_that_could_not_be_started_is_a_failure_and_no_held_lock() {
    let stack = stack().await;
    let gone = format!("{}-gone", stack.output("ExclusiveRunStateMachineArn"));
    for query in ["jsonpath", "jsonata"] {
        let file = format!("../statemachines/examples/lock-held.{query}.asl.json");
        let text = std::fs::read_to_string(file).expect("the example");
        let text = text
            .replace("${Partition}", "aws")
            .replace("${ExclusiveRunStateMachineArn}", &gone);
        let definition = serde_json::from_str(&text).expect("JSON");
        let machine = stack.guarded(&definition).await;
        let input = json!({ "lock": unique("gone"), "exit": "0" });

        let run = stack.start_machine(&machine, &input).await;
        let ended = stack.wait(&run, 60).await;

        assert_eq!(ended.status, "FAILED", "{query}: {ended:?}");
        assert!(visited(&stack, &run, "Report Failed").await, "{query}");
        assert!(ended.cause.contains(&gone), "{query}: {ended:?}");
    }
}

async fn visited(stack: &Stack, arn: &str, state: &str) -> bool {
    let events = stack.history(arn).await;
    let mut entered = events
        .iter()
        .filter_map(|event| event.state_entered_event_details());
    entered.any(|details| details.name() == state)
}

async fn locks_each_item(stack: &Stack, machine: &str) {
    let lock = unique("items");
    let held = format!("{lock}/b");
    let holder = at_work(stack, &stack.batch_input(&held).seconds(60.0)).await;
    let input = json!({ "lock": lock, "customers": ["a", "b", "c"] });
    let ended = stack.start_machine(machine, &input).await;
    let ended = stack.wait(&ended, 60).await;
    stack.abort(&holder.arn).await;

    assert_eq!(ended.status, "SUCCEEDED", "{ended:?}");
    let expected = json!([
        { "customer": "a", "result": "done" },
        { "customer": "b", "result": "skipped" },
        { "customer": "c", "result": "done" },
    ]);
    assert_eq!(ended.output, expected);
    for customer in ["a", "c"] {
        ran_alone(stack, &format!("{lock}/{customer}"), 1).await;
    }
}

/// StopExecution is among the rights: stopping the caller stops its run.
async fn stops_what_it_called(stack: &Stack, machine: &str) {
    let lock = unique("stops");
    let caller = stack.start_machine(machine, &json!({ "lock": lock })).await;
    until("a run", 60, async || stack.held(&lock).await == 1).await;
    pause(500).await;
    stack.abort(&caller).await;
    stack.wait_free(&lock, 60).await;
    let next: Value = json!({ "lock": lock });
    let next = stack.start_machine(machine, &next).await;
    let next = stack.wait(&next, 60).await;

    assert_eq!(next.status, "SUCCEEDED", "{next:?}");
    assert!(next.output["run"]["TaskArn"].is_string(), "{next:?}");
}
