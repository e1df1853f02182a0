//! State machines, schedules and past runs of one test, in the account of the local stack.

use crate::support::Inside;
use lockstep::domain::{Timestamp, rfc3339};
use lockstep_tests::stack::unique;
use serde_json::{Value, json};
use std::fmt::Write;
use tokio::process::Command;

/// The part of the account that one test sees.
pub(super) struct Account<'a> {
    inside: &'a Inside,
    /// The prefix of all its names.
    pub(super) prefix: String,
}

impl<'a> Account<'a> {
    pub(super) fn new(inside: &'a Inside, test: &str) -> Self {
        let prefix = unique(test);
        Self { inside, prefix }
    }

    /// Returns the whole name.
    pub(super) fn name(&self, name: &str) -> String {
        format!("{}-{name}", self.prefix)
    }

    /// Creates a state machine that waits for the `seconds` of its input.
    pub(super) async fn machine(&self, name: &str, kind: &str) -> String {
        let stack = &self.inside.stack;
        let wait = json!({ "Type": "Wait", "SecondsPath": "$.seconds", "End": true });
        let definition = json!({ "StartAt": "Work", "States": { "Work": wait } });
        let machine = stack.sfn.create_state_machine().name(self.name(name));
        let machine = machine
            .definition(definition.to_string())
            .r#type(kind.into());
        let machine = machine.role_arn(stack.fixture("WorkflowRoleArn")).send();
        machine.await.expect("a state machine").state_machine_arn
    }

    /// Puts runs that succeeded into the past of `machine`, each with its start and its end.
    pub(super) async fn past(&self, machine: &str, runs: &[(u64, u64)]) {
        let run = |(n, (start, stop)): (usize, &(u64, u64))| {
            json!([
                format!("run-{n}"),
                moment(*start),
                moment(*stop),
                "SUCCEEDED"
            ])
        };
        let runs: Vec<_> = runs.iter().enumerate().map(run).collect();
        let order = json!({ "stateMachineArn": machine, "executions": runs });
        self.inside.order("executions", order).await;
    }

    /// Creates a disabled schedule. `starts` is the state machine that a universal target starts.
    pub(super) async fn schedule(
        &self,
        name: &str,
        expression: &str,
        target: &str,
        starts: Option<&str>,
    ) {
        let input = json!({ "StateMachineArn": starts, "Input": "{}" }).to_string();
        let body = json!({
            "ScheduleExpression": expression, "State": "DISABLED", "FlexibleTimeWindow": { "Mode": "OFF" },
            "Target": { "Arn": target, "RoleArn": self.inside.stack.fixture("WorkflowRoleArn"), "Input": input },
        });
        let path = format!("/schedules/{}", self.name(name));
        let reply = self
            .inside
            .stack
            .rest("scheduler", "POST", &path, body)
            .await;
        assert_eq!(reply.status, 200, "{reply:?}");
    }

    /// Creates a rule.
    pub(super) async fn rule(&self, name: &str, expression: &str, state: &str, target: &str) {
        let stack = &self.inside.stack;
        let name = self.name(name);
        let rule = json!({ "Name": name, "ScheduleExpression": expression, "State": state });
        stack.call("events", "AWSEvents.PutRule", rule).await;
        let role = stack.fixture("WorkflowRoleArn");
        let targets =
            json!({ "Rule": name, "Targets": [{ "Id": "1", "Arn": target, "RoleArn": role }] });
        stack.call("events", "AWSEvents.PutTargets", targets).await;
    }

    /// Returns `lockstep audit ARGS` for the state machines of this test.
    pub(super) fn audit(&self, args: &[&str]) -> Command {
        self.inside
            .command(&[&["audit", "--prefix", &self.prefix], args].concat())
    }

    /// Returns the same command, as a role that has only `policy`.
    pub(super) async fn audit_as(&self, policy: &Value, args: &[&str]) -> Command {
        let trust = json!({ "Version": "2012-10-17", "Statement": [
            { "Effect": "Allow", "Action": "sts:AssumeRole", "Principal": { "Service": "ecs-tasks.amazonaws.com" } }] });
        let name = unique("auditor");
        self.iam("CreateRole", &name, ("AssumeRolePolicyDocument", &trust))
            .await;
        self.iam(
            "PutRolePolicy",
            &name,
            ("PolicyName=audit&PolicyDocument", policy),
        )
        .await;
        let role = format!("arn:aws:iam::000000000000:role/{name}");
        let made = self
            .inside
            .order("agent/task", json!({ "role": role }))
            .await;
        let keys = made["credentials"].as_object().expect("keys").iter();
        let mut command = self.audit(args);
        command.envs(keys.map(|(name, value)| (name, value.as_str().expect("a key"))));
        command
    }

    async fn iam(&self, action: &str, role: &str, document: (&str, &Value)) {
        let document = format!("{}={}", document.0, encoded(&document.1.to_string()));
        let path = format!("/?Action={action}&Version=2010-05-08&RoleName={role}&{document}");
        let reply = self
            .inside
            .stack
            .rest("iam", "POST", &path, Value::Null)
            .await;
        assert_eq!(reply.status, 200, "{action}: {reply:?}");
    }
}

/// Returns milliseconds since 1970 as an RFC 3339 time in UTC.
pub(super) fn moment(millis: u64) -> String {
    rfc3339(Timestamp::from_millis(millis))
}

/// Returns the policy of docs/audit.md, for the account of the local stack.
pub(super) fn policy_of_the_page() -> Value {
    let page = include_str!("../../../docs/audit.md");
    let blocks = page.split("```json\n").skip(1);
    let mut blocks = blocks.filter_map(|rest| rest.split_once("\n```"));
    let policy = blocks.find(|(text, _)| text.contains("\"Statement\""));
    let (policy, _) = policy.expect("a policy on the page");
    let policy = policy
        .replace("REGION", "us-east-1")
        .replace("ACCOUNT", "000000000000");
    serde_json::from_str(&policy).expect("JSON")
}

/// Returns `text` with percent encoding of all but letters and digits.
fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() {
            out.push(byte.into());
        } else {
            write!(out, "%{byte:02X}").expect("memory");
        }
        out
    })
}
