//! What ECS says about the cluster and the task definition.

use super::answers::{Launch, family};
use crate::exit::Exit;
use crate::operate::{ActError, error_text, region};
use aws_config::SdkConfig;
use aws_sdk_ecs::error::ProvideErrorMetadata;
use aws_sdk_ecs::types::{Compatibility, NetworkMode, TaskDefinition, TaskDefinitionStatus};

/// A cluster, as far as a run depends on it.
#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) arn: String,
    /// Whether it has a default capacity provider strategy, which a launch type would bypass.
    pub(super) has_providers: bool,
}

/// A task definition, as far as a run depends on it.
#[derive(Debug)]
pub(super) struct Described {
    /// ARN, with a revision if the name that was asked for has one.
    pub(super) arn: String,
    pub(super) containers: Vec<String>,
    pub(super) roles: Vec<String>,
    /// The launch types that it is compatible with, as ECS names them.
    pub(super) compatible: Vec<String>,
}

/// Describes an active cluster.
///
/// # Errors
/// [`ActError`] if there is no such cluster, or ECS cannot be asked.
pub(super) async fn cluster(sdk: &SdkConfig, name: &str) -> Result<Cluster, ActError> {
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
    let described = active.and_then(|cluster| {
        Some(Cluster {
            arn: cluster.cluster_arn()?.to_owned(),
            has_providers: !cluster.default_capacity_provider_strategy().is_empty(),
        })
    });
    described.ok_or_else(|| {
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
    if let Some(status) = definition.status()
        && *status != TaskDefinitionStatus::Active
    {
        return Err(format!(
            "--task-definition is {name:?}, but must be an active one: ECS says {status}, and refuses to run it"
        ));
    }
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
    let compatible = definition.requires_compatibilities().iter();
    Ok(Described {
        arn: arn.to_owned(),
        containers: names
            .filter_map(|one| one.name().map(str::to_owned))
            .collect(),
        roles,
        compatible: compatible.map(|one| one.as_str().to_owned()).collect(),
    })
}

/// Returns the launch type of a run: the one that `--launch-type` names, else the default capacity providers of the
/// cluster, if it has some, else the first of FARGATE and EC2 that the task definition is compatible with.
///
/// # Errors
/// The flag, the value and the rule that it breaks, in one line.
pub(super) fn launch(
    given: Option<Launch>,
    task: &Described,
    has_providers: bool,
) -> Result<Launch, String> {
    // ECS takes a task definition that requires no launch type for one on instances.
    let fits = |of: &str| match task.compatible.is_empty() {
        true => of == Compatibility::Ec2.as_str(),
        false => task.compatible.iter().any(|one| one == of),
    };
    let on_fargate = fits(Compatibility::Fargate.as_str());
    let on_ec2 = fits(Compatibility::Ec2.as_str());
    let compatible = match task.compatible.is_empty() {
        true => Compatibility::Ec2.as_str().to_owned(),
        false => task.compatible.join(", "),
    };
    match given {
        Some(Launch::Fargate) if !on_fargate => Err(format!(
            "--launch-type is \"FARGATE\", but must be one that the task definition requires: {compatible}"
        )),
        Some(Launch::Ec2) if !on_ec2 => Err(format!(
            "--launch-type is \"EC2\", but must be one that the task definition requires: {compatible}"
        )),
        Some(given) => Ok(given),
        None if has_providers => Ok(Launch::Cluster),
        None if on_fargate => Ok(Launch::Fargate),
        None if on_ec2 => Ok(Launch::Ec2),
        None => Err(format!(
            "--task-definition requires the launch type {compatible}, but must be for FARGATE or EC2, or for the \
             capacity providers of the cluster with --launch-type CLUSTER; docs/ways/schedule.md has the input for \
             others"
        )),
    }
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
            assert_eq!(found.containers, ["app"]);
            assert_eq!(found.compatible, ["FARGATE"]);
        }
    }

    #[test]
    fn a_task_that_ecs_would_not_run_in_subnets_is_refused() {
        let bridged = definition(NetworkMode::Bridge, &[Compatibility::Ec2]);
        let active = definition(NetworkMode::Awsvpc, &[Compatibility::Fargate]);
        let inactive = TaskDefinition::builder()
            .status(TaskDefinitionStatus::Inactive)
            .network_mode(NetworkMode::Awsvpc)
            .build();

        for (definition, refused) in [
            (active, ""),
            (bridged, "networkMode bridge"),
            (inactive, "ECS says INACTIVE"),
        ] {
            match described("report", &definition) {
                Ok(_) => assert_eq!(refused, ""),
                Err(why) => assert!(!refused.is_empty() && why.contains(refused), "{why}"),
            }
        }
    }

    #[test]
    fn a_launch_type_that_is_refused_names_those_that_fit() {
        for (required, given, fits) in [
            (&[][..], Launch::Fargate, ": EC2"),
            (&[Compatibility::Ec2], Launch::Fargate, ": EC2"),
            (&[Compatibility::Fargate], Launch::Ec2, ": FARGATE"),
        ] {
            let definition = definition(NetworkMode::Awsvpc, required);
            let task = described("report", &definition).unwrap();

            let refused = launch(Some(given), &task, false).unwrap_err();

            assert!(refused.ends_with(fits), "{refused}");
        }
    }

    #[test]
    fn a_run_has_a_launch_type_that_its_task_definition_takes() {
        use Compatibility as C;
        use Launch as L;
        let both = [C::Ec2, C::Fargate];
        for (required, given, has_providers, expected) in [
            (&both[..], None, false, Some(L::Fargate)),
            (&both[..], Some(L::Ec2), false, Some(L::Ec2)),
            (&both[..], None, true, Some(L::Cluster)),
            (&both[..], Some(L::Fargate), true, Some(L::Fargate)),
            (&[C::Ec2], None, false, Some(L::Ec2)),
            (&[C::Ec2], Some(L::Fargate), false, None),
            (&[C::Fargate], Some(L::Ec2), false, None),
            (&[], None, false, Some(L::Ec2)),
            (&[C::ManagedInstances], None, false, None),
            (
                &[C::ManagedInstances],
                Some(L::Cluster),
                false,
                Some(L::Cluster),
            ),
            (&[C::External], None, false, None),
        ] {
            let definition = definition(NetworkMode::Awsvpc, required);
            let task = described("report", &definition).unwrap();

            let found = launch(given, &task, has_providers);

            assert_eq!(
                found.ok(),
                expected,
                "{required:?} {given:?} {has_providers}"
            );
        }
    }
}
