//! What the keys of a container can reach: whatever runs in the container has them.

use super::{Fleet, Logged, Work};
use aws_sdk_dynamodb::error::{DisplayErrorContext, ProvideErrorMetadata};
use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_sfn::config::{Builder, Credentials, Region};
use lockstep_tests::stack::{Item, Stack};
use std::collections::HashMap;

/// Prints its keys, and works until it is stopped.
const THIEF: &str = r#"
    trap 'exit 0' TERM
    echo "{\"event\":\"keys\",\"env\":{\"id\":\"$AWS_ACCESS_KEY_ID\",\"secret\":\"$AWS_SECRET_ACCESS_KEY\",\"session\":\"$AWS_SESSION_TOKEN\"}}"
    while :; do sleep 0.1; done"#;

/// Clients with the keys of a container.
struct Thief {
    sfn: aws_sdk_sfn::Client,
    dynamodb: aws_sdk_dynamodb::Client,
    table: String,
}

impl Thief {
    async fn with(keys: &Logged, stack: &Stack) -> Self {
        let session = Some(keys.value("session").to_owned()).filter(|token| !token.is_empty());
        let (id, secret) = (keys.value("id"), keys.value("secret"));
        let has_keys = !id.is_empty() && !secret.is_empty();
        assert!(has_keys, "the container has keys");
        let keys = Credentials::new(id, secret, session, None, "a container");
        let shared = lockstep::aws::sdk_config();
        let region = Region::new("us-east-1");
        let sfn = Builder::from(&shared)
            .endpoint_url(&stack.endpoint)
            .region(region.clone())
            .credentials_provider(keys.clone());
        let dynamodb = aws_sdk_dynamodb::config::Builder::from(&shared)
            .endpoint_url(&stack.endpoint)
            .region(region)
            .credentials_provider(keys);
        Self {
            sfn: aws_sdk_sfn::Client::from_conf(sfn.build()),
            dynamodb: aws_sdk_dynamodb::Client::from_conf(dynamodb.build()),
            table: stack.output("LockTableName").to_owned(),
        }
    }

    /// Returns one item of the table, or the code of the refusal.
    async fn read(&self, pk: &str, sk: &str) -> Result<Item, String> {
        let text = |text: &str| AttributeValue::S(text.into());
        let key = HashMap::from([("pk".into(), text(pk)), ("sk".into(), text(sk))]);
        let get = self.dynamodb.get_item().table_name(&self.table);
        match get.set_key(Some(key)).send().await {
            Ok(answer) => Ok(answer.item.unwrap_or_default()),
            Err(error) => Err(error.code().unwrap_or_default().to_owned()),
        }
    }

    /// Ends a waiting state as if its turn had come. Returns the code of the refusal.
    async fn forge(&self, token: &str) -> Result<(), String> {
        let forged = r#"{"status":"granted"}"#;
        let send = self.sfn.send_task_success().task_token(token);
        let answer = send.output(forged).send().await;
        answer.map(drop).map_err(|error| {
            let shown = DisplayErrorContext(&error);
            eprintln!("figure: SendTaskSuccess as a container: {shown}");
            error.code().unwrap_or_default().to_owned()
        })
    }
}

#[tokio::test]
async fn the_keys_of_a_container_end_no_waiting_state_and_open_no_token() {
    let (fleet, lock) = Fleet::with_lock("reach").await;
    let stack = fleet.stack();
    let task = fleet.start(&Work::guarded(&lock, &[]).script(THIEF)).await;
    let keys = fleet.until_logged(&task, "keys", 30).await;
    let input = stack.batch_input(&lock).seconds(0.3).queued();
    let waits = stack.start(&input).await;
    fleet.until_waiting(&lock, 1, 20).await;
    let thief = Thief::with(&keys, stack).await;

    let record = fleet.record(&lock).await.expect("a record");
    let id = record.queue.keys().next().expect("a waiter").to_string();
    let waiter = thief.read(&lock, &format!("waiter#{id}")).await;
    let waiter = waiter.expect("its role reads the items of locks");
    let sealed = waiter["taskToken"].as_s().expect("a text");
    let key = thief.read("#token-key", "key").await;
    let forged = thief.forge(sealed).await;

    assert!(sealed.starts_with("sealed:"), "{sealed}");
    for refusal in [key.map(drop), forged] {
        let code = refusal.expect_err("a refusal");
        assert!(code.starts_with("AccessDenied"), "{code}");
    }
    assert_eq!(fleet.waiting(&lock).await, 1, "it waits on");
    fleet.stop(&task).await;
    assert!(stack.wait(&waits, 60).await.ran(), "its turn comes as ever");
}
