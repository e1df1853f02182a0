//! What ECS says about the cluster and the task definition.

use super::answers::{Launch, family};
use crate::exit::Exit;
use crate::operate::{ActError, error_text};
use aws_config::SdkConfig;
use aws_sdk_ecs::error::ProvideErrorMetadata;
use aws_sdk_ecs::types::{Compatibility, NetworkMode, TaskDefinition};

/// A task definition, as far as a run depends on it.
#[derive(Debug)]
pub(super) struct Described {
    /// ARN, with a revision if the name that was asked for has one.
    pub(super) arn: String,
    pub(super) containers: Vec<String>,
    pub(super) roles: Vec<String>,
    pub(super) launch: Launch,
}

/// Returns the ARN of an active cluster.
///
/// # Errors
/// [`ActError`] if there is no such cluster, or ECS cannot be asked.
pub(super) async fn cluster(sdk: &SdkConfig, name: &str) -> Result<String, ActError> {
    check_region(sdk, "--cluster", name)?;
    let call = aws_sdk_ecs::Client::new(sdk).describe_clusters();
    let found = call.clusters(name).send().await.map_err(|failure| {
        let text = error_text(&failure);
        ActError::new(
            Exit::UNAVAILABLE,
            format!("ECS DescribeClusters of {name}: {text}"),
        )
    })?;
    let mut active = found.clusters().iter();
    let active = active.find(|cluster| cluster.status() == Some("ACTIVE"));
    let arn = active.and_then(|cluster| cluster.cluster_arn());
    arn.map(str::to_owned).ok_or_else(|| {
        refused(format!(
            "--cluster is {name:?}, but must be an active cluster of this account in {}",
            region(sdk)
        ))
    })
}

/// Describes a task definition.
///
/// # Errors
/// [`ActError`] if there is no such task definition, if it cannot run in subnets, or ECS cannot be asked.
pub(super) async fn task_definition(sdk: &SdkConfig, name: &str) -> Result<Described, ActError> {
    check_region(sdk, "--task-definition", name)?;
    let call = aws_sdk_ecs::Client::new(sdk).describe_task_definition();
    let found = call.task_definition(name).send().await.map_err(|failure| {
        let text = error_text(&failure);
        match failure.code() {
            // ECS has no error of its own for a task definition that does not exist.
            Some("ClientException") => refused(format!(
                "--task-definition is {name:?}, but must be a task definition of this account in {}: {text}",
                region(sdk)
            )),
            _ => ActError::new(
                Exit::UNAVAILABLE,
                format!("ECS DescribeTaskDefinition of {name}: {text}"),
            ),
        }
    })?;
    let definition = found.task_definition().ok_or_else(|| {
        ActError::new(
            Exit::UNAVAILABLE,
            format!("ECS described no task definition for {name}"),
        )
    })?;
    described(name, definition).map_err(refused)
}

fn described(name: &str, definition: &TaskDefinition) -> Result<Described, String> {
    if definition.network_mode() != Some(&NetworkMode::Awsvpc) {
        let mode = definition
            .network_mode()
            .map_or("none", |mode| mode.as_str());
        return Err(format!(
            "--task-definition is {name:?} with networkMode {mode}, but must have awsvpc, because its tasks get \
             --subnets; docs/ways/schedule.md has the input for others"
        ));
    }
    let arn = definition.task_definition_arn().unwrap_or_default();
    let is_pinned = name
        .rsplit(':')
        .next()
        .is_some_and(|last| last.parse::<u32>().is_ok());
    let arn = if is_pinned { arn } else { family(arn) };
    let names = definition.container_definitions().iter();
    let roles = [definition.task_role_arn(), definition.execution_role_arn()];
    let roles = roles.into_iter().flatten().filter(|role| !role.is_empty());
    let mut roles: Vec<_> = roles.map(str::to_owned).collect();
    roles.dedup();
    let on_fargate = definition
        .requires_compatibilities()
        .contains(&Compatibility::Fargate);
    Ok(Described {
        arn: arn.to_owned(),
        containers: names
            .filter_map(|one| one.name().map(str::to_owned))
            .collect(),
        roles,
        launch: if on_fargate {
            Launch::Fargate
        } else {
            Launch::Ec2
        },
    })
}

/// Checks that an ARN is of the Region that requests go to.
fn check_region(sdk: &SdkConfig, flag: &str, name: &str) -> Result<(), ActError> {
    let asked = region(sdk);
    match name
        .strip_prefix("arn:")
        .and_then(|arn| arn.split(':').nth(2))
    {
        Some(of) if of != asked => Err(refused(format!(
            "{flag} is {name:?} in the Region {of}, but requests go to {asked}: set AWS_REGION={of}"
        ))),
        _ => Ok(()),
    }
}

fn region(sdk: &SdkConfig) -> &str {
    sdk.region().map_or("", |region| region.as_ref())
}

fn refused(text: String) -> ActError {
    ActError::new(Exit::CONFIGURATION, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_ecs::types::ContainerDefinition;

    const FAMILY: &str = "arn:aws:ecs:eu-west-1:111122223333:task-definition/report";

    fn definition(mode: NetworkMode, places: &[Compatibility]) -> TaskDefinition {
        TaskDefinition::builder()
            .task_definition_arn(format!("{FAMILY}:4"))
            .network_mode(mode)
            .set_requires_compatibilities(Some(places.to_vec()))
            .container_definitions(ContainerDefinition::builder().name("app").build())
            .task_role_arn("arn:aws:iam::111122223333:role/a")
            .execution_role_arn("arn:aws:iam::111122223333:role/a")
            .build()
    }

    #[test]
    fn a_revision_is_kept_only_if_it_was_asked_for() {
        let definition = definition(NetworkMode::Awsvpc, &[Compatibility::Fargate]);
        for (name, arn) in [
            ("report", FAMILY.to_owned()),
            (FAMILY, FAMILY.to_owned()),
            ("report:4", format!("{FAMILY}:4")),
        ] {
            let found = described(name, &definition).unwrap();

            assert_eq!(found.arn, arn, "{name}");
            assert_eq!(found.roles, ["arn:aws:iam::111122223333:role/a"]);
            assert_eq!(
                (found.containers, found.launch),
                (vec!["app".to_owned()], Launch::Fargate)
            );
        }
    }

    #[test]
    fn a_task_without_a_network_of_its_own_is_refused() {
        let on_instances = described(
            "report",
            &definition(NetworkMode::Awsvpc, &[Compatibility::Ec2]),
        );
        let bridged = described(
            "report",
            &definition(NetworkMode::Bridge, &[Compatibility::Ec2]),
        );

        assert_eq!(on_instances.unwrap().launch, Launch::Ec2);
        let why = bridged.unwrap_err();
        assert!(why.contains("networkMode bridge"), "{why}");
    }
}
