//! An AWS endpoint that answers from a script.

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider};
use lockstep::aws::sdk_config;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// A request: its operation and its body.
pub(super) type Asked = (String, Value);

/// An AWS endpoint that answers from a script.
struct Scripted {
    sdk: SdkConfig,
    served: JoinHandle<Vec<Asked>>,
}

impl Scripted {
    /// Gives these answers in this order, each with its status. Further calls get no answer.
    async fn new(answers: Vec<(u16, Value)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let served = tokio::spawn(async move {
            let mut asked = Vec::new();
            for (status, answer) in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                asked.push(hear(&mut stream).await);
                say(&mut stream, status, &answer.to_string()).await;
            }
            asked
        });
        let sdk = sdk(&endpoint).await;
        Self { sdk, served }
    }

    /// Returns the requests.
    ///
    /// # Panics
    /// If an answer was not asked for.
    async fn asked(self) -> Vec<Asked> {
        let served = timeout(Duration::from_secs(1), self.served).await;
        served.expect("every answer is asked for").unwrap()
    }
}

/// Runs `ask` against these answers. Returns its result and the requests.
pub(super) async fn on<T>(
    answers: Vec<(u16, Value)>,
    ask: impl AsyncFnOnce(&SdkConfig) -> T,
) -> (T, Vec<Asked>) {
    let scripted = Scripted::new(answers).await;
    let came_to = ask(&scripted.sdk).await;
    (came_to, scripted.asked().await)
}

/// Returns an error response of the JSON protocols of AWS.
pub(super) fn refusal(code: &str, message: &str) -> (u16, Value) {
    (400, json!({ "__type": code, "message": message }))
}

/// Returns the settings of the functions' clients with another endpoint. They are built here,
/// because a loaded configuration lets `AWS_ENDPOINT_URL` of a running stack win over any other
/// endpoint.
pub(super) async fn sdk(endpoint: &str) -> SdkConfig {
    let credentials = Credentials::new("test", "test", None, None, "test");
    let deployed = sdk_config();
    let mut sdk = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .endpoint_url(endpoint)
        .region(Region::new("eu-west-1"))
        .credentials_provider(SharedCredentialsProvider::new(credentials));
    sdk.set_http_client(deployed.http_client());
    sdk.set_retry_config(deployed.retry_config().cloned());
    sdk.set_timeout_config(deployed.timeout_config().cloned());
    sdk.set_sleep_impl(deployed.sleep_impl());
    sdk.build()
}

async fn hear(stream: &mut TcpStream) -> Asked {
    let mut request = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let read = stream.read(&mut piece).await.unwrap();
        request.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&request);
        let parts = text.split_once("\r\n\r\n");
        if let Some((head, Ok(body))) = parts.map(|(h, body)| (h, serde_json::from_str(body))) {
            return (operation(head), body);
        }
    }
}

/// Returns the last part of the header `X-Amz-Target: Service.Operation`.
fn operation(head: &str) -> String {
    let headers = head.lines().filter_map(|line| line.split_once(':'));
    let mut targets = headers.filter(|(name, _)| name.eq_ignore_ascii_case("x-amz-target"));
    let target = targets.next().map_or("", |(_, target)| target);
    target.rsplit('.').next().unwrap_or_default().to_owned()
}

async fn say(stream: &mut TcpStream, status: u16, answer: &str) {
    let head = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: application/x-amz-json-1.0\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        answer.len()
    );
    stream.write_all((head + answer).as_bytes()).await.unwrap();
}
