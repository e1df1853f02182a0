//! AWS's own DynamoDB Local, which judges conditional writes.
//!
//! Two variables say where it is. `LOCKSTEP_DYNAMODB_LOCAL` is the folder that contains
//! `DynamoDBLocal.jar`, which is started once for the test program. `AWS_ENDPOINT_URL_DYNAMODB` is
//! the endpoint of one that runs already, and wins.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::Builder;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::create_table::CreateTableError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection,
    ProjectionType, ScalarAttributeType,
};
use lockstep::clock::{Clock, SystemClock};
use lockstep::config::variable;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::sync::OnceCell;

const HELP: &str = "this level needs DynamoDB Local: set LOCKSTEP_DYNAMODB_LOCAL to the folder of \
                    DynamoDBLocal.jar, or AWS_ENDPOINT_URL_DYNAMODB to one that runs";

const JAVA: &str = r#"java -Xmx512m -Djava.library.path=DynamoDBLocal_lib -jar DynamoDBLocal.jar \
    -inMemory -sharedDb -disableTelemetry -port "$0""#;

/// How a client handles failures.
#[derive(Clone, Copy, Debug)]
pub enum Retries {
    /// As in the functions.
    AsDeployed,
    /// One attempt per call.
    Off,
}

/// A table of its own for one test.
#[derive(Debug)]
pub struct Table {
    /// The endpoint of DynamoDB.
    pub endpoint: &'static str,
    /// The table's name.
    pub name: String,
}

/// Returns the endpoint of DynamoDB Local, which is started if necessary.
///
/// # Panics
/// If neither variable is set, or DynamoDB Local does not start.
pub async fn endpoint() -> &'static str {
    static ENDPOINT: OnceCell<String> = OnceCell::const_new();
    let endpoint = ENDPOINT.get_or_init(|| async {
        if let Some(running) = variable("AWS_ENDPOINT_URL_DYNAMODB") {
            return running;
        }
        let folder = variable("LOCKSTEP_DYNAMODB_LOCAL");
        start(&folder.expect(HELP)).await
    });
    endpoint.await
}

/// Returns a client of `endpoint` with the settings of the functions, except for the time of an
/// attempt: the speed of this machine does not matter here.
pub async fn client(endpoint: &str, retries: Retries) -> Client {
    // The endpoint is set here too, because the variable for DynamoDB alone wins over the setting
    // of all clients.
    let settings = crate::sdk_config(endpoint).await;
    let mut config = Builder::from(&settings).endpoint_url(endpoint);
    if let Retries::Off = retries {
        config = config.retry_config(RetryConfig::disabled());
    }
    Client::from_conf(config.build())
}

impl Table {
    /// Creates a table with the keys and the indexes of the deployed one.
    ///
    /// # Panics
    /// If DynamoDB Local does not create the table.
    pub async fn new(test: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let run = format!("{}-{}", std::process::id(), SystemClock.now().millis());
        let table = Self {
            endpoint: endpoint().await,
            name: format!("{test}-{run}-{number}"),
        };
        table.create().await;
        table
    }

    /// Returns a client straight to the table.
    pub async fn client(&self) -> Client {
        client(self.endpoint, Retries::AsDeployed).await
    }

    async fn create(&self) {
        let client = self.client().await;
        let mut request = client
            .create_table()
            .table_name(&self.name)
            .billing_mode(BillingMode::PayPerRequest)
            .set_key_schema(Some(keys("pk", "sk")))
            .global_secondary_indexes(index("due", "shard", "dueAt"))
            .global_secondary_indexes(index("locks", "lockShard", "pk"));
        let text = ScalarAttributeType::S;
        for (name, of) in [
            ("pk", text.clone()),
            ("sk", text.clone()),
            ("shard", text.clone()),
            ("lockShard", text),
            ("dueAt", ScalarAttributeType::N),
        ] {
            let attribute = AttributeDefinition::builder()
                .attribute_name(name)
                .attribute_type(of);
            request = request.attribute_definitions(attribute.build().expect("all is set"));
        }
        let made = request.send().await.map_err(SdkError::into_service_error);
        // The name is new. The table exists already only if the first answer was lost.
        let there = |error: &CreateTableError| error.is_resource_in_use_exception();
        if let Err(error) = made {
            assert!(there(&error), "DynamoDB Local makes a table: {error:?}");
        }
    }
}

fn index(name: &str, partition: &str, sort: &str) -> GlobalSecondaryIndex {
    let projection = Projection::builder().projection_type(ProjectionType::KeysOnly);
    let index = GlobalSecondaryIndex::builder()
        .index_name(name)
        .set_key_schema(Some(keys(partition, sort)))
        .projection(projection.build());
    index.build().expect("all is set")
}

fn keys(partition: &str, sort: &str) -> Vec<KeySchemaElement> {
    let key = |name, kind| {
        let element = KeySchemaElement::builder()
            .attribute_name(name)
            .key_type(kind);
        element.build().expect("all is set")
    };
    vec![key(partition, KeyType::Hash), key(sort, KeyType::Range)]
}

async fn start(folder: &str) -> String {
    let jar = Path::new(folder).join("DynamoDBLocal.jar");
    assert!(jar.is_file(), "{} is not there: {HELP}", jar.display());
    let (endpoint, keeper) = serve(JAVA, folder, "").await;
    // A child that is dropped goes on. The pipe to it lasts as long as this program.
    std::mem::forget(keeper);
    endpoint
}

/// Runs `command` in `folder`, and waits until it answers as DynamoDB does. The command has to
/// listen on the port `$0`, and may use `argument` as `$1`. Returns its endpoint, and a child whose
/// end ends the command.
///
/// # Panics
/// If the command does not answer within a minute.
pub async fn serve(command: &str, folder: &str, argument: &str) -> (String, Child) {
    let free = TcpListener::bind(("127.0.0.1", 0)).and_then(|socket| socket.local_addr());
    let port = free.expect("a free port").port();
    // The end of the test program, however it ends, closes the pipe.
    let kept = format!("{command} >/dev/null 2>&1 &\nread -r _; kill $!");
    let mut shell = Command::new("sh");
    shell.args(["-c", &kept, &port.to_string(), argument]);
    shell.current_dir(folder).stdin(Stdio::piped());
    let mut keeper = shell.spawn().expect("a shell in that folder");
    let endpoint = format!("http://127.0.0.1:{port}");
    let client = client(&endpoint, Retries::Off).await;
    for _ in 0..600 {
        if client.list_tables().send().await.is_ok() {
            return (endpoint, keeper);
        }
        let ended = keeper.try_wait().expect("the state of a child");
        assert!(ended.is_none(), "{command} ends at once");
        SystemClock.sleep(Duration::from_millis(100)).await;
    }
    panic!("{command} gives no answer")
}
