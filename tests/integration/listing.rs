//! ListExecutions as its client reads it. The answers are scripted, because the emulator neither
//! throttles nor holds more executions than fit on a page.

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider};
use lockstep::aws::sdk_config;
use lockstep::executions::stepfunctions::StepFunctions;
use lockstep::executions::{Executions, ExecutionsError};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

const MACHINE: &str = "arn:aws:states:eu-west-1:1:stateMachine:report";

/// Serves `answers`, each with its status, and gives back the requests' bodies.
async fn scripted(answers: Vec<(u16, Value)>) -> (String, JoinHandle<Vec<Value>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let served = tokio::spawn(async move {
        let mut asked = Vec::new();
        for (status, answer) in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            let body = loop {
                let mut piece = [0; 4096];
                let read = stream.read(&mut piece).await.unwrap();
                request.extend_from_slice(&piece[..read]);
                let text = String::from_utf8_lossy(&request);
                let body = text.split_once("\r\n\r\n").map(|(_, body)| body);
                if let Some(Ok(body)) = body.map(serde_json::from_str) {
                    break body;
                }
            };
            asked.push(body);
            let answer = answer.to_string();
            let head = format!(
                "HTTP/1.1 {status} X\r\nContent-Type: application/x-amz-json-1.0\r\n\
                 Content-Length: {}\r\nConnection: close\r\n\r\n",
                answer.len()
            );
            stream.write_all((head + &answer).as_bytes()).await.unwrap();
        }
        asked
    });
    (endpoint, served)
}

/// The client as the function has it, but for its endpoint. Made anew, because a loaded
/// configuration lets `AWS_ENDPOINT_URL` of a running stack win over any other endpoint.
async fn client(endpoint: &str) -> StepFunctions {
    let credentials = Credentials::new("test", "test", None, None, "test");
    let deployed = sdk_config().await;
    let mut sdk = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .endpoint_url(endpoint)
        .region(Region::new("eu-west-1"))
        .credentials_provider(SharedCredentialsProvider::new(credentials));
    sdk.set_http_client(deployed.http_client());
    sdk.set_retry_config(deployed.retry_config().cloned());
    sdk.set_timeout_config(deployed.timeout_config().cloned());
    sdk.set_sleep_impl(deployed.sleep_impl());
    StepFunctions::from_sdk(&sdk.build())
}

fn listed(name: &str, started_at: f64) -> Value {
    json!({
        "executionArn": format!("arn:aws:states:eu-west-1:1:execution:report:{name}"),
        "stateMachineArn": MACHINE, "name": name, "status": "RUNNING", "startDate": started_at
    })
}

#[tokio::test]
async fn all_pages_are_read_and_throttling_is_ridden_out() {
    let throttled = json!({ "__type": "ThrottlingException", "message": "Rate exceeded" });
    let first = json!({ "executions": [listed("b", 2.5)], "nextToken": "more" });
    let last = json!({ "executions": [listed("a", 1.0)] });
    let (endpoint, served) = scripted(vec![(400, throttled), (200, first), (200, last)]).await;

    let running = client(&endpoint).await.running(MACHINE).await.unwrap();

    let starts: Vec<_> = running.iter().map(|e| e.started_at.millis()).collect();
    assert_eq!(starts, [2500, 1000]);
    let asked = served.await.unwrap();
    assert_eq!(asked[1]["statusFilter"], "RUNNING");
    assert_eq!(asked[1]["stateMachineArn"], MACHINE);
    assert_eq!(asked[2]["nextToken"], "more");
}

#[tokio::test]
async fn a_refused_list_is_denied_and_not_retried() {
    let refused = json!({ "__type": "AccessDeniedException", "message": "no" });
    let (endpoint, served) = scripted(vec![(400, refused)]).await;

    let error = client(&endpoint).await.running(MACHINE).await.unwrap_err();

    assert!(matches!(error, ExecutionsError::Denied(_)), "{error:?}");
    assert_eq!(served.await.unwrap().len(), 1);
}
