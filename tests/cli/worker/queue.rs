//! A queue of the emulator with its dead-letter queue.

use lockstep_tests::stack::{Stack, unique};
use serde_json::{Value, json};

/// A queue and its dead-letter queue.
pub(super) struct Queue {
    pub(super) name: String,
    pub(super) url: String,
    pub(super) dead_letters: String,
}

impl Queue {
    /// Creates a queue whose messages are moved to the dead letters after `most_receives`.
    pub(super) async fn create(stack: &Stack, test: &str, most_receives: u32) -> Self {
        let name = unique(test);
        let dead_letters = made(stack, json!({ "QueueName": format!("{name}-dead") })).await;
        let asked = json!({ "QueueUrl": dead_letters, "AttributeNames": ["QueueArn"] });
        let answer = sqs(stack, "GetQueueAttributes", asked).await;
        let policy = json!({
            "deadLetterTargetArn": answer["Attributes"]["QueueArn"],
            "maxReceiveCount": most_receives,
        });
        let attributes = json!({ "RedrivePolicy": policy.to_string() });
        let queue = json!({ "QueueName": name, "Attributes": attributes });
        let url = made(stack, queue).await;
        Self {
            name,
            url,
            dead_letters,
        }
    }

    /// Sends a message, and returns its id.
    pub(super) async fn send(&self, stack: &Stack, body: &str) -> String {
        self.send_with(stack, body, json!({})).await
    }

    /// Sends a message with attributes, and returns its id.
    pub(super) async fn send_with(&self, stack: &Stack, body: &str, attributes: Value) -> String {
        let message = json!({
            "QueueUrl": self.url, "MessageBody": body, "MessageAttributes": attributes,
        });
        text(&sqs(stack, "SendMessage", message).await["MessageId"])
    }

    /// Sends up to ten messages, and returns their ids.
    pub(super) async fn send_ten(&self, stack: &Stack, bodies: &[String]) -> Vec<String> {
        let number = bodies.iter().enumerate();
        let entry = |(n, body)| json!({ "Id": format!("{n}"), "MessageBody": body });
        let entries: Vec<_> = number.map(entry).collect();
        let batch = json!({ "QueueUrl": self.url, "Entries": entries });
        let answer = sqs(stack, "SendMessageBatch", batch).await;
        let sent = answer["Successful"].as_array().expect("a list");
        assert_eq!(sent.len(), bodies.len(), "{answer}");
        let id_of = |n: usize| {
            let entry = n.to_string();
            let one = sent.iter().find(|one| one["Id"] == entry.as_str());
            text(&one.expect("each is answered")["MessageId"])
        };
        (0..bodies.len()).map(id_of).collect()
    }

    /// Returns the ids of all dead letters.
    pub(super) async fn dead(&self, stack: &Stack) -> Vec<String> {
        let mut ids = Vec::new();
        loop {
            let asked = json!({
                "QueueUrl": self.dead_letters, "MaxNumberOfMessages": 10, "VisibilityTimeout": 600,
            });
            let answer = sqs(stack, "ReceiveMessage", asked).await;
            match answer["Messages"].as_array() {
                Some(messages) if !messages.is_empty() => {
                    ids.extend(messages.iter().map(|message| text(&message["MessageId"])));
                }
                _ => return ids,
            }
        }
    }
}

async fn made(stack: &Stack, request: Value) -> String {
    text(&sqs(stack, "CreateQueue", request).await["QueueUrl"])
}

/// Returns how many messages a queue has, visible or not.
pub(crate) async fn depth(stack: &Stack, url: &str) -> u64 {
    let names = ["", "NotVisible"].map(|kind| format!("ApproximateNumberOfMessages{kind}"));
    let asked = json!({ "QueueUrl": url, "AttributeNames": names });
    let answer = sqs(stack, "GetQueueAttributes", asked).await;
    let count = |name: &String| text(&answer["Attributes"][name]).parse::<u64>();
    names
        .iter()
        .map(|name| count(name).expect("a number"))
        .sum()
}

/// Calls SQS.
pub(crate) async fn sqs(stack: &Stack, action: &str, request: Value) -> Value {
    let target = format!("AmazonSQS.{action}");
    stack.call("sqs", &target, request).await
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .unwrap_or_else(|| panic!("no text: {value}"))
        .to_owned()
}
