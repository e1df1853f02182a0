//! The task definition that `--task-definition` names: whether exclusive-run may start it.
//!
//! IAM authorises RunTask on the ARN of the task definition with its revision, and PassRole on each of its
//! roles (<https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonelasticcontainerservice.html>).

use super::super::call_error::error_text;
use super::super::pattern::covers;
use super::super::stack::region;
use super::check::Check;
use super::parameters::Parameters;
use aws_config::SdkConfig;
use aws_sdk_ecs::error::ProvideErrorMetadata;
use aws_sdk_ecs::types::{TaskDefinition, TaskDefinitionStatus};

/// Checks the task definition `given`, its roles and the cluster.
pub(super) async fn check_task(
    sdk: &SdkConfig,
    parameters: Parameters<'_>,
    given: &str,
    cluster: Option<&str>,
) -> Vec<Check> {
    let client = aws_sdk_ecs::Client::new(sdk);
    let call = client.describe_task_definition().task_definition(given);
    let mut checks = match call.send().await {
        Ok(found) => match found.task_definition() {
            Some(definition) => of_definition(parameters, definition),
            None => vec![missing(given, region(sdk), "ECS returned none")],
        },
        // ECS has no error of its own for a task definition that does not exist.
        Err(failure) if failure.code() == Some("ClientException") => {
            vec![missing(given, region(sdk), &error_text(&failure))]
        }
        Err(failure) => vec![Check::unknown(
            TASK_DEFINITION,
            format!(
                "ECS DescribeTaskDefinition of {given}: {}",
                error_text(&failure)
            ),
        )],
    };
    if let Some(cluster) = cluster {
        checks.push(check_cluster(sdk, parameters, cluster).await);
    }
    checks
}

const TASK_DEFINITION: &str = "task definition";

fn missing(given: &str, region: &str, why: &str) -> Check {
    Check::failed(
        TASK_DEFINITION,
        format!("{given} in {region}: {why}"),
        "correct --task-definition or AWS_REGION, or register the task definition there",
    )
}

/// Checks that the cluster is there and active, and that exclusive-run may start tasks in it.
async fn check_cluster(sdk: &SdkConfig, parameters: Parameters<'_>, given: &str) -> Check {
    let name = "cluster";
    let call = aws_sdk_ecs::Client::new(sdk).describe_clusters();
    let found = match call.clusters(given).send().await {
        Ok(found) => found,
        Err(failure) => {
            let failure = error_text(&failure);
            return Check::unknown(name, format!("ECS DescribeClusters of {given}: {failure}"));
        }
    };
    let status = found.clusters().first().and_then(|one| one.status());
    match status {
        Some("ACTIVE") if parameters.are_there() => of_cluster(parameters, given),
        Some("ACTIVE") => not_compared(name, given),
        status => Check::failed(
            name,
            format!(
                "{given} in {} is {}",
                region(sdk),
                status.unwrap_or("not there")
            ),
            "correct --cluster or AWS_REGION, or create the cluster there",
        ),
    }
}

/// Returns the check of something that is there, where the stack has no parameters to compare it with.
fn not_compared(name: &'static str, given: &str) -> Check {
    let found = format!("{given} is there, but the stack has no parameters to compare it with");
    let advice =
        "see that the props of your constructs let exclusive-run start this task in this cluster";
    Check::unmade(name, found, advice)
}

fn of_definition(parameters: Parameters, definition: &TaskDefinition) -> Vec<Check> {
    let arn = definition.task_definition_arn().unwrap_or_default();
    if let Some(status) = definition.status()
        && *status != TaskDefinitionStatus::Active
    {
        return vec![Check::failed(
            TASK_DEFINITION,
            format!("{arn} is {status}: ECS refuses to run it"),
            "name an active revision in the schedule, or none, which is the latest",
        )];
    }
    if !parameters.are_there() {
        return vec![not_compared(TASK_DEFINITION, arn)];
    }
    let roles = [definition.task_role_arn(), definition.execution_role_arn()];
    let roles = roles.into_iter().flatten().filter(|role| !role.is_empty());
    let roles: Vec<_> = roles.collect();
    let role = roles
        .iter()
        .find(|role| !parameters.cover("TaskRoleArns", role));
    vec![
        match parameters.cover("TaskDefinitionArns", arn) {
            true => Check::passed(TASK_DEFINITION, arn),
            false => {
                let family = arn.rsplit_once(':').map_or(arn, |(family, _)| family);
                Check::failed(
                    TASK_DEFINITION,
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
        true => covers(entry, given),
        // The account and the Region are those of the stack, as `ARNs of the parameters` checks.
        false => entry
            .rsplit_once('/')
            .is_some_and(|(_, of)| covers(of, name)),
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
        entries.iter().any(|entry| covers(entry, arn))
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::Status;
    use super::super::parameters::tests::stack;
    use super::*;

    const FAMILY: &str = "arn:aws:ecs:eu-west-1:111122223333:task-definition/report";
    const ROLE: &str = "arn:aws:iam::111122223333:role/report";

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

            let found: Vec<_> = checks.iter().map(|check| check.status).collect();
            assert_eq!(found, statuses, "{tasks} {roles}");
        }
    }

    #[test]
    fn a_task_definition_that_is_not_active_fails() {
        let tasks = format!("{FAMILY}:*");
        let stack = stack(&[("TaskDefinitionArns", &tasks)]);
        for (status, expected) in [
            (TaskDefinitionStatus::Active, Status::Ok),
            (TaskDefinitionStatus::Inactive, Status::Failed),
            (TaskDefinitionStatus::DeleteInProgress, Status::Failed),
        ] {
            let definition = TaskDefinition::builder()
                .task_definition_arn(format!("{FAMILY}:4"))
                .status(status)
                .build();

            assert_eq!(
                of_definition(Parameters(&stack), &definition)[0].status,
                expected
            );
        }
    }

    #[test]
    fn without_parameters_nothing_is_compared() {
        let constructs = stack(&[]);
        let definition = TaskDefinition::builder()
            .task_definition_arn(FAMILY)
            .build();

        let checks = of_definition(Parameters(&constructs), &definition);

        assert_eq!(checks.len(), 1);
        assert_eq!(checks[0].status, Status::Unknown);
        assert!(
            checks[0].found.contains("no parameters"),
            "{}",
            checks[0].found
        );
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
