//! A state machine as Amazon States Language writes it, JSONata only
//! (<https://states-language.net/spec.html>).
//!
//! A state, a field or a resource that the interpreter does not know is refused by name. So no
//! definition runs without a part of it.

use super::jsonata::Template;
use crate::functions::Function;
use lockstep::config::variable;
use lockstep_tests::repository;
use lockstep_weave::{Options, weave};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

pub(crate) type States = BTreeMap<String, State>;

/// The `LockPrefix` of the team's exclusive-run.
pub(crate) const TEAM_PREFIX: &str = "payments/";

/// Objects of the language: fields in PascalCase, a Comment, and no unknown field.
macro_rules! objects {
    ($($(#[$about:meta])* $name:ident { $($(#[$rule:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$about])*
        #[derive(Debug, Deserialize)]
        #[serde(rename_all = "PascalCase", deny_unknown_fields)]
        pub(crate) struct $name {
            #[serde(default, rename = "Comment")]
            _comment: IgnoredAny,
            $($(#[$rule])* pub(crate) $field: $type,)*
        }
    )*};
}

objects! {
    /// A whole state machine.
    Machine {
        #[serde(rename = "QueryLanguage")] _query_language: Jsonata,
        start_at: String,
        states: States,
    }
    TaskState {
        resource: Resource,
        arguments: Template,
        timeout_seconds: Option<Template>,
        #[serde(default)] retry: Vec<Retrier>,
        #[serde(default)] catch: Vec<Catcher>,
        assign: Option<Template>,
        output: Option<Template>,
        next: Option<String>,
        #[serde(default)] end: bool,
    }
    ParallelState {
        branches: Vec<Branch>,
        arguments: Option<Template>,
        #[serde(default)] retry: Vec<Retrier>,
        #[serde(default)] catch: Vec<Catcher>,
        assign: Option<Template>,
        output: Option<Template>,
        next: Option<String>,
        #[serde(default)] end: bool,
    }
    Branch {
        start_at: String,
        states: States,
    }
    ChoiceState {
        choices: Vec<Rule>,
        assign: Option<Template>,
        output: Option<Template>,
        default: Option<String>,
    }
    Rule {
        condition: Template,
        assign: Option<Template>,
        output: Option<Template>,
        next: String,
    }
    WaitState {
        seconds: Option<Template>,
        timestamp: Option<Template>,
        assign: Option<Template>,
        output: Option<Template>,
        next: Option<String>,
        #[serde(default)] end: bool,
    }
    PassState {
        assign: Option<Template>,
        output: Option<Template>,
        next: Option<String>,
        #[serde(default)] end: bool,
    }
    SucceedState {
        output: Option<Template>,
    }
    FailState {
        error: Option<Template>,
        cause: Option<Template>,
    }
    /// When a failed attempt is repeated
    /// (<https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html>).
    Retrier {
        error_equals: Vec<String>,
        #[serde(default = "one")] interval_seconds: u32,
        #[serde(default = "three")] max_attempts: u32,
        #[serde(default = "two")] backoff_rate: f64,
        max_delay_seconds: Option<u32>,
        #[serde(default)] jitter_strategy: Jitter,
    }
    Catcher {
        error_equals: Vec<String>,
        assign: Option<Template>,
        output: Option<Template>,
        next: String,
    }
}

/// The only query language that the interpreter knows.
#[derive(Debug, Deserialize)]
pub(crate) enum Jsonata {
    #[serde(rename = "JSONata")]
    Jsonata,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "Type")]
pub(crate) enum State {
    Task(TaskState),
    Parallel(ParallelState),
    Choice(ChoiceState),
    Wait(WaitState),
    Pass(PassState),
    Succeed(SucceedState),
    Fail(FailState),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum Jitter {
    Full,
    #[default]
    None,
}

const fn one() -> u32 {
    1
}

const fn two() -> f64 {
    2.0
}

const fn three() -> u32 {
    3
}

/// What a Task state calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum Resource {
    /// `lambda:invoke`
    Invoke,
    /// `lambda:invoke.waitForTaskToken`
    InvokeAndWait,
    /// `ecs:runTask.sync`
    RunTask,
    /// `states:startExecution.sync:2`
    StartExecution,
    /// `aws-sdk:sfn:describeExecution`
    DescribeExecution,
    /// `aws-sdk:ecs:describeTaskDefinition`
    DescribeTaskDefinition,
}

impl TryFrom<String> for Resource {
    type Error = String;

    fn try_from(arn: String) -> Result<Self, String> {
        match arn.split_once(":states:::").map(|(_, action)| action) {
            Some("lambda:invoke") => Ok(Self::Invoke),
            Some("lambda:invoke.waitForTaskToken") => Ok(Self::InvokeAndWait),
            Some("ecs:runTask.sync") => Ok(Self::RunTask),
            Some("states:startExecution.sync:2") => Ok(Self::StartExecution),
            Some("aws-sdk:sfn:describeExecution") => Ok(Self::DescribeExecution),
            Some("aws-sdk:ecs:describeTaskDefinition") => Ok(Self::DescribeTaskDefinition),
            _ => Err(format!("the simulation does not know the resource {arn}")),
        }
    }
}

impl Machine {
    /// Reads a definition as it is deployed, with its substitutions filled in.
    ///
    /// # Panics
    /// If the definition uses what the interpreter does not know.
    pub(crate) fn read(text: &str) -> Self {
        Self::read_for(text, "")
    }

    /// Reads a definition for a team, whose locks begin with `prefix`.
    fn read_for(text: &str, prefix: &str) -> Self {
        serde_json::from_str(&filled_in(text, prefix))
            .unwrap_or_else(|error| panic!("the definition cannot be interpreted: {error}"))
    }

    /// Returns exclusive-run as infra/template.yaml deploys it: from the repository, or from the
    /// file that `LOCKSTEP_DEFINITION` names.
    pub(crate) fn exclusive_run() -> &'static Self {
        static MACHINE: OnceLock<Machine> = OnceLock::new();
        MACHINE.get_or_init(|| Self::read(&exclusive_run()))
    }

    /// Returns exclusive-run as infra/team.yaml deploys it, for locks that begin with
    /// [`TEAM_PREFIX`].
    pub(crate) fn exclusive_run_of_a_team() -> &'static Self {
        static MACHINE: OnceLock<Machine> = OnceLock::new();
        MACHINE.get_or_init(|| Self::read_for(&exclusive_run(), TEAM_PREFIX))
    }

    /// Returns a workflow of one state, with the lock woven around it.
    pub(crate) fn woven() -> &'static Self {
        static MACHINE: OnceLock<Machine> = OnceLock::new();
        MACHINE.get_or_init(|| {
            let text = include_str!("../definitions/one-state.asl.json");
            let options = Options {
                lock: "nightly".into(),
                ..Options::default()
            };
            Self::read(&weave(text, &options).expect("a definition that can be woven"))
        })
    }

    /// Returns a user's workflow whose states are the work and which calls the functions itself.
    pub(crate) fn own_workflow() -> &'static Self {
        static MACHINE: OnceLock<Machine> = OnceLock::new();
        MACHINE.get_or_init(|| Self::read(include_str!("../definitions/own-workflow.asl.json")))
    }
}

/// Returns the text of exclusive-run.
fn exclusive_run() -> String {
    let deployed = || repository().join("statemachines/exclusive-run.asl.json");
    let path: PathBuf = variable("LOCKSTEP_DEFINITION").map_or_else(deployed, Into::into);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Fills in the substitutions as the templates do.
fn filled_in(text: &str, prefix: &str) -> String {
    let mut filled = text
        .replace("${Partition}", "aws")
        .replace("${LockPrefix}", prefix);
    for function in Function::ALL {
        let hole = format!("${{{}Arn}}", function.logical_id());
        filled = filled.replace(&hole, &function.arn());
    }
    if let Some((_, rest)) = filled.split_once("${") {
        let name = rest.split('}').next().unwrap_or_default();
        panic!("the definition has a substitution that the simulation does not know: {name}");
    }
    filled
}
