//! The answers that were given for earlier locks. `init` reads them from samconfig.toml and from the deployed stack, and
//! keeps them when it adds a lock.

use super::answers::{Answers, every_revision};
use super::deployed::Deployed;
use super::names::place;
use super::saved::{LOCKSTEP_CONFIG, Saved, Unread, samconfig};
use crate::args::init::InitArgs;
use crate::exit::Exit;
use crate::operate::{ActError, covers};
use aws_config::SdkConfig;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// The parameters that are lists of ARNs.
const LISTS: [&str; 3] = ["TaskDefinitionArns", "TaskRoleArns", "ClusterArns"];

/// The stack of Lockstep before this lock. What it lets run stays: without it, the runs of other locks would fail.
#[derive(Debug, Default)]
pub(super) struct Earlier {
    /// The file, if it is for the same stack.
    saved: Option<Saved>,
    deployed: Deployed,
}

impl Earlier {
    /// Reads the file, and describes the stack if CloudFormation can be asked.
    ///
    /// # Errors
    /// [`ActError`] if the file is not one of this stack and `--force` does not replace it, if the stack is not one of
    /// the template, or if one of the two cannot be read.
    pub(super) async fn find(args: &InitArgs, sdk: Option<&SdkConfig>) -> Result<Self, ActError> {
        Ok(Self {
            deployed: match sdk {
                Some(sdk) => Deployed::find(sdk, &args.stack).await?,
                None => Deployed::default(),
            },
            saved: read(&args.directory, &args.stack, args.force)?,
        })
    }

    /// Checks that the file is for the Region of the cluster.
    ///
    /// # Errors
    /// [`ActError`] if it is not and `force` does not replace it.
    pub(super) fn check_region(&self, region: &str, force: bool) -> Result<(), ActError> {
        match self.saved.as_ref().and_then(region_of) {
            Some(of) if of != region && !force => Err(refused(format!(
                "--cluster is in {region}, but must be in the Region of {LOCKSTEP_CONFIG}, {of}: --force replaces the file"
            ))),
            _ => Ok(()),
        }
    }

    /// Checks that the file is for the partition and the account of the cluster.
    ///
    /// # Errors
    /// [`ActError`] if it is for others and `force` does not replace it, or if it is for both. To replace the latter
    /// would take away what it lets run here.
    pub(super) fn check_account(&self, cluster: &str, force: bool) -> Result<(), ActError> {
        let Some(saved) = &self.saved else {
            return Ok(());
        };
        let entries = entries(saved);
        let Some(foreign) = entries.iter().find(|entry| !is_near(entry, cluster)) else {
            return Ok(());
        };
        let begin = format!(
            "--cluster is {cluster:?}, but must be in the partition and the account of {LOCKSTEP_CONFIG}, which has \
             {foreign}"
        );
        match entries.iter().find(|entry| is_near(entry, cluster)) {
            Some(near) => Err(refused(format!(
                "{begin} beside {near}: remove what is of another account from the file"
            ))),
            None if force => Ok(()),
            None => Err(refused(format!("{begin}: --force replaces the file"))),
        }
    }

    /// Returns the address that has the mails of the stack now. A file that this lock is not added to is of another
    /// stack.
    pub(super) fn email(&self, cluster: &str) -> Option<String> {
        let saved = self.kept(cluster).and_then(|saved| saved.get("AlarmEmail"));
        saved.or_else(|| self.deployed.get("AlarmEmail").map(str::to_owned))
    }

    /// Checks that an address for mails does not replace another one, `earlier`.
    ///
    /// # Errors
    /// [`ActError`] if it does and `force` is not set.
    pub(super) fn check_email(earlier: &str, email: &str, force: bool) -> Result<(), ActError> {
        match earlier.is_empty() || earlier == email || force {
            true => Ok(()),
            false => Err(refused(format!(
                "--email is {:?}, but must be {earlier:?}, which the stack has already: --force replaces it",
                if email.is_empty() { "none" } else { email }
            ))),
        }
    }

    /// Returns the values that the parameter `parameter`, a list, has in the file and in the deployed stack. If the file
    /// lacks the parameter and no stack is deployed, the parameter has its default, the empty list. A file that is
    /// replaced has none: it is of another Region or another account.
    fn lists(&self, parameter: &str, answers: &Answers) -> Vec<String> {
        let deployed = self.deployed.get(parameter).map(str::to_owned);
        let saved = self.kept(&answers.cluster);
        let saved = match (saved.map(|saved| saved.get(parameter)), &deployed) {
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
        let tasks = vec![every_revision(&answers.task_definition)];
        [
            ("TaskDefinitionArns", with("TaskDefinitionArns", tasks)),
            ("TaskRoleArns", with("TaskRoleArns", answers.roles.clone())),
            ("ClusterArns", clusters),
            ("AlarmEmail", answers.email.clone()),
        ]
    }

    /// Returns the file, if a lock in this cluster is to be added to it.
    fn kept(&self, cluster: &str) -> Option<&Saved> {
        let [_, region, _] = place(cluster);
        let is_here = |saved: &&Saved| {
            region_of(saved).is_none_or(|of| of == region)
                && entries(saved).iter().all(|entry| is_near(entry, cluster))
        };
        self.saved.as_ref().filter(is_here)
    }

    /// Returns the text of the file as it was read, if this lock is to be added to it.
    pub(super) fn kept_text(&self, answers: &Answers) -> Option<String> {
        let saved = self.kept(&answers.cluster)?;
        Some(saved.text().to_owned())
    }

    /// Returns the text of the saved answers for the stack of Lockstep.
    ///
    /// An empty value for a parameter that the file lacks is left out: SAM keeps what a stack has for it, which may be
    /// another value if AWS was not read, and an empty value would take that away. An empty `ClusterArns` would let the
    /// stack run in every cluster.
    pub(super) fn config(&self, answers: &Answers) -> String {
        let parameters = self.parameters(answers);
        let Some(saved) = self.kept(&answers.cluster) else {
            return samconfig(
                "the stack of Lockstep",
                &answers.stack,
                answers.region(),
                false,
                &parameters,
            );
        };
        let is_said = |(name, value): &(&str, String)| {
            let deployed = self.deployed.get(name).unwrap_or_default();
            !value.is_empty() || !deployed.is_empty() || saved.get(name).is_some()
        };
        saved.with(&parameters.into_iter().filter(is_said).collect::<Vec<_>>())
    }
}

/// Reads the file of the stack `stack`; `None` if there is none, or if it is of something else and `force` replaces it.
///
/// # Errors
/// [`ActError`] if `force` is not set, and in any case if it cannot be told what the file lets run.
fn read(directory: &Path, stack: &str, force: bool) -> Result<Option<Saved>, ActError> {
    let path = directory.join(LOCKSTEP_CONFIG);
    let cannot =
        |why: String| ActError::new(Exit::CANNOT_WRITE, format!("{}: {why}", path.display()));
    if fs::metadata(&path).is_ok_and(|found| !found.is_file()) {
        return Err(cannot("it exists and is no file".into()));
    }
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(cannot(format!("it cannot be read: {error}"))),
    };
    match Saved::read(&bytes, stack) {
        Ok(saved) => Ok(Some(saved)),
        Err(Unread::Other(_)) if force => Ok(None),
        Err(Unread::Other(why)) => Err(cannot(format!(
            "{why}, but must be for --stack {stack}, and nothing was written: --force replaces it"
        ))),
        Err(Unread::Unclear(why)) => Err(cannot(format!(
            "{why}, so what it lets run cannot be kept, and nothing was written: correct it or move it away, which \
             --force does not do"
        ))),
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

/// Returns the entries of the lists of a file.
fn entries(saved: &Saved) -> Vec<String> {
    let lists = LISTS.into_iter().filter_map(|list| saved.get(list));
    let lists: Vec<_> = lists.collect();
    let entries = lists.iter().flat_map(|list| list.split(','));
    let entries = entries.filter(|entry| !entry.is_empty());
    entries.map(str::to_owned).collect()
}

/// Returns whether an entry is of the partition and the account of `cluster`. A stack can run nothing elsewhere. What is no
/// ARN is of no other account: the pattern of its parameter refuses it.
fn is_near(entry: &str, cluster: &str) -> bool {
    let [partition, _, account] = place(cluster);
    let [of, _, owner] = place(entry);
    !entry.starts_with("arn:") || (of, owner) == (partition, account)
}

/// Returns the Region that a file names. If it names none, returns the Region of the first ARN in its lists that has
/// one, because `sam deploy` then takes the Region of the environment.
fn region_of(saved: &Saved) -> Option<String> {
    let named = saved.setting("region").map(str::to_owned);
    named.or_else(|| {
        let regions = entries(saved).into_iter().map(|entry| {
            let [_, region, _] = place(&entry);
            region.to_owned()
        });
        regions.into_iter().find(|region| !region.is_empty())
    })
}

fn refused(text: String) -> ActError {
    ActError::new(Exit::CONFIGURATION, text)
}

#[cfg(test)]
mod tests;
