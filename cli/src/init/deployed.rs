//! What CloudFormation says about the stacks that the files are for.

use crate::args::init::InitArgs;
use crate::exit::Exit;
use crate::operate::{ActError, Origin, find_stack, parameter_of};
use aws_config::SdkConfig;
use aws_sdk_cloudformation::types::Stack;

/// The deployed stack of Lockstep, if CloudFormation was asked and has one.
#[derive(Debug, Default)]
pub(super) struct Deployed(Option<Stack>);

impl Deployed {
    /// Describes the stack.
    ///
    /// # Errors
    /// [`ActError`] if a deploy of Lockstep would change a stack of something else, or if CloudFormation cannot be
    /// asked.
    pub(super) async fn find(sdk: &SdkConfig, stack: &str) -> Result<Self, ActError> {
        let found = find_stack(sdk, stack).await?;
        if let Some(found) = &found
            && !is_table_alone(found)
        {
            check_origin(stack, Origin::of(found)).map_err(refused)?;
        }
        Ok(Self(found))
    }

    /// Returns the value that a parameter of the stack has.
    pub(super) fn get(&self, parameter: &str) -> Option<&str> {
        parameter_of(self.0.as_ref()?, parameter)
    }
}

/// Returns whether a stack was made from infra/examples/table.yaml, which imports the lock table of a deleted stack
/// (docs/upgrade.md). Lockstep is then deployed to that stack.
fn is_table_alone(stack: &Stack) -> bool {
    let keys = stack.parameters().iter();
    let keys: Vec<_> = keys.filter_map(|of| of.parameter_key()).collect();
    let description = stack.description().unwrap_or_default();
    keys == ["KmsKeyArn"]
        && stack.outputs().is_empty()
        && description.starts_with("Lockstep - the lock table alone")
}

fn check_origin(stack: &str, origin: Origin) -> Result<(), String> {
    let rule = "but must be a stack of the template of Lockstep, or none";
    match origin {
        Origin::Template => Ok(()),
        Origin::Constructs => Err(format!(
            "--stack is {stack:?}, {rule}: it is of the CDK constructs, which have a schedule of their own, \
             ExclusiveEcsBatch"
        )),
        Origin::Other => Err(format!(
            "--stack is {stack:?}, {rule}: a deploy would remove what this stack has"
        )),
    }
}

/// Checks that the stack of the schedule is not there, or is one of this lock.
///
/// # Errors
/// [`ActError`] if it is another one, or if CloudFormation cannot be asked.
pub(super) async fn check_schedule(
    sdk: &SdkConfig,
    args: &InitArgs,
    lock: &str,
    name: &str,
) -> Result<(), ActError> {
    let stack = format!("{}-{name}", args.stack);
    let Some(found) = find_stack(sdk, &stack).await? else {
        return Ok(());
    };
    let is_own = parameter_of(&found, "LockName") == Some(lock)
        && parameter_of(&found, "LockstepStackName") == Some(&args.stack);
    match is_own {
        true => Ok(()),
        false => Err(refused(format!(
            "--name is {name:?}, but must be another one: the stack {stack} is not the schedule of the lock {lock}, \
             and a deploy would remove what it has"
        ))),
    }
}

fn refused(text: String) -> ActError {
    ActError::new(Exit::CONFIGURATION, text)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use aws_sdk_cloudformation::types::{Parameter, StackStatus};
    use aws_smithy_types::DateTime;
    use std::fs;

    /// Returns a stack that has these parameters.
    pub(in super::super) fn deployed(parameters: &[(&str, &str)]) -> Deployed {
        Deployed(Some(stack(parameters, None)))
    }

    fn stack(parameters: &[(&str, &str)], description: Option<&str>) -> Stack {
        let parameters = parameters.iter().map(|(key, value)| {
            let parameter = Parameter::builder().parameter_key(*key);
            parameter.parameter_value(*value).build()
        });
        Stack::builder()
            .stack_name("lockstep")
            .creation_time(DateTime::from_secs(0))
            .stack_status(StackStatus::CreateComplete)
            .set_description(description.map(str::to_owned))
            .set_parameters(Some(parameters.collect()))
            .build()
    }

    #[test]
    fn a_table_that_came_back_is_deployed_over() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../infra/examples/table.yaml");
        let table = fs::read_to_string(file).unwrap();
        let description = table
            .lines()
            .find_map(|line| line.strip_prefix("Description: "));
        assert!(is_table_alone(&stack(&[("KmsKeyArn", "")], description)));
        assert!(!is_table_alone(&stack(&[("KmsKeyArn", "")], None)));
        assert!(!is_table_alone(&stack(&[], description)));
    }

    #[test]
    fn a_stack_that_is_not_of_the_template_is_refused() {
        assert_eq!(check_origin("lockstep", Origin::Template), Ok(()));
        for origin in [Origin::Constructs, Origin::Other] {
            let why = check_origin("billing", origin).unwrap_err();
            assert!(
                why.starts_with("--stack is \"billing\", but must be "),
                "{why}"
            );
        }
    }
}
