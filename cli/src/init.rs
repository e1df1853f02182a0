//! `lockstep init`: writes what a first lock needs into a repository.
//!
//! The answers come from flags, from the terminal and from ECS. The template of the schedule is the example
//! that the documentation shows, so that both ways to a first lock end with the same resources. Nothing in AWS
//! is changed: `sam deploy` deploys the files.

mod answers;
mod desk;
mod ecs;
mod files;
mod next;
mod template;

use crate::args::init::InitArgs;
use crate::args::parse;
use crate::exit::Exit;
use crate::operate::{ActError, finish, print};
use crate::platform::aws::{Loaded, operators_config};
use answers::{Answers, Launch, Question, family};
use aws_config::SdkConfig;
use desk::Desk;
use ecs::Described;
use template::Template;

/// Writes the files, and prints what to type next.
pub(crate) async fn init(args: InitArgs) -> Exit {
    finish(attempt(&args).await)
}

async fn attempt(args: &InitArgs) -> Result<Exit, ActError> {
    let desk = Desk::open(args)?;
    let template = next::template(args.template.as_deref())?;
    let sdk = match args.offline {
        true => None,
        false => Some(connect().await?),
    };
    let answers = ask(args, &desk, sdk.as_ref()).await?;
    check(&answers).map_err(refused)?;
    let files = answers.files();
    let changes = files::write(&args.directory, &files, args.force)?;
    print(&next::report(
        &args.directory,
        &answers,
        &files,
        &changes,
        &template,
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

/// Takes all answers. What ECS says is taken before the questions that depend on it.
async fn ask(args: &InitArgs, desk: &Desk, sdk: Option<&SdkConfig>) -> Result<Answers, ActError> {
    use Question as Q;
    let cluster = desk
        .answer(Q::Cluster, args.cluster.as_deref(), None)
        .await?;
    let cluster = match sdk {
        Some(sdk) => ecs::cluster(sdk, &cluster).await?,
        None => cluster,
    };
    let named = args.task_definition.as_deref();
    let named = desk.answer(Q::TaskDefinition, named, None).await?;
    let task = match sdk {
        Some(sdk) => ecs::task_definition(sdk, &named).await?,
        None => Described {
            arn: named,
            containers: Vec::new(),
            roles: Vec::new(),
            launch: Launch::Fargate,
        },
    };
    let own_lock = family(&task.arn).rsplit('/').next();
    Ok(Answers {
        stack: args.stack.clone(),
        container: container(args, desk, &task).await?,
        roles: roles(args, desk, &task).await?,
        subnets: desk
            .answer(Q::Subnets, args.subnets.as_deref(), None)
            .await?,
        security_groups: desk
            .answer(Q::SecurityGroups, args.security_groups.as_deref(), None)
            .await?,
        schedule: desk
            .answer(Q::Schedule, args.schedule.as_deref(), None)
            .await?,
        timezone: desk
            .answer(Q::Timezone, args.timezone.as_deref(), Some("UTC"))
            .await?,
        max_run_seconds: {
            let max_run = desk
                .answer(Q::MaxRun, args.max_run.as_deref(), None)
                .await?;
            parse::limit(&max_run).map_err(refused)?.as_secs()
        },
        email: desk
            .answer(Q::Email, args.email.as_deref(), Some(""))
            .await?,
        lock: desk.answer(Q::Lock, args.lock.as_deref(), own_lock).await?,
        cluster,
        task_definition: task.arn,
        launch: task.launch,
        public_ip: args.public_ip,
    })
}

/// Returns the container that does the work: the only one of the task definition, or the one that is named.
async fn container(args: &InitArgs, desk: &Desk, task: &Described) -> Result<String, ActError> {
    let only = match &task.containers[..] {
        [only] => Some(only.as_str()),
        _ => None,
    };
    let given = args.container.as_deref().or(only);
    let names = task.containers.join(", ");
    let container = match (given, desk.has_terminal()) {
        (None, false) => {
            let text =
                format!("the task definition has the containers {names}: name one by --container");
            return Err(refused(text));
        }
        (given, _) => desk.answer(Question::Container, given, None).await?,
    };
    match task.containers.is_empty() || task.containers.contains(&container) {
        true => Ok(container),
        false => Err(refused(format!(
            "--container is {container:?}, but must be a container of the task definition: {names}"
        ))),
    }
}

/// Returns the roles of the task definition, or those that are named.
async fn roles(args: &InitArgs, desk: &Desk, task: &Described) -> Result<Vec<String>, ActError> {
    let named = args.task_role.join(",");
    let given = match args.task_role.is_empty() {
        true if !args.offline => return Ok(task.roles.clone()),
        true => None,
        false => Some(named.as_str()),
    };
    let roles = desk.answer(Question::TaskRole, given, None).await?;
    let roles = roles.split(',').filter(|role| *role != "none");
    Ok(roles.map(str::to_owned).collect())
}

/// Checks what no single answer shows.
fn check(answers: &Answers) -> Result<(), String> {
    for (parameter, value) in answers.lockstep_parameters() {
        let checked = Template::lockstep().check(parameter, &value);
        checked.map_err(|rule| format!("{parameter} is {value:?}, but must be {rule}"))?;
    }
    let place = |arn: &str| {
        arn.splitn(6, ':')
            .take(5)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let Answers {
        cluster,
        task_definition,
        stack,
        ..
    } = answers;
    if place(cluster) != place(task_definition) {
        return Err(format!(
            "--task-definition is {task_definition:?}, but must be of the partition, the Region and the account of \
             --cluster, {cluster}"
        ));
    }
    let name = answers.name();
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if !stack.starts_with(|c: char| c.is_ascii_alphabetic())
        || !stack.chars().all(is_part)
        || stack.len() > 128
    {
        return Err(format!(
            "--stack is {stack:?}, but must be 1 to 128 letters, digits and hyphens, and begin with a letter"
        ));
    }
    // The stack of the schedule and the schedule have the name; a schedule has up to 64 characters.
    if name.len() > 64 {
        return Err(format!(
            "--lock is {:?}, but must be at most 64 characters long, because the schedule is named after it",
            answers.lock
        ));
    }
    match name == *stack || name == "samconfig" {
        true => Err(format!(
            "--lock is {:?}, but must not be the name of another file or stack: the schedule gets a stack {name}",
            answers.lock
        )),
        false => Ok(()),
    }
}

fn refused(text: String) -> ActError {
    ActError::new(Exit::CONFIGURATION, text)
}
