//! Lockstep's own events, as a user's rule would deliver them to a queue, and the messages that a
//! subscriber of the stack's topics gets.

use super::{Stack, deadline, now, unique};
use serde_json::{Value, json};

/// A queue that gets the events of one lock, or all messages or mails of a topic.
#[derive(Debug)]
pub struct Feed {
    url: String,
    seen: Vec<Value>,
}

impl Stack {
    /// Returns a queue that gets the events about `lock` from now on.
    pub async fn feed(&self, lock: &str) -> Feed {
        let (name, url) = self.queue("feed").await;
        let pattern = json!({ "source": ["lockstep"], "detail": { "lock": [lock] } });
        let rule = json!({ "Name": name, "EventPattern": pattern.to_string() });
        self.call("events", "AWSEvents.PutRule", rule).await;
        let arn = format!("arn:aws:sqs:us-east-1:000000000000:{name}");
        let target = json!({ "Rule": name, "Targets": [{ "Id": "queue", "Arn": arn }] });
        self.call("events", "AWSEvents.PutTargets", target).await;
        let seen = Vec::new();
        Feed { url, seen }
    }

    /// Returns a queue that gets what a subscriber of the alarms' topic gets from now on.
    pub async fn mailbox(&self) -> Feed {
        self.subscribed("AlarmTopicArn", "true").await
    }

    /// Returns a queue that gets what a subscriber of the mails' topic gets from now on, with
    /// `Subject` and `Message` as SNS sends them.
    pub async fn mails(&self) -> Feed {
        self.subscribed("MailTopicArn", "false").await
    }

    /// Returns a queue that is subscribed to the topic of an output; `raw` leaves out the envelope
    /// of SNS.
    async fn subscribed(&self, output: &str, raw: &str) -> Feed {
        let (name, url) = self.queue("mailbox").await;
        let arn = format!("arn:aws:sqs:us-east-1:000000000000:{name}");
        let statement = json!({
            "Effect": "Allow", "Principal": { "Service": "sns.amazonaws.com" }, "Action": "sqs:SendMessage",
            "Resource": arn,
        });
        let policy = json!({ "Version": "2012-10-17", "Statement": [statement] }).to_string();
        let allow = json!({ "QueueUrl": url, "Attributes": { "Policy": policy } });
        self.call("sqs", "AmazonSQS.SetQueueAttributes", allow)
            .await;
        let topic = self.output(output);
        let path = format!(
            "/?Action=Subscribe&Version=2010-03-31&TopicArn={topic}&Protocol=sqs&Endpoint={arn}\
             &Attributes.entry.1.key=RawMessageDelivery&Attributes.entry.1.value={raw}"
        );
        let reply = self.rest("sns", "GET", &path, Value::Null).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        let seen = Vec::new();
        Feed { url, seen }
    }

    /// Creates a queue. Returns its name and its URL.
    async fn queue(&self, prefix: &str) -> (String, String) {
        let name = unique(prefix);
        let made = self
            .call("sqs", "AmazonSQS.CreateQueue", json!({ "QueueName": name }))
            .await;
        let url = made["QueueUrl"].as_str().expect("a queue").to_owned();
        (name, url)
    }
}

impl Feed {
    /// Waits for the first event of `detail_type`, and returns its detail.
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

    /// Returns how many events of `detail_type` have arrived.
    pub fn count(&self, detail_type: &str) -> usize {
        let kinds = self.seen.iter().map(|event| &event["detail-type"]);
        kinds.filter(|kind| *kind == detail_type).count()
    }

    /// Returns the messages about `lock`, once there are `count`, or after `seconds` seconds.
    pub async fn messages(
        &mut self,
        stack: &Stack,
        lock: &str,
        count: usize,
        seconds: u64,
    ) -> Vec<Value> {
        let of_lock = |message: &Value| message["metadata"]["threadId"] == lock;
        self.first(stack, count, seconds, of_lock).await
    }

    /// Returns the mails whose title ends with the name of `lock`, once there are `count`, or after
    /// `seconds` seconds.
    pub async fn mails(
        &mut self,
        stack: &Stack,
        lock: &str,
        count: usize,
        seconds: u64,
    ) -> Vec<Value> {
        let title = format!(": {lock}");
        let of_lock = |mail: &Value| {
            let text = mail["Message"].as_str().unwrap_or_default();
            text.lines()
                .next()
                .is_some_and(|line| line.ends_with(&title))
        };
        self.first(stack, count, seconds, of_lock).await
    }

    /// Returns what has arrived and fits, once there are `count`, or after `seconds` seconds.
    async fn first(
        &mut self,
        stack: &Stack,
        count: usize,
        seconds: u64,
        fits: impl Fn(&Value) -> bool,
    ) -> Vec<Value> {
        let deadline = deadline(seconds);
        loop {
            let known: Vec<_> = self.seen.iter().filter(|one| fits(one)).cloned().collect();
            if known.len() >= count || now() >= deadline {
                return known;
            }
            self.receive(stack).await;
        }
    }

    /// Receives what arrives within a second.
    pub async fn receive(&mut self, stack: &Stack) {
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
