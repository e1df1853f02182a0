//! An HTTP client of the SDK that answers in virtual time and throttles as DynamoDB does.

use crate::partition::{Counts, Partitions, Write};
use crate::virtual_time::VirtualTime;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::http::{HttpRequest, HttpResponse};
use aws_sdk_dynamodb::config::retry::RetryPartition;
use aws_sdk_dynamodb::config::{
    AsyncSleep, Builder, HttpClient, RuntimeComponents, SharedAsyncSleep, SharedHttpClient, Sleep,
};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;
use tokio::runtime::{self, Handle};

/// How long a request takes.
const LATENCY: Duration = Duration::from_millis(5);

impl AsyncSleep for VirtualTime {
    fn sleep(&self, duration: Duration) -> Sleep {
        Sleep::new(self.wait(duration))
    }
}

/// DynamoDB Local behind the limits of DynamoDB's partitions.
///
/// Each request takes 5 ms of the virtual time, however long DynamoDB Local takes. It blocks the thread meanwhile, so
/// that the time stands still.
#[derive(Clone, Debug)]
pub struct ThrottledTable {
    /// The time in which it answers.
    pub time: VirtualTime,
    partitions: Arc<Mutex<Partitions>>,
    settings: aws_sdk_dynamodb::Config,
    upstream: SharedHttpClient,
    background: Handle,
}

impl ThrottledTable {
    /// DynamoDB Local at `endpoint`, with the limits or without any.
    ///
    /// # Panics
    /// When no thread can be started.
    pub async fn new(endpoint: &str, limited: bool) -> Self {
        let sdk = lockstep::aws::sdk_config();
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime");
        let background = runtime.handle().clone();
        std::thread::spawn(move || runtime.block_on(std::future::pending::<()>()));
        Self {
            time: VirtualTime::default(),
            partitions: Arc::new(Mutex::new(Partitions::new(limited))),
            upstream: sdk.http_client().expect("the functions' HTTP client"),
            settings: Builder::from(&sdk).endpoint_url(endpoint).build(),
            background,
        }
    }

    /// A client with the settings of the functions and a retry quota of its own, as each function has that runs.
    #[must_use]
    pub fn client(&self, name: String) -> Client {
        let settings = self.settings.to_builder();
        let settings = settings
            .http_client(self.clone())
            .sleep_impl(SharedAsyncSleep::new(self.time.clone()))
            .retry_partition(RetryPartition::new(name));
        Client::from_conf(settings.build())
    }

    /// The counts since the last call.
    #[must_use]
    pub fn take_counts(&self) -> Counts {
        self.partitions().take_counts()
    }

    fn partitions(&self) -> std::sync::MutexGuard<'_, Partitions> {
        self.partitions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl HttpClient for ThrottledTable {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        let upstream = self.upstream.http_connector(settings, components);
        let table = self.clone();
        SharedHttpConnector::new(Connector { table, upstream })
    }
}

#[derive(Debug)]
struct Connector {
    table: ThrottledTable,
    upstream: SharedHttpConnector,
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let latency = self.table.time.wait(LATENCY);
        let answer = self.answer(request);
        HttpConnectorFuture::new(async move {
            latency.await;
            answer
        })
    }
}

impl Connector {
    fn answer(&self, mut request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
        let operation = request.headers().get("x-amz-target").unwrap_or_default();
        let operation = operation.rsplit('.').next().unwrap_or_default().to_owned();
        let mut body = json(request.body());
        let write = Write::of(&operation, &body);
        let now = self.table.time.elapsed();
        if !self.table.partitions().admit(write.as_ref(), now) {
            let answer = write.map(|write| write.throttling()).unwrap_or_default();
            return Ok(response(400, answer.to_string().into_bytes()));
        }
        let Some(write) = write else {
            return self.send(request);
        };
        body["ReturnConsumedCapacity"] = "INDEXES".into();
        let body = body.to_string();
        request
            .headers_mut()
            .insert("content-length", body.len().to_string());
        *request.body_mut() = body.into();
        let answer = self.send(request)?;
        self.table
            .partitions()
            .consume(&write, &json(answer.body()), now);
        Ok(answer)
    }

    /// Sends a request to DynamoDB Local, and waits for all of its answer.
    fn send(&self, request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
        let (sender, receiver) = mpsc::channel();
        let upstream = self.upstream.clone();
        self.table.background.spawn(async move {
            let answer = match upstream.call(request).await {
                Ok(mut answer) => {
                    let body = ByteStream::new(answer.take_body()).collect().await;
                    body.map(|body| response(answer.status().as_u16(), body.to_vec()))
                        .map_err(|error| ConnectorError::io(error.into()))
                }
                Err(error) => Err(error),
            };
            // The receiver waits below.
            drop(sender.send(answer));
        });
        receiver.recv().expect("an answer or an error")
    }
}

fn json(body: &SdkBody) -> Value {
    let bytes = body.bytes().unwrap_or_default();
    serde_json::from_slice(bytes).unwrap_or_default()
}

fn response(status: u16, body: Vec<u8>) -> HttpResponse {
    let status = StatusCode::try_from(status).expect("a status of HTTP");
    let mut response = HttpResponse::new(status, SdkBody::from(body));
    response
        .headers_mut()
        .insert("content-type", "application/x-amz-json-1.0");
    response
}
