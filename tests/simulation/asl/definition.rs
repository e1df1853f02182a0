//! A state machine as Amazon States Language writes it, JSONata only
//! (<https://states-language.net/spec.html>).
//!
//! A state, a field or a resource that is missing here is refused by name: a definition that uses
//! one must not run without it.

use super::template::Template;
use crate::functions::Function;
use lockstep::config::variable;
use lockstep_tests::repository;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

pub(crate) type States = BTreeMap<String, State>;

/// A whole state machine.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(crate) struct Machine {
    #[serde(default, rename = "Comment")]
    _comment: IgnoredAny,
    #[serde(rename = "QueryLanguage")]
    _query_language: Jsonata,
    pub(crate) start_at: String,
    pub(crate) states: States,
}

/// The only query language there is here.
#[derive(Debug, Deserialize)]
enum Jsonata {
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

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(crate) struct TaskState {
    #[serde(default, rename = "Comment")]
    _comment: IgnoredAny,
    pub(crate) resource: Resource,
    pub(crate) arguments: Template,
    pub(crate) timeout_seconds: Option<Template>,
    #[serde(default)]
    pub(crate) retry: Vec<Retrier>,
    #[serde(default)]
    pub(crate) catch: Vec<Catcher>,
    pub(crate) assign: Option<Template>,
    pub(crate) output: Option<Template>,
    pub(crate) next: Option<String>,
    #[serde(default)]
    pub(crate) end: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(crate) struct ParallelState {
    #[serde(default, rename = "Comment")]
    _comment: IgnoredAny,
    pub(crate) branches: Vec<Branch>,
    pub(crate) arguments: Option<Template>,
    #[serde(default)]
    pub(crate) retry: Vec<Retrier>,
    #[serde(default)]
    pub(crate) catch: Vec<Catcher>,
    pub(crate) assign: Option<Template>,
    pub(crate) output: Option<Template>,
    pub(crate) next: Option<String>,
    #[serde(default)]
    pub(crate) end: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(crate) struct Branch {
    #[serde(default, rename = "Comment")]
    _comment: IgnoredAny,
    pub(crate) start_at: String,
    pub(crate) states: States,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(crate) struct ChoiceState {
    #[serde(default, rename = "Comment")]
    _comment: IgnoredAny,
    pub(crate) choices: Vec<Rule>,
    pub(crate) assign: Option<Template>,
    pub(crate) output: Option<Template>,
    pub(crate) default: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(crate) struct Rule {
    #[serde(default, rename = "Comment")]
    _comment: IgnoredAny,
    pub(crate) condition: Template,
    pub(crate) assign: Option<Template>,
    pub(crate) output: Option<Template>,
    pub(crate) next: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(crate) struct WaitState {
    #[serde(default, rename = "Comment")]
    _comment: IgnoredAny,
    pub(crate) seconds: Option<Template>,
    pub(crate) timestamp: Option<Template>,
    pub(crate) assign: Option<Template>,
    pub(crate) output: Option<Template>,
    pub(crate) next: Option<String>,
    #[serde(default)]
    pub(crate) end: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(crate) struct PassState {
    #[serde(default, rename = "Comment")]
    _comment: IgnoredAny,
    pub(crate) assign: Option<Template>,
    pub(crate) output: Option<Template>,
    pub(crate) next: Option<String>,
    #[serde(default)]
    pub(crate) end: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(crate) struct SucceedState {
    #[serde(default, rename = "Comment")]
    _comment: IgnoredAny,
    pub(crate) output: Option<Template>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(crate) struct FailState {
    #[serde(default, rename = "Comment")]
    _comment: IgnoredAny,
    pub(crate) error: Option<Template>,
    pub(crate) cause: Option<Template>,
}

/// When a failed attempt is repeated
/// (<https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html>).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(crate) struct Retrier {
    #[serde(default, rename = "Comment")]
    _comment: IgnoredAny,
    pub(crate) error_equals: Vec<String>,
    #[serde(default = "one")]
    pub(crate) interval_seconds: u32,
    #[serde(default = "three")]
    pub(crate) max_attempts: u32,
    #[serde(default = "two")]
    pub(crate) backoff_rate: f64,
    pub(crate) max_delay_seconds: Option<u32>,
    #[serde(default)]
    pub(crate) jitter_strategy: Jitter,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum Jitter {
    Full,
    #[default]
    None,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(crate) struct Catcher {
    #[serde(default, rename = "Comment")]
    _comment: IgnoredAny,
    pub(crate) error_equals: Vec<String>,
    pub(crate) assign: Option<Template>,
    pub(crate) output: Option<Template>,
    pub(crate) next: String,
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
}

impl TryFrom<String> for Resource {
    type Error = String;

    fn try_from(arn: String) -> Result<Self, String> {
        match arn.split_once(":states:::").map(|(_, action)| action) {
            Some("lambda:invoke") => Ok(Self::Invoke),
            Some("lambda:invoke.waitForTaskToken") => Ok(Self::InvokeAndWait),
            Some("ecs:runTask.sync") => Ok(Self::RunTask),
            _ => Err(format!("the simulation does not know the resource {arn}")),
        }
    }
}

impl Machine {
    /// Reads a definition as it is deployed: with its substitutions filled in.
    ///
    /// # Panics
    /// For a definition that uses what is missing here.
    pub(crate) fn read(text: &str) -> Self {
        serde_json::from_str(&filled_in(text))
            .unwrap_or_else(|error| panic!("the definition cannot be interpreted: {error}"))
    }

    fn read_file(path: &Path) -> Self {
        let text = fs::read_to_string(path);
        Self::read(&text.unwrap_or_else(|error| panic!("{}: {error}", path.display())))
    }

    /// exclusive-run: the repository's, or the file that `LOCKSTEP_DEFINITION` names.
    pub(crate) fn exclusive_run() -> &'static Self {
        static MACHINE: OnceLock<Machine> = OnceLock::new();
        MACHINE.get_or_init(|| {
            let deployed = || repository().join("statemachines/exclusive-run.asl.json");
            let path = variable("LOCKSTEP_DEFINITION").map_or_else(deployed, Into::into);
            Self::read_file(&path)
        })
    }

    /// A workflow of a user's own, whose states are the work and which calls the functions itself.
    pub(crate) fn own_workflow() -> &'static Self {
        static MACHINE: OnceLock<Machine> = OnceLock::new();
        MACHINE.get_or_init(|| Self::read(include_str!("../definitions/own-workflow.asl.json")))
    }
}

/// Fills in what the template of the stack fills in.
fn filled_in(text: &str) -> String {
    let mut filled = text.replace("${Partition}", "aws");
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
