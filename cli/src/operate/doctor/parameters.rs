//! The parameters of the stack: what exclusive-run may start, and whether the ARNs are those of the stack's
//! own partition, Region and account.

use super::super::stack::parameter_of;
use super::check::Check;
use aws_sdk_cloudformation::types::Stack;
use serde_json::Value;

/// Parameters by which the stack lets work run.
const STARTS: [&str; 3] = ["TaskDefinitionArns", "GuardedWorkflowArns", "WorkflowArns"];

/// The parameters of a stack.
#[derive(Clone, Copy)]
pub(super) struct Parameters<'a>(pub(super) &'a Stack);

impl<'a> Parameters<'a> {
    /// Returns the value of a parameter; `None` if the stack has no such parameter.
    pub(super) fn get(self, name: &str) -> Option<&'a str> {
        parameter_of(self.0, name)
    }

    /// Returns the entries of a parameter that is a list.
    pub(super) fn list(self, name: &str) -> Vec<&'a str> {
        let text = self.get(name).unwrap_or_default();
        text.split(',').filter(|entry| !entry.is_empty()).collect()
    }

    /// Returns whether the stack has the parameters of the template.
    pub(super) fn are_there(self) -> bool {
        self.get(STARTS[0]).is_some()
    }
}

/// Checks that exclusive-run may start something. Empty lists are right for a stack whose locks are held in
/// other ways, in containers or in woven workflows, and no roles are right for tasks on instances of EC2. A
/// stack that has had a success is one of these.
pub(super) fn check_starts(parameters: Parameters, locks: Option<&[Value]>) -> Check {
    let name = "what may run";
    if !parameters.are_there() {
        let found =
            "the stack has no parameter TaskDefinitionArns: its constructs grant what may run";
        return Check::passed(name, found);
    }
    let counts = STARTS.map(|list| (list, parameters.list(list).len()));
    let found = counts
        .map(|(list, count)| format!("{count} {list}"))
        .join(", ");
    let has_succeeded = |lock: &Value| lock["lastSuccessAt"].is_string();
    if locks.is_some_and(|locks| locks.iter().any(has_succeeded)) {
        return Check::passed(name, format!("{found}; runs have succeeded"));
    }
    if counts.iter().all(|(_, count)| *count == 0) {
        return Check::failed(
            name,
            format!("{found}: exclusive-run may start no task and no workflow"),
            "set TaskDefinitionArns and TaskRoleArns, which lockstep init writes, and deploy the stack again",
        );
    }
    // On Fargate nearly every task definition has an execution role.
    if counts[0].1 > 0 && parameters.list("TaskRoleArns").is_empty() {
        return Check::failed(
            name,
            format!(
                "{found}, and TaskRoleArns is empty: ECS refuses a task definition with a role"
            ),
            "set TaskRoleArns to the task roles and execution roles of the task definitions, and deploy again",
        );
    }
    Check::passed(name, found)
}

/// Checks that each ARN in the parameters is of the partition, the Region and the account of the stack. A key
/// may belong to another account.
pub(super) fn check_places(parameters: Parameters) -> Check {
    let name = "ARNs of the parameters";
    let Some(home) = parameters.0.stack_id().and_then(Place::of) else {
        return Check::unknown(name, "the stack has no id that is an ARN");
    };
    let all = parameters.0.parameters().iter();
    let keys = all.filter_map(|parameter| parameter.parameter_key());
    let arns = keys.flat_map(|key| parameters.list(key).into_iter().map(move |arn| (key, arn)));
    let places = arns.filter_map(|(key, arn)| Some((key, arn, Place::of(arn)?)));
    let (mut count, mut wrong) = (0_usize, Vec::new());
    for (key, arn, place) in places {
        count += 1;
        let part = place.differs_from(home);
        wrong.extend(part.map(|(what, given)| format!("{key}: {arn} has the {what} {given}")));
    }
    let Place {
        partition,
        region,
        account,
        ..
    } = home;
    let home = format!("{partition}, {region}, account {account}");
    match wrong.is_empty() {
        true => Check::passed(name, format!("{count}, all of {home}")),
        false => Check::failed(
            name,
            format!("{}; the stack is in {home}", wrong.join("; ")),
            "correct the parameters that are named, and deploy the stack again",
        ),
    }
}

/// Where a resource is, by its ARN.
#[derive(Clone, Copy, Debug)]
struct Place<'a> {
    partition: &'a str,
    service: &'a str,
    region: &'a str,
    account: &'a str,
}

impl<'a> Place<'a> {
    fn of(arn: &'a str) -> Option<Self> {
        let parts: Vec<_> = arn.splitn(6, ':').collect();
        let ["arn", partition, service, region, account, _] = parts[..] else {
            return None;
        };
        Some(Self {
            partition,
            service,
            region,
            account,
        })
    }

    /// Returns the first part in which this place differs from `home`, and its value. An ARN of IAM has no
    /// Region, and a policy of AWS has the account `aws`.
    fn differs_from(self, home: Self) -> Option<(&'static str, &'a str)> {
        let is_shared = self.service == "kms" || self.account == "aws";
        let parts = [
            ("partition", self.partition, home.partition, false),
            ("Region", self.region, home.region, self.region.is_empty()),
            ("account", self.account, home.account, is_shared),
        ];
        let mut parts = parts.into_iter();
        let part = parts.find(|(_, own, of_stack, exempt)| own != of_stack && !exempt);
        part.map(|(part, own, ..)| (part, own))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::check::Status;
    use super::*;
    use aws_sdk_cloudformation::types::{Parameter, StackStatus};
    use serde_json::json;

    /// Returns a stack of the account 111122223333 in eu-west-1 with these parameters.
    pub(in super::super) fn stack(given: &[(&str, &str)]) -> Stack {
        let parameters = given.iter().map(|(key, value)| {
            let parameter = Parameter::builder().parameter_key(*key);
            parameter.parameter_value(*value).build()
        });
        Stack::builder()
            .stack_name("lockstep")
            .stack_id("arn:aws:cloudformation:eu-west-1:111122223333:stack/lockstep/1")
            .creation_time(aws_smithy_types::DateTime::from_secs(0))
            .stack_status(StackStatus::CreateComplete)
            .set_parameters(Some(parameters.collect()))
            .build()
    }

    const TASKS: &str = "arn:aws:ecs:eu-west-1:111122223333:task-definition/report:*";
    const ROLES: &str = "arn:aws:iam::111122223333:role/report";

    #[test]
    fn a_stack_that_lets_nothing_run_fails_until_a_run_has_succeeded() {
        let ran = [json!({ "lock": "a", "lastSuccessAt": "2026-03-01T06:00:00Z" })];
        let failed = [json!({ "lock": "a" })];
        for (tasks, roles, locks, status) in [
            ("", "", None, Status::Failed),
            ("", "", Some(&failed), Status::Failed),
            ("", "", Some(&ran), Status::Ok),
            (TASKS, ROLES, None, Status::Ok),
            (TASKS, "", None, Status::Failed),
            (TASKS, "", Some(&ran), Status::Ok),
        ] {
            let stack = stack(&[("TaskDefinitionArns", tasks), ("TaskRoleArns", roles)]);

            let check = check_starts(Parameters(&stack), locks.map(|locks| &locks[..]));

            assert_eq!(check.status, status, "{}", check.found);
        }
        let workflows = stack(&[("TaskDefinitionArns", ""), ("WorkflowArns", "arn")]);
        let constructs = stack(&[]);
        for stack in [workflows, constructs] {
            assert_eq!(check_starts(Parameters(&stack), None).status, Status::Ok);
        }
    }

    #[test]
    fn an_arn_of_another_partition_region_or_account_is_named() {
        let at = |place: &str| format!("arn:{place}:task-definition/report:*");
        let key = "arn:aws:kms:eu-west-1:999900001111:key/1";
        for (name, value, wrong) in [
            ("TaskDefinitionArns", TASKS, ""),
            (
                "TaskDefinitionArns",
                &at("aws-cn:ecs:eu-west-1:111122223333"),
                "partition aws-cn",
            ),
            (
                "TaskDefinitionArns",
                &at("aws:ecs:us-east-1:111122223333"),
                "Region us-east-1",
            ),
            (
                "TaskDefinitionArns",
                &at("aws:ecs:eu-west-1:999900001111"),
                "account 999900001111",
            ),
            (
                "TaskDefinitionArns",
                &format!("{TASKS},{}", at("aws:ecs:::")),
                "account ",
            ),
            ("TaskRoleArns", ROLES, ""),
            (
                "TaskRoleArns",
                "arn:aws:iam::999900001111:role/a",
                "account 999900001111",
            ),
            ("PermissionsBoundaryArn", "arn:aws:iam::aws:policy/a", ""),
            ("KmsKeyArn", key, ""),
            (
                "KmsKeyArn",
                "arn:aws:kms:us-east-1:111122223333:key/1",
                "Region us-east-1",
            ),
            ("RunbookUrl", "https://wiki.example.com/a:b", ""),
        ] {
            let stack = stack(&[(name, value)]);

            let check = check_places(Parameters(&stack));

            let passed = check.status == Status::Ok;
            assert_eq!(passed, wrong.is_empty(), "{value}: {}", check.found);
            assert!(check.found.contains(wrong), "{value}: {}", check.found);
        }
    }
}
