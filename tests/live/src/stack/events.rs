//! Lockstep's own events, as a rule of a user's would deliver them to a queue.

use super::{Stack, deadline, now, unique};
use serde_json::{Value, json};

/// A queue that gets the events of one lock.
#[derive(Debug)]
pub struct Feed {
    url: String,
    seen: Vec<Value>,
}

impl Stack {
    /// From now on: the events about `lock`.
    pub async fn feed(&self, lock: &str) -> Feed {
        let name = unique("feed");
        let made = self
            .call("sqs", "AmazonSQS.CreateQueue", json!({ "QueueName": name }))
            .await;
        let url = made["QueueUrl"].as_str().expect("a queue").to_owned();
        let pattern = json!({ "source": ["lockstep"], "detail": { "lock": [lock] } });
        let rule = json!({ "Name": name, "EventPattern": pattern.to_string() });
        self.call("events", "AWSEvents.PutRule", rule).await;
        let arn = format!("arn:aws:sqs:us-east-1:000000000000:{name}");
        let target = json!({ "Rule": name, "Targets": [{ "Id": "queue", "Arn": arn }] });
        self.call("events", "AWSEvents.PutTargets", target).await;
        let seen = Vec::new();
        Feed { url, seen }
    }
}

impl Feed {
    /// The first event of `detail_type`; waits for it.
    pub async fn wait(&mut self, stack: &Stack, detail_type: &str, seconds: u64) -> Value {
        let deadline = deadline(seconds);
        loop {
            let known = self.seen.iter();
            let mut known = known.filter(|event| event["detail-type"] == detail_type);
            if let Some(event) = known.next() {
                return event["detail"].clone();
            }
            let kinds: Vec<_> = self
                .seen
                .iter()
                .map(|event| &event["detail-type"])
                .collect();
            assert!(now() < deadline, "no event {detail_type}, only {kinds:?}");
            self.receive(stack).await;
        }
    }

    async fn receive(&mut self, stack: &Stack) {
        let ask = json!({ "QueueUrl": self.url, "WaitTimeSeconds": 1, "MaxNumberOfMessages": 10 });
        let got = stack.call("sqs", "AmazonSQS.ReceiveMessage", ask).await;
        for message in got["Messages"].as_array().into_iter().flatten() {
            let body = message["Body"].as_str().unwrap_or_default();
            let event = serde_json::from_str(body).expect("an event as JSON");
            self.seen.push(event);
            let receipt = &message["ReceiptHandle"];
            let done = json!({ "QueueUrl": self.url, "ReceiptHandle": receipt });
            stack.call("sqs", "AmazonSQS.DeleteMessage", done).await;
        }
    }
}
