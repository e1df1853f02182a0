//! The adapter to Step Functions: its requests, and how it takes the answers.

use super::scripted::{self, Asked, refusal};
use lockstep::domain::{
    ExecutionArn, ExecutionDescription, ExecutionEnd, ExecutionState, LockKey, TaskToken,
};
use lockstep::executions::seal::{KEY_LEN, Seal};
use lockstep::executions::stepfunctions::StepFunctions;
use lockstep::executions::{Executions, ExecutionsError, HISTORY_PAGES, StateEnd};
use lockstep::store::dynamodb::DynamoStore;
use serde_json::{Value, json};

const MACHINE: &str = "arn:aws:states:eu-west-1:1:stateMachine:report";

fn arn() -> ExecutionArn {
    ExecutionArn::new("arn:aws:states:eu-west-1:1:execution:report:a".into()).unwrap()
}

fn lock() -> LockKey {
    LockKey::new("nightly").unwrap()
}

async fn on<T>(
    answers: Vec<(u16, Value)>,
    ask: impl AsyncFnOnce(StepFunctions) -> T,
) -> (T, Vec<Asked>) {
    scripted::on(answers, async |sdk| {
        let table = DynamoStore::from_sdk(sdk, "locks".into());
        ask(StepFunctions::from_sdk(sdk, table)).await
    })
    .await
}

fn is_denied<T>(result: &Result<T, ExecutionsError>) -> bool {
    matches!(result, Err(ExecutionsError::Denied(_)))
}

async fn describe(answer: (u16, Value)) -> Result<Option<ExecutionDescription>, ExecutionsError> {
    on(vec![answer], async |sfn| sfn.describe(&arn()).await)
        .await
        .0
}

fn described(status: &str) -> (u16, Value) {
    let described = json!({
        "executionArn": arn().as_str(), "stateMachineArn": MACHINE, "name": "a",
        "status": status, "startDate": 1.5, "redriveCount": 0
    });
    (200, described)
}

/// Returns the key of the task tokens, as the table contains it.
fn key() -> Value {
    json!({ "tokenKey": { "B": "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=" } })
}

fn listed(name: &str, started_at: f64) -> Value {
    json!({
        "executionArn": format!("arn:aws:states:eu-west-1:1:execution:report:{name}"),
        "stateMachineArn": MACHINE, "name": name, "status": "RUNNING", "startDate": started_at
    })
}

#[tokio::test]
async fn a_list_that_ends_with_the_last_page_that_is_read_is_whole() {
    let page = |page| {
        let next = (page < 20).then(|| format!("p{page}"));
        (
            200,
            json!({ "executions": [listed("b", 2.5)], "nextToken": next }),
        )
    };

    let (running, _) = on((1..=20).map(page).collect(), async |sfn| {
        sfn.running(MACHINE).await
    })
    .await;

    assert_eq!(running.unwrap().len(), 20);
}

#[tokio::test]
async fn all_pages_are_read_and_throttling_is_ridden_out() {
    let throttled = refusal("ThrottlingException", "Rate exceeded");
    let first = json!({ "executions": [listed("b", 2.5)], "nextToken": "more" });
    let last = json!({ "executions": [listed("a", 1.0)] });
    let answers = vec![throttled, (200, first), (200, last)];

    let (running, asked) = on(answers, async |sfn| sfn.running(MACHINE).await).await;

    let running = running.unwrap();
    let starts: Vec<_> = running.iter().map(|e| e.started_at.millis()).collect();
    assert_eq!(starts, [2500, 1000]);
    assert_eq!(asked[1].1["statusFilter"], "RUNNING");
    assert_eq!(asked[1].1["stateMachineArn"], MACHINE);
    assert_eq!(asked[2].1["nextToken"], "more");
}

/// Returns a page of a history, latest event first, with the token of the next page.
fn history(events: &[Value], next: Option<String>) -> (u16, Value) {
    (200, json!({ "events": events, "nextToken": next }))
}

/// Returns the event `id` of `kind`, which follows the event before it.
fn event(id: i64, kind: &str) -> Value {
    json!({ "id": id, "previousEventId": id - 1, "timestamp": id, "type": kind })
}

#[tokio::test]
async fn a_failed_start_is_found_across_the_pages_of_a_history() {
    let mut scheduled = event(7, "TaskScheduled");
    scheduled["taskScheduledEventDetails"] = json!({
        "resourceType": "ecs", "resource": "runTask.sync", "region": "eu-west-1",
        "parameters": r#"{"TaskDefinition":"report"}"#
    });
    let answers = vec![
        history(&[event(2000, "PassStateEntered")], Some("second".into())),
        history(
            &[event(9, "TaskSubmitFailed"), event(8, "TaskStarted")],
            Some("third".into()),
        ),
        history(&[scheduled], None),
    ];

    let (starts, asked) = on(answers, async |sfn| sfn.failed_starts(&arn()).await).await;

    let groups: Vec<_> = starts
        .unwrap()
        .into_iter()
        .map(|start| start.group)
        .collect();
    assert_eq!(groups, ["family:report"]);
    assert_eq!(asked[0].1["reverseOrder"], true);
    assert_eq!(asked[1].1["nextToken"], "second");
}

#[tokio::test]
async fn failed_starts_read_a_bounded_number_of_history_pages() {
    let page = |page: usize| history(&[event(2000, "PassStateEntered")], Some(page.to_string()));
    let answers = (0..HISTORY_PAGES).map(page).collect();

    let (starts, _) = on(answers, async |sfn| sfn.failed_starts(&arn()).await).await;

    assert_eq!(starts, Ok(Vec::new()));
}

#[tokio::test]
async fn a_refused_list_is_denied_and_not_retried() {
    let answers = vec![refusal("AccessDeniedException", "no")];

    let (error, asked) = on(answers, async |sfn| sfn.running(MACHINE).await).await;

    assert!(is_denied(&error), "{error:?}");
    assert_eq!(asked.len(), 1);
}

#[tokio::test]
async fn a_describe_call_asks_for_the_status_alone() {
    let answers = vec![described("TIMED_OUT")];

    let (state, asked) = on(answers, async |sfn| sfn.describe(&arn()).await).await;

    assert_eq!(
        state,
        Ok(Some(ExecutionState::Ended(ExecutionEnd::TimedOut).into()))
    );
    let body = json!({ "executionArn": arn().as_str(), "includedData": "METADATA_ONLY" });
    assert_eq!(asked, [("DescribeExecution".into(), body)]);
}

#[tokio::test]
async fn an_execution_that_does_not_exist_is_none() {
    let state = describe(refusal("ExecutionDoesNotExist", "Execution Does Not Exist")).await;

    assert_eq!(state, Ok(None));
}

#[tokio::test]
async fn an_unknown_status_and_a_denial_are_errors() {
    let odd = describe(described("HIBERNATED")).await;
    let denied = describe(refusal("AccessDeniedException", "not authorized")).await;

    assert!(
        matches!(odd, Err(ExecutionsError::Unavailable(_))),
        "{odd:?}"
    );
    let Err(ExecutionsError::Denied(text)) = denied else {
        panic!("{denied:?}");
    };
    assert_eq!(text, "AccessDeniedException: not authorized");
}

#[tokio::test]
async fn a_stop_carries_error_and_cause_within_their_limits() {
    let answers = vec![(200, json!({ "stopDate": 2.0 }))];
    let (error, cause) = ("e".repeat(300), "c".repeat(40_000));

    let stop = async |sfn: StepFunctions| sfn.stop(&arn(), &error, &cause).await;
    let (stopped, asked) = on(answers, stop).await;

    assert_eq!(stopped, Ok(()));
    let (operation, body) = &asked[0];
    assert_eq!(operation, "StopExecution");
    assert_eq!(body["error"].as_str().map(str::len), Some(256));
    assert_eq!(body["cause"].as_str().map(str::len), Some(32_768));
}

#[tokio::test]
async fn a_stop_of_an_ended_or_missing_execution_succeeds() {
    let missing = refusal("ExecutionDoesNotExist", "Execution Does Not Exist");
    let invalid = || refusal("ValidationException", "not running");
    let stop = async |sfn: StepFunctions| sfn.stop(&arn(), "e", "c").await;

    let (missing, _) = on(vec![missing], stop).await;
    let (ended, asked) = on(vec![invalid(), described("SUCCEEDED")], stop).await;
    let (runs, _) = on(vec![invalid(), described("RUNNING")], stop).await;

    assert_eq!((missing, ended), (Ok(()), Ok(())));
    assert_eq!(asked[1].0, "DescribeExecution");
    assert!(is_denied(&runs), "{runs:?}");
}

#[tokio::test]
async fn a_state_is_ended_with_its_output_and_a_closed_one_is_not() {
    let token = TaskToken::new("AQC-1").unwrap();
    let end = async |sfn: StepFunctions| {
        sfn.end_state(&lock(), &token, "{\"status\":\"granted\"}")
            .await
    };

    let (ended, asked) = on(vec![(200, json!({}))], end).await;

    assert_eq!(ended, Ok(StateEnd::Ended));
    let body = json!({ "taskToken": "AQC-1", "output": "{\"status\":\"granted\"}" });
    assert_eq!(asked, [("SendTaskSuccess".into(), body)]);
    for code in ["TaskTimedOut", "TaskDoesNotExist", "InvalidToken"] {
        let (ended, _) = on(vec![refusal(code, "closed")], end).await;
        assert_eq!(ended, Ok(StateEnd::NotWaiting), "{code}");
    }
    let (refused, _) = on(vec![refusal("InvalidOutput", "no JSON")], end).await;
    assert!(is_denied(&refused), "{refused:?}");
}

#[tokio::test]
async fn a_sealed_token_is_opened_with_the_key_and_for_its_own_lock_alone() {
    let token = TaskToken::new("AQC-1").unwrap();
    let found = (200, json!({ "Attributes": key() }));
    let again = (200, json!({ "Item": key() }));
    let answers = vec![(200, json!({})), found, (200, json!({})), again];

    let ((sealed, ended, other), asked) = on(answers, async |sfn| {
        let sealed = sfn.seal(&lock(), &token).await.unwrap();
        let ended = sfn.end_state(&lock(), &sealed, "{}").await;
        let order = LockKey::new("orders").unwrap();
        (
            sealed.clone(),
            ended,
            sfn.end_state(&order, &sealed, "{}").await,
        )
    })
    .await;

    assert!(!sealed.reveal().contains("AQC"), "{}", sealed.reveal());
    assert_eq!(
        (ended, other),
        (Ok(StateEnd::Ended), Ok(StateEnd::NotWaiting))
    );
    let calls: Vec<_> = asked.iter().map(|(call, _)| call.as_str()).collect();
    let expected = ["GetItem", "UpdateItem", "SendTaskSuccess", "GetItem"];
    assert_eq!(calls, expected, "the key is read again, as it may be new");
    assert_eq!(asked[2].1["taskToken"], "AQC-1");
}

/// The item of the key was deleted, and another function has made a new key.
#[tokio::test]
async fn a_token_that_does_not_open_rereads_the_key_once_a_minute() {
    let token = TaskToken::new("AQC-1").unwrap();
    let [newer, unknown] = [7, 9].map(|byte| Seal::new(&[byte; KEY_LEN]).seal(&lock(), &token));
    let old = json!({ "tokenKey": { "B": "CAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAg=" } });
    let answers = vec![
        (200, json!({ "Item": old })),
        (200, json!({ "Item": key() })),
        (200, json!({})),
    ];

    let (ends, asked) = on(answers, async |sfn| {
        sfn.prepare().await;
        let mut ends = Vec::new();
        for token in [&newer, &unknown, &unknown] {
            ends.push(sfn.end_state(&lock(), token, "{}").await);
        }
        ends
    })
    .await;

    let expected = [StateEnd::Ended, StateEnd::NotWaiting, StateEnd::NotWaiting].map(Ok);
    assert_eq!(ends, expected);
    let calls: Vec<_> = asked.iter().map(|(call, _)| call.as_str()).collect();
    assert_eq!(calls, ["GetItem", "GetItem", "SendTaskSuccess"]);
    assert_eq!(asked[2].1["taskToken"], "AQC-1");
}

#[tokio::test]
async fn a_prepared_function_has_the_key_before_its_first_event() {
    let denied = refusal("x#AccessDeniedException", "no");
    let there = (200, json!({ "Item": key() }));
    for (answers, calls) in [
        (vec![there.clone()], vec!["GetItem"]),
        (vec![denied, there], vec!["GetItem", "GetItem"]),
    ] {
        let (sealed, asked) = on(answers, async |sfn| {
            sfn.prepare().await;
            sfn.seal(&lock(), &TaskToken::new("AQC-1").unwrap()).await
        })
        .await;

        assert!(sealed.is_ok(), "{sealed:?}");
        let asked: Vec<_> = asked.iter().map(|(call, _)| call.as_str()).collect();
        assert_eq!(asked, calls);
    }
}

#[tokio::test]
async fn a_container_ends_no_state_and_seals_no_token() {
    let token = TaskToken::new("AQC-1").unwrap();

    let ((ended, refused), asked) = scripted::on(Vec::new(), async |sdk| {
        let inside = StepFunctions::without_tokens(sdk);
        let ended = inside.end_state(&lock(), &token, "{}").await;
        (ended, inside.seal(&lock(), &token).await)
    })
    .await;

    assert_eq!(ended, Ok(StateEnd::Sealed));
    assert!(is_denied(&refused), "{refused:?}");
    assert_eq!(asked, []);
}
