//! The flags of `lockstep init`.

use clap::{Args, ValueHint};
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Exit codes:
  0    the files are written, or have these answers already
  64   a flag or an answer is wrong, or one is missing and there is no terminal to ask at; there is
       no Region or no such profile; or a stack of one of the names is another one
  69   no credentials; or ECS or CloudFormation cannot be reached, or denies ecs:DescribeClusters,
       ecs:DescribeTaskDefinition or cloudformation:DescribeStacks
  73   a file exists with other content (--force replaces it); or it has changed meanwhile, differs
       from another one in case only, cannot be read as what it is, or cannot be written

What no flag says is asked for at the terminal. AWS is read, and nothing there is changed.

A further lock of the same stack is added to lockstep/samconfig.toml: what the file or the
deployed stack lets run already stays, also with --force. If it cannot be told what the file lets
run, because it is no TOML for example, nothing is written, also with --force. Any other file with
other content is replaced only with --force, and without it nothing is written.

Examples:
  lockstep init
  lockstep init --cluster batch --task-definition report \\
    --subnets subnet-1,subnet-2 --security-groups sg-1 \\
    --schedule 'cron(0 6 * * ? *)' --timezone Europe/Berlin --max-run 2h \\
    --email oncall@example.com";

/// Write what a first lock needs into your repository: the parameters of a Lockstep stack, and a schedule of an
/// ECS task under a lock
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct InitArgs {
    /// Your repository, a folder that exists; the files are written to its folder lockstep
    #[arg(value_name = "DIRECTORY", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(crate) directory: PathBuf,
    /// ECS cluster of the task: its name or its ARN
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Option<String>,
    /// Task definition to run: FAMILY, FAMILY:REVISION or an ARN; without a revision each run takes the latest
    #[arg(long, value_name = "NAME")]
    pub(crate) task_definition: Option<String>,
    /// Container that receives the lock, the holder and the fencing token in its environment [default: the only
    /// one of the task definition]
    #[arg(long, value_name = "NAME")]
    pub(crate) container: Option<String>,
    /// Task role or execution role of the task definition, or none; repeatable [default: those of the task
    /// definition]
    #[arg(long, value_name = "ARN")]
    pub(crate) task_role: Vec<String>,
    /// Launch type of the task: FARGATE, EC2, or CLUSTER for the default capacity providers of the cluster [default:
    /// CLUSTER if it has some, else FARGATE if the task definition is compatible with it, else EC2]
    #[arg(long, value_name = "TYPE")]
    pub(crate) launch_type: Option<String>,
    /// Subnets of the task, separated by commas
    #[arg(long, value_name = "IDS")]
    pub(crate) subnets: Option<String>,
    /// Security groups of the task, separated by commas
    #[arg(long, value_name = "IDS")]
    pub(crate) security_groups: Option<String>,
    /// Give the task a public address, which it needs in a subnet without a NAT gateway to pull its image; not for
    /// tasks on EC2
    #[arg(long)]
    pub(crate) public_ip: bool,
    /// When the task starts: rate(1 hour), cron(0 6 * * ? *) or at(2026-03-01T06:00:00)
    #[arg(long, value_name = "EXPRESSION")]
    pub(crate) schedule: Option<String>,
    /// Time zone of a cron or at expression, such as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "NAME")]
    pub(crate) timezone: Option<String>,
    /// Time limit of a run, after which it is stopped: twice the longest good run
    #[arg(long, value_name = "TIME")]
    pub(crate) max_run: Option<String>,
    /// Address that receives alarms and messages as mails, or none [default: that of the stack, else none]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) email: Option<String>,
    /// Name of the lock [default: the family of the task definition]
    #[arg(long, value_name = "NAME")]
    pub(crate) lock: Option<String>,
    /// Name of the files; the schedule and its stack are named STACK-NAME. A second schedule of one lock needs a name
    /// of its own [default: the name of the lock, with - for other characters than letters and digits]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Name of the CloudFormation stack of Lockstep
    #[arg(
        long,
        env = "LOCKSTEP_STACK",
        value_name = "NAME",
        default_value = "lockstep",
        hide_env_values = true
    )]
    pub(crate) stack: String,
    /// The template of Lockstep, or its folder: `infra` of a checkout, or an unpacked release. Only the commands
    /// that are printed name it
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) template: Option<PathBuf>,
    /// Read nothing of AWS: --cluster and --task-definition are ARNs, and --container, --task-role and --launch-type
    /// are given
    #[arg(long)]
    pub(crate) offline: bool,
    /// Replace files that exist with other content
    #[arg(long)]
    pub(crate) force: bool,
}
