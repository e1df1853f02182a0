//! `lockstep init`: writes what a first lock needs into a repository, and a further lock beside it.
//!
//! The answers come from flags, from the terminal, from ECS and from the stacks that are there. The template of the
//! schedule is the example that the documentation shows, so that both ways to a first lock end with the same
//! resources. Nothing in AWS is changed: `sam deploy` deploys the files.

mod answers;
mod deployed;
mod desk;
mod earlier;
mod ecs;
mod files;
mod names;
mod next;
mod overrides;
mod saved;
mod template;
mod write;

use crate::args::init::InitArgs;
use crate::args::parse;
use crate::audit::schedule::check_to_come;
use crate::exit::Exit;
use crate::operate::{ActError, finish, print};
use crate::platform::aws::{Loaded, operators_config};
use answers::{Answers, Launch, Question, family};
use aws_config::SdkConfig;
use desk::{Ask, Desk};
use earlier::Earlier;
use ecs::{Cluster, Described};
use lockstep::clock::{Clock, SystemClock};
use names::{check_name, check_stack, name_of, place};
use template::Template;

/// Writes the files, and prints what to type next.
pub(crate) async fn init(args: InitArgs) -> Exit {
    finish(attempt(&args).await)
}

async fn attempt(args: &InitArgs) -> Result<Exit, ActError> {
    if !args.directory.is_dir() {
        let given = args.directory.display().to_string();
        return Err(refused(format!(
            "DIRECTORY is {given:?}, but must be a folder that exists"
        )));
    }
    check_stack(&args.stack).map_err(refused)?;
    let desk = Desk::open(args)?;
    let template = next::template(args.template.as_deref())?;
    let sdk = match args.offline {
        true => None,
        false => Some(connect().await?),
    };
    let sources = Sources {
        args,
        desk,
        earlier: Earlier::find(args, sdk.as_ref()).await?,
        sdk,
    };
    let answers = sources.ask().await?;
    for (parameter, value) in sources.earlier.parameters(&answers) {
        let checked = Template::lockstep().check(parameter, &value);
        let why = |rule| format!("{parameter} is {value:?}, but must be {rule}");
        checked.map_err(|rule| refused(why(rule)))?;
    }
    let files = answers.files(&sources.earlier);
    let changes = write::write(&args.directory, &files, args.force)?;
    print(&next::report(
        &args.directory,
        &answers,
        &files,
        &changes,
        &template,
        args.offline,
    ))?;
    Ok(Exit::OK)
}

async fn connect() -> Result<SdkConfig, ActError> {
    let loaded = operators_config().await.map_err(|(exit, text)| {
        ActError::new(exit, format!("{text}; --offline reads nothing of AWS"))
    })?;
    let Loaded { sdk, .. } = loaded;
    Ok(sdk)
}

/// Where answers come from.
struct Sources<'a> {
    args: &'a InitArgs,
    desk: Desk,
    /// `None` with `--offline`.
    sdk: Option<SdkConfig>,
    earlier: Earlier,
}

impl Sources<'_> {
    /// Takes all answers. What ECS says is taken before the questions that depend on it, and what may be refused
    /// because of files and stacks that are there before the other questions.
    async fn ask(&self) -> Result<Answers, ActError> {
        use Question as Q;
        let args = self.args;
        let cluster = self.cluster().await?;
        let task = self.task_definition(&cluster.arn).await?;
        let (lock, name) = self.lock(&task).await?;
        let container = self.container(&task).await?;
        let roles = self.roles(&task, &cluster.arn).await?;
        let launch = self.launch(&task, &cluster).await?;
        let plain = async |question, given: Option<&str>| {
            let ask = Ask::new(question, given);
            self.desk.answer(ask, async |answer| Ok(answer)).await
        };
        let subnets = plain(Q::Subnets, args.subnets.as_deref()).await?;
        let security_groups = plain(Q::SecurityGroups, args.security_groups.as_deref()).await?;
        let timezone = Ask::new(Q::Timezone, args.timezone.as_deref()).or(Some("UTC"));
        let timezone = self.desk.answer(timezone, async |zone| Ok(zone)).await?;
        let max_run = Ask::new(Q::MaxRun, args.max_run.as_deref());
        Ok(Answers {
            stack: args.stack.clone(),
            lock,
            name,
            container,
            roles,
            launch,
            subnets,
            security_groups,
            schedule: self.schedule(&timezone).await?,
            timezone,
            max_run_seconds: self
                .desk
                .answer(max_run, async |time| {
                    let limit = parse::limit(&time).map_err(refused)?;
                    Ok(limit.as_secs())
                })
                .await?,
            email: self.email(&cluster.arn).await?,
            cluster: cluster.arn,
            task_definition: task.arn,
            public_ip: args.public_ip,
        })
    }

    async fn cluster(&self) -> Result<Cluster, ActError> {
        let ask = Ask::new(Question::Cluster, self.args.cluster.as_deref());
        let accept = async |name: String| {
            let cluster = match &self.sdk {
                Some(sdk) => ecs::cluster(sdk, &name).await?,
                None => Cluster {
                    arn: name,
                    has_providers: false,
                },
            };
            let [_, region, _] = place(&cluster.arn);
            self.earlier.check_region(region, self.args.force)?;
            self.earlier.check_account(&cluster.arn, self.args.force)?;
            Ok(cluster)
        };
        self.desk.answer(ask, accept).await
    }

    async fn task_definition(&self, cluster: &str) -> Result<Described, ActError> {
        let ask = Ask::new(
            Question::TaskDefinition,
            self.args.task_definition.as_deref(),
        );
        let accept = async |name: String| {
            let task = match &self.sdk {
                Some(sdk) => ecs::task_definition(sdk, &name).await?,
                None => Described {
                    arn: name,
                    containers: Vec::new(),
                    roles: Vec::new(),
                    compatible: Vec::new(),
                },
            };
            match place(&task.arn) == place(cluster) {
                true => Ok(task),
                false => Err(refused(format!(
                    "--task-definition is {:?}, but must be of the partition, the Region and the account of \
                     --cluster, {cluster}",
                    task.arn
                ))),
            }
        };
        self.desk.answer(ask, accept).await
    }

    /// Returns the lock, and the name of the files.
    async fn lock(&self, task: &Described) -> Result<(String, String), ActError> {
        let args = self.args;
        let own = family(&task.arn).rsplit('/').next();
        let ask = Ask::new(Question::Lock, args.lock.as_deref()).or(own);
        let accept = async |lock: String| {
            check_name(&args.stack, &lock, args.name.as_deref()).map_err(refused)?;
            let name = args.name.clone().unwrap_or_else(|| name_of(&lock));
            if self.desk.will_ask() {
                write::check_files(&args.directory, &name, args.force)?;
            }
            if let Some(sdk) = &self.sdk {
                deployed::check_schedule(sdk, args, &lock, &name).await?;
            }
            Ok((lock, name))
        };
        self.desk.answer(ask, accept).await
    }

    /// Returns the container that does the work: the only one of the task definition, or the one that is named.
    async fn container(&self, task: &Described) -> Result<String, ActError> {
        let only = match &task.containers[..] {
            [only] => Some(only.as_str()),
            _ => None,
        };
        let given = self.args.container.as_deref().or(only);
        let names = task.containers.join(", ");
        if given.is_none() && !self.desk.has_terminal() {
            return Err(refused(format!(
                "the task definition has the containers {names}: name one by --container"
            )));
        }
        let ask = Ask {
            choice: &names,
            ..Ask::new(Question::Container, given)
        };
        let accept = async |container: String| match task.containers.is_empty()
            || task.containers.contains(&container)
        {
            true => Ok(container),
            false => Err(refused(format!(
                "--container is {container:?}, but must be a container of the task definition: {names}"
            ))),
        };
        self.desk.answer(ask, accept).await
    }

    /// Returns the roles of the task definition, or those that are named.
    async fn roles(&self, task: &Described, cluster: &str) -> Result<Vec<String>, ActError> {
        let named = self.args.task_role.join(",");
        let given = match self.args.task_role.is_empty() {
            true if self.sdk.is_some() => return Ok(task.roles.clone()),
            true => None,
            false => Some(named.as_str()),
        };
        let accept = async |roles: String| {
            let [partition, _, account] = place(cluster);
            let roles = roles.split(',').filter(|role| *role != "none");
            let is_here = |role: &str| {
                let [of, _, owner] = place(role);
                (of, owner) == (partition, account)
            };
            let roles: Vec<_> = roles.map(str::to_owned).collect();
            match roles.iter().find(|role| !is_here(role)) {
                None => Ok(roles),
                Some(role) => Err(refused(format!(
                    "--task-role is {role:?}, but must be of the partition and the account of --cluster, {cluster}"
                ))),
            }
        };
        let ask = Ask::new(Question::TaskRole, given);
        self.desk.answer(ask, accept).await
    }

    async fn launch(&self, task: &Described, cluster: &Cluster) -> Result<Launch, ActError> {
        let given = self.args.launch_type.as_deref();
        let accept = async |named: String| {
            let given = Launch::named(&named);
            match (&self.sdk, given) {
                (Some(_), _) => ecs::launch(given, task, cluster.has_providers).map_err(refused),
                (None, given) => Ok(given.unwrap_or(Launch::Fargate)),
            }
        };
        let launch = match (given, &self.sdk) {
            (None, Some(_)) => ecs::launch(None, task, cluster.has_providers).map_err(refused)?,
            (given, _) => {
                let ask = Ask::new(Question::LaunchType, given);
                self.desk.answer(ask, accept).await?
            }
        };
        match launch == Launch::Ec2 && self.args.public_ip {
            true => Err(refused(
                "--public-ip is given, but must be left out for the launch type EC2: a task on an instance has no \
                 address of its own that is public"
                    .into(),
            )),
            false => Ok(launch),
        }
    }

    async fn schedule(&self, zone: &str) -> Result<String, ActError> {
        let ask = Ask::new(Question::Schedule, self.args.schedule.as_deref());
        let accept = async |expression: String| {
            let checked = check_to_come(&expression, zone, SystemClock.now().millis());
            let checked = checked.map_err(|rule| {
                refused(format!(
                    "--schedule is {expression:?} in {zone}, but {rule}"
                ))
            });
            checked.map(|()| expression)
        };
        self.desk.answer(ask, accept).await
    }

    async fn email(&self, cluster: &str) -> Result<String, ActError> {
        let earlier = self.earlier.email(cluster).unwrap_or_default();
        let ask = Ask::new(Question::Email, self.args.email.as_deref()).or(Some(&earlier));
        let accept = async |email: String| {
            let email = if email == "none" {
                String::new()
            } else {
                email
            };
            Earlier::check_email(&earlier, &email, self.args.force)?;
            Ok(email)
        };
        self.desk.answer(ask, accept).await
    }
}

fn refused(text: String) -> ActError {
    ActError::new(Exit::CONFIGURATION, text)
}
