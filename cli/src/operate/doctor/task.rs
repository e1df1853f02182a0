//! The task definition that `--task-definition` names: whether exclusive-run may start it.
//!
//! IAM authorises RunTask on the ARN of the task definition with its revision, and PassRole on each of its
//! roles (<https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonelasticcontainerservice.html>).

use super::super::call_error::error_text;
use super::check::Check;
use super::parameters::Parameters;
use aws_config::SdkConfig;
use aws_sdk_ecs::error::ProvideErrorMetadata;
use aws_sdk_ecs::types::TaskDefinition;

/// Checks the task definition `given`, its roles and the cluster.
pub(super) async fn check_task(
    sdk: &SdkConfig,
    parameters: Parameters<'_>,
    given: &str,
    cluster: Option<&str>,
) -> Vec<Check> {
    if !parameters.are_there() {
        let found = "the stack has no parameter TaskDefinitionArns to compare with";
        return vec![Check::unknown("task definition", found)];
    }
    let client = aws_sdk_ecs::Client::new(sdk);
    let call = client.describe_task_definition().task_definition(given);
    let mut checks = match call.send().await {
        Ok(found) => match found.task_definition() {
            Some(definition) => of_definition(parameters, definition).into(),
            None => vec![missing(given, "ECS returned none")],
        },
        // ECS has no error of its own for a task definition that does not exist.
        Err(failure) if failure.code() == Some("ClientException") => {
            vec![missing(given, &error_text(&failure))]
        }
        Err(failure) => vec![Check::unknown(
            "task definition",
            format!(
                "ECS DescribeTaskDefinition of {given}: {}",
                error_text(&failure)
            ),
        )],
    };
    checks.extend(cluster.map(|cluster| of_cluster(parameters, cluster)));
    checks
}

fn missing(given: &str, why: &str) -> Check {
    Check::failed(
        "task definition",
        format!("{given}: {why}"),
        "correct --task-definition, or register the task definition in this account and Region",
    )
}

fn of_definition(parameters: Parameters, definition: &TaskDefinition) -> [Check; 2] {
    let arn = definition.task_definition_arn().unwrap_or_default();
    let roles = [definition.task_role_arn(), definition.execution_role_arn()];
    let roles = roles.into_iter().flatten().filter(|role| !role.is_empty());
    let roles: Vec<_> = roles.collect();
    let role = roles
        .iter()
        .find(|role| !parameters.cover("TaskRoleArns", role));
    [
        match parameters.cover("TaskDefinitionArns", arn) {
            true => Check::passed("task definition", arn),
            false => {
                let family = arn.rsplit_once(':').map_or(arn, |(family, _)| family);
                Check::failed(
                    "task definition",
                    format!("{arn} matches no entry of TaskDefinitionArns: RunTask is denied"),
                    format!("add {family}:* to TaskDefinitionArns, and deploy the stack again"),
                )
            }
        },
        match role {
            None if roles.is_empty() => Check::passed("roles of the task", "it has none"),
            None => Check::passed("roles of the task", roles.join(", ")),
            Some(role) => Check::failed(
                "roles of the task",
                format!("{role} matches no entry of TaskRoleArns: PassRole is denied"),
                format!("add {role} to TaskRoleArns, and deploy the stack again"),
            ),
        },
    ]
}

/// Checks that the cluster, given by its name or its ARN, is among the clusters of the stack.
fn of_cluster(parameters: Parameters, given: &str) -> Check {
    let name = given.rsplit_once('/').map_or(given, |(_, name)| name);
    let is_given = |entry: &&str| match given.starts_with("arn:") {
        true => matches(entry, given),
        // The account and the Region are those of the stack, as `ARNs of the parameters` checks.
        false => entry
            .rsplit_once('/')
            .is_some_and(|(_, of)| matches(of, name)),
    };
    let entries = parameters.list("ClusterArns");
    match entries.is_empty() || entries.iter().any(is_given) {
        true => Check::passed("cluster", given),
        false => Check::failed(
            "cluster",
            format!("{given} matches no entry of ClusterArns: RunTask is denied there"),
            "add the ARN of the cluster to ClusterArns, and deploy the stack again",
        ),
    }
}

impl Parameters<'_> {
    /// Returns whether an entry of the list `name` matches `arn`.
    fn cover(self, name: &str, arn: &str) -> bool {
        let entries = self.list(name);
        entries.iter().any(|entry| matches(entry, arn))
    }
}

/// Returns whether `text` matches `pattern`, in which `*` stands for any characters, as in a Resource of IAM.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::check::Status;
    use super::super::parameters::tests::stack;
    use super::*;

    const FAMILY: &str = "arn:aws:ecs:eu-west-1:111122223333:task-definition/report";
    const ROLE: &str = "arn:aws:iam::111122223333:role/report";

    #[test]
    fn a_wildcard_stands_for_any_characters_and_nothing_else_does() {
        for (pattern, text, expected) in [
            ("report:*", "report:4", true),
            ("report:*", "report-b:4", false),
            ("report:4", "report:4", true),
            ("report:4", "report:41", false),
            ("report", "report:4", false),
            ("*", "", true),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "a1c2b", false),
            ("a*bc", "abcbc", true),
            ("ab*ba", "aba", false),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn a_revision_and_each_role_have_to_match_an_entry() {
        for (tasks, roles, statuses) in [
            (format!("{FAMILY}:*"), ROLE, [Status::Ok, Status::Ok]),
            (format!("{FAMILY}:4"), ROLE, [Status::Ok, Status::Ok]),
            (format!("{FAMILY}:3"), ROLE, [Status::Failed, Status::Ok]),
            (format!("{FAMILY}*"), "", [Status::Ok, Status::Failed]),
            (
                format!("{FAMILY}:*"),
                "arn:aws:iam::111122223333:role/*",
                [Status::Ok, Status::Ok],
            ),
        ] {
            let stack = stack(&[("TaskDefinitionArns", &tasks), ("TaskRoleArns", roles)]);
            let definition = TaskDefinition::builder()
                .task_definition_arn(format!("{FAMILY}:4"))
                .execution_role_arn(ROLE)
                .build();

            let checks = of_definition(Parameters(&stack), &definition);

            assert_eq!(
                checks.map(|check| check.status),
                statuses,
                "{tasks} {roles}"
            );
        }
    }

    #[test]
    fn a_cluster_has_to_match_unless_no_cluster_is_listed() {
        let arn = |name: &str| format!("arn:aws:ecs:eu-west-1:111122223333:cluster/{name}");
        for (listed, given, status) in [
            (String::new(), "batch", Status::Ok),
            (arn("batch"), "batch", Status::Ok),
            (arn("batch*"), &arn("batch-2"), Status::Ok),
            (arn("batch"), "batch-2", Status::Failed),
            (arn("batch"), &arn("other"), Status::Failed),
        ] {
            let stack = stack(&[("ClusterArns", &listed)]);

            assert_eq!(
                of_cluster(Parameters(&stack), given).status,
                status,
                "{given}"
            );
        }
    }
}
