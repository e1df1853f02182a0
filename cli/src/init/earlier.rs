//! What the stacks let run already: in a file of an earlier lock, and deployed.

use super::answers::{Answers, every_revision};
use super::names::place;
use super::saved::{FOLDER, LOCKSTEP_CONFIG, Saved, samconfig};
use crate::args::init::InitArgs;
use crate::exit::Exit;
use crate::operate::{ActError, Origin, covers, find_stack, parameter_of};
use aws_config::SdkConfig;
use aws_sdk_cloudformation::types::Stack;
use std::fs;
use std::io::ErrorKind;

/// The stack of Lockstep before this lock. What it lets run stays: without it, the runs of other locks would fail.
#[derive(Debug, Default)]
pub(super) struct Earlier {
    /// The file, if it is for the same stack.
    saved: Option<Saved>,
    deployed: Option<Stack>,
}

impl Earlier {
    /// Reads the file, and describes the stack if CloudFormation can be asked.
    ///
    /// # Errors
    /// [`ActError`] if the file is not one of this stack and `--force` does not replace it, if the stack is not one of
    /// the template, or if one of the two cannot be read.
    pub(super) async fn find(args: &InitArgs, sdk: Option<&SdkConfig>) -> Result<Self, ActError> {
        let deployed = match sdk {
            Some(sdk) => find_stack(sdk, &args.stack).await?,
            None => None,
        };
        if let Some(stack) = &deployed
            && !is_table_alone(stack)
        {
            check_origin(&args.stack, Origin::of(stack)).map_err(refused)?;
        }
        let path = args.directory.join(LOCKSTEP_CONFIG);
        let cannot =
            |why: String| ActError::new(Exit::CANNOT_WRITE, format!("{}: {why}", path.display()));
        if fs::metadata(&path).is_ok_and(|found| !found.is_file()) {
            return Err(cannot("it exists and is no file".into()));
        }
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(Self {
                    saved: None,
                    deployed,
                });
            }
            Err(error) => return Err(cannot(format!("it cannot be read: {error}"))),
        };
        let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned());
        let saved = text.and_then(|text| Saved::read(&text));
        let saved = saved.and_then(|saved| match saved.setting("stack_name") {
            Some(stack) if stack == args.stack => Ok(saved),
            Some(stack) => Err(format!("it is for the stack {stack}")),
            None => Err("it names no stack".into()),
        });
        match saved {
            Ok(saved) => Ok(Self {
                saved: Some(saved),
                deployed,
            }),
            Err(_) if args.force => Ok(Self {
                saved: None,
                deployed,
            }),
            Err(why) => Err(cannot(format!(
                "{why}, but must be for --stack {}, and nothing was written: --force replaces it",
                args.stack
            ))),
        }
    }

    /// Checks that the file is for the Region of the cluster. Returns what is known of that Region.
    ///
    /// # Errors
    /// [`ActError`] if it is not and `force` does not replace it.
    pub(super) fn check_region(&self, region: &str, force: bool) -> Result<(), ActError> {
        match self.region() {
            Some(of) if of != region && !force => Err(refused(format!(
                "--cluster is in {region}, but must be in the Region of {LOCKSTEP_CONFIG}, {of}: --force replaces the file"
            ))),
            _ => Ok(()),
        }
    }

    /// Checks that the file is for the partition and the account of the cluster.
    ///
    /// # Errors
    /// [`ActError`] if it is not and `force` does not replace it.
    pub(super) fn check_account(&self, cluster: &str, force: bool) -> Result<(), ActError> {
        match self
            .saved
            .as_ref()
            .and_then(|saved| foreign(saved, cluster))
        {
            Some(entry) if !force => Err(refused(format!(
                "--cluster is {cluster:?}, but must be in the partition and the account of {LOCKSTEP_CONFIG}, which has \
                 {entry}: --force replaces the file"
            ))),
            _ => Ok(()),
        }
    }

    fn region(&self) -> Option<&str> {
        self.saved.as_ref()?.setting("region")
    }

    /// Returns the address that has the mails of the stack now.
    pub(super) fn email(&self) -> Option<String> {
        let saved = self
            .saved
            .as_ref()
            .and_then(|saved| saved.get("AlarmEmail"));
        saved.or_else(|| self.of_stack("AlarmEmail").map(str::to_owned))
    }

    /// Checks that an address for mails does not replace another one.
    ///
    /// # Errors
    /// [`ActError`] if it does and `force` is not set.
    pub(super) fn check_email(&self, email: &str, force: bool) -> Result<(), ActError> {
        let earlier = self.email().filter(|earlier| !earlier.is_empty());
        match earlier {
            Some(earlier) if earlier != email && !force => Err(refused(format!(
                "--email is {:?}, but must be {earlier:?}, which the stack has already: --force replaces it",
                if email.is_empty() { "none" } else { email }
            ))),
            _ => Ok(()),
        }
    }

    fn of_stack(&self, parameter: &str) -> Option<&str> {
        parameter_of(self.deployed.as_ref()?, parameter)
    }

    /// Returns the values that the parameter `parameter`, a list, has in the file and in the deployed stack. If the file
    /// lacks the parameter and no stack is deployed, the parameter has its default, the empty list. A file that is
    /// replaced has none: it is of another Region or another account.
    fn lists(&self, parameter: &str, answers: &Answers) -> Vec<String> {
        let deployed = self.of_stack(parameter).map(str::to_owned);
        let saved = self.kept(answers).map(|saved| saved.get(parameter));
        let saved = match (saved, &deployed) {
            (Some(None), None) => Some(String::new()),
            (saved, _) => saved.flatten(),
        };
        saved.into_iter().chain(deployed).collect()
    }

    /// Returns the parameters of the stack of Lockstep: the lists with the entries of this lock.
    pub(super) fn parameters(&self, answers: &Answers) -> [(&'static str, String); 4] {
        let with =
            |parameter: &str, own: Vec<String>| joined(&self.lists(parameter, answers), &own);
        let clusters = self.lists("ClusterArns", answers);
        let clusters = match clusters.iter().any(String::is_empty) {
            // Every cluster is allowed, and an entry would end that.
            true => String::new(),
            false => joined(&clusters, std::slice::from_ref(&answers.cluster)),
        };
        [
            (
                "TaskDefinitionArns",
                with(
                    "TaskDefinitionArns",
                    vec![every_revision(&answers.task_definition)],
                ),
            ),
            ("TaskRoleArns", with("TaskRoleArns", answers.roles.clone())),
            ("ClusterArns", clusters),
            ("AlarmEmail", answers.email.clone()),
        ]
    }

    /// Returns the file, if this lock is to be added to it.
    fn kept(&self, answers: &Answers) -> Option<&Saved> {
        let is_here = |saved: &&Saved| {
            let region = saved.setting("region");
            region.is_none_or(|region| region == answers.region())
                && foreign(saved, &answers.cluster).is_none()
        };
        self.saved.as_ref().filter(is_here)
    }

    /// Returns whether the file keeps what it has.
    pub(super) fn keeps(&self, answers: &Answers) -> bool {
        self.kept(answers).is_some()
    }

    /// Returns the text of the saved answers for the stack of Lockstep.
    pub(super) fn config(&self, answers: &Answers) -> String {
        let parameters = self.parameters(answers);
        match self.kept(answers) {
            Some(saved) => saved.with(&parameters),
            None => samconfig(
                "the stack of Lockstep",
                &answers.stack,
                answers.region(),
                false,
                &parameters,
            ),
        }
    }
}

/// Returns the entries of `earlier`, followed by each entry of `own` that no earlier one covers, separated by commas.
fn joined(earlier: &[String], own: &[String]) -> String {
    let mut all: Vec<&str> = Vec::new();
    for entry in earlier.iter().flat_map(|list| list.split(',')) {
        if !entry.is_empty() && !all.contains(&entry) {
            all.push(entry);
        }
    }
    for entry in own {
        if !all.iter().any(|known| covers(known, entry)) {
            all.push(entry);
        }
    }
    all.join(",")
}

/// Returns an entry of the lists of `saved` that is of another partition or account than `cluster`. A stack can run
/// nothing there, so the file is of another stack.
fn foreign(saved: &Saved, cluster: &str) -> Option<String> {
    let [partition, _, account] = place(cluster);
    let lists = ["TaskDefinitionArns", "TaskRoleArns", "ClusterArns"];
    let lists: Vec<_> = lists.into_iter().filter_map(|of| saved.get(of)).collect();
    let mut entries = lists.iter().flat_map(|list| list.split(','));
    let found = entries.find(|entry| {
        let [of, _, owner] = place(entry);
        !entry.is_empty() && (of, owner) != (partition, account)
    });
    found.map(str::to_owned)
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

/// Checks that no file of this `name` is there, before answers are typed that would be lost.
///
/// # Errors
/// [`ActError`] that names the file.
pub(super) fn check_files(args: &InitArgs, name: &str) -> Result<(), ActError> {
    let paths = ["yaml", "samconfig.toml"].map(|end| format!("{FOLDER}/{name}.{end}"));
    let there = paths.into_iter().map(|path| args.directory.join(path));
    match there
        .into_iter()
        .find(|path| path.symlink_metadata().is_ok())
    {
        Some(path) if !args.force => Err(ActError::new(
            Exit::CANNOT_WRITE,
            format!(
                "{}: it exists: --force replaces it, and --name or --lock name others",
                path.display()
            ),
        )),
        _ => Ok(()),
    }
}

fn refused(text: String) -> ActError {
    ActError::new(Exit::CONFIGURATION, text)
}

#[cfg(test)]
mod tests {
    use super::super::answers::tests::answers;
    use super::*;
    use aws_sdk_cloudformation::types::{Parameter, StackStatus};
    use aws_smithy_types::DateTime;

    const OTHER: &str = "arn:aws:ecs:eu-west-1:111122223333:task-definition/other:*";
    const OWN: &str = "arn:aws:ecs:eu-west-1:111122223333:task-definition/report:*";
    const CLUSTER: &str = "arn:aws:ecs:eu-west-1:111122223333:cluster/batch";

    fn deployed(parameters: &[(&str, &str)]) -> Option<Stack> {
        let parameters = parameters.iter().map(|(key, value)| {
            let parameter = Parameter::builder().parameter_key(*key);
            parameter.parameter_value(*value).build()
        });
        let stack = Stack::builder()
            .stack_name("lockstep")
            .creation_time(DateTime::from_secs(0))
            .stack_status(StackStatus::CreateComplete);
        Some(stack.set_parameters(Some(parameters.collect())).build())
    }

    fn saved(parameters: &[(&str, &str)]) -> Option<Saved> {
        let parameters: Vec<_> = parameters
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()))
            .collect();
        let text = samconfig("a", "lockstep", "eu-west-1", false, &parameters);
        Some(Saved::read(&text).unwrap())
    }

    #[test]
    fn what_the_stack_lets_run_already_stays() {
        let any = "arn:aws:ecs:eu-west-1:111122223333:task-definition/*";
        let tasks = "TaskDefinitionArns";
        for (file, stack, expected) in [
            (None, None, OWN.to_owned()),
            (saved(&[(tasks, OTHER)]), None, format!("{OTHER},{OWN}")),
            (None, deployed(&[(tasks, OTHER)]), format!("{OTHER},{OWN}")),
            (
                saved(&[(tasks, OTHER)]),
                deployed(&[(tasks, &format!("{OWN},{OTHER}"))]),
                format!("{OTHER},{OWN}"),
            ),
            (None, deployed(&[(tasks, any)]), any.to_owned()),
        ] {
            let earlier = Earlier {
                saved: file,
                deployed: stack,
            };

            let found = earlier.parameters(&answers());

            assert_eq!(found[0], (tasks, expected));
        }
    }

    #[test]
    fn a_stack_that_allows_every_cluster_still_does() {
        for (file, stack, expected) in [
            (None, None, CLUSTER),
            (saved(&[]), None, ""),
            (saved(&[("ClusterArns", "")]), None, ""),
            (None, deployed(&[("ClusterArns", "")]), ""),
            (saved(&[]), deployed(&[("ClusterArns", CLUSTER)]), CLUSTER),
        ] {
            let earlier = Earlier {
                saved: file,
                deployed: stack,
            };

            assert_eq!(
                earlier.parameters(&answers())[2],
                ("ClusterArns", expected.to_owned())
            );
        }
    }

    #[test]
    fn a_file_of_another_region_or_account_gives_nothing_to_this_stack() {
        let here = "TaskDefinitionArns";
        for (region, entry, passes) in [
            ("eu-west-1", OTHER.to_owned(), true),
            ("us-east-1", OTHER.replace("eu-west-1", "us-east-1"), true),
            (
                "eu-west-1",
                OTHER.replace("111122223333", "999900001111"),
                false,
            ),
            ("eu-west-1", OTHER.replace("arn:aws:", "arn:aws-cn:"), false),
        ] {
            let text = samconfig("a", "lockstep", region, false, &[(here, entry.clone())]);
            let earlier = Earlier {
                saved: Some(Saved::read(&text).unwrap()),
                deployed: None,
            };
            let is_kept = passes && region == "eu-west-1";

            let expected = match is_kept {
                true => format!("{OTHER},{OWN}"),
                false => OWN.to_owned(),
            };
            assert_eq!(earlier.parameters(&answers())[0], (here, expected));
            assert_eq!(earlier.keeps(&answers()), is_kept, "{entry}");
            assert_eq!(earlier.check_account(CLUSTER, false).is_ok(), passes);
            assert!(earlier.check_account(CLUSTER, true).is_ok());
        }
    }

    #[test]
    fn a_table_that_came_back_is_deployed_over() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../infra/examples/table.yaml");
        let table = fs::read_to_string(file).unwrap();
        let description = table
            .lines()
            .find_map(|line| line.strip_prefix("Description: "));
        let of = |parameters: &[(&str, &str)], description: Option<&str>| {
            let parameters = parameters.iter().map(|(key, value)| {
                let parameter = Parameter::builder().parameter_key(*key);
                parameter.parameter_value(*value).build()
            });
            Stack::builder()
                .stack_name("lockstep")
                .creation_time(DateTime::from_secs(0))
                .stack_status(StackStatus::ImportComplete)
                .set_description(description.map(str::to_owned))
                .set_parameters(Some(parameters.collect()))
                .build()
        };
        assert!(is_table_alone(&of(&[("KmsKeyArn", "")], description)));
        assert!(!is_table_alone(&of(&[("KmsKeyArn", "")], None)));
        assert!(!is_table_alone(&of(&[], description)));
    }

    #[test]
    fn an_address_for_mails_is_replaced_by_force_only() {
        let mine = "oncall@example.com";
        for (earlier, given, force, passes) in [
            (None, mine, false, true),
            (Some(""), mine, false, true),
            (Some(mine), mine, false, true),
            (Some(mine), "", false, false),
            (Some(mine), "other@example.com", false, false),
            (Some(mine), "", true, true),
        ] {
            let earlier = earlier.map(|email| [("AlarmEmail", email)]);
            let earlier = Earlier {
                saved: earlier.and_then(|all| saved(&all)),
                deployed: None,
            };
            assert_eq!(earlier.check_email(given, force).is_ok(), passes, "{given}");
        }
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
