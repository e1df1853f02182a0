//! The present state of an execution, its variables, and what its expressions can read.

use super::definition::Machine;
use super::jsonata::{Expression, Template, follow};
use super::script::Script;
use crate::engine::locked;
use crate::invoke::Failure;
use crate::world::World;
use lockstep::domain::{ExecutionArn, Timestamp, rfc3339};
use serde_json::{Map, Value, json};
use std::sync::{Arc, Mutex};

/// The place of an execution, or of one branch of it. A redrive goes on from this place.
pub(crate) type Place = Arc<Mutex<Frame>>;

#[derive(Default)]
pub(crate) struct Frame {
    pub(super) state: String,
    pub(super) input: Value,
    /// The variables assigned in this scope.
    pub(super) variables: Map<String, Value>,
    /// The branches of the Parallel state that the execution is in.
    pub(super) branches: Vec<Place>,
    /// The output of a branch that has ended.
    pub(super) output: Option<Value>,
}

/// One execution of a state machine, from its start or from a redrive to its end.
pub(crate) struct Run {
    pub(crate) world: Arc<World>,
    pub(crate) arn: ExecutionArn,
    pub(crate) machine: &'static Machine,
    pub(crate) input: Value,
    pub(crate) started: u64,
    pub(crate) redrives: u64,
    pub(crate) root: Place,
    /// Answers in place of the world's services.
    pub(crate) script: Option<Arc<Script>>,
}

/// A machine or a branch whose states run, and the scope around it.
pub(super) struct Scope<'a> {
    pub(super) run: &'a Run,
    pub(super) place: Place,
    pub(super) outer: Option<&'a Scope<'a>>,
}

/// What an expression can read beside variables.
#[derive(Clone, Copy)]
pub(super) struct Facts<'a> {
    pub(super) state: &'a str,
    pub(super) input: &'a Value,
    pub(super) retries: u32,
    pub(super) token: Option<&'a str>,
    pub(super) result: Option<&'a Value>,
    pub(super) error: Option<&'a Failure>,
}

impl Frame {
    pub(crate) fn starting_at(state: &str, input: Value) -> Place {
        Arc::new(Mutex::new(Self {
            state: state.to_owned(),
            input,
            ..Self::default()
        }))
    }
}

impl Scope<'_> {
    /// Returns the value of `template`. An expression that fails is the error
    /// `States.QueryEvaluationError`.
    pub(super) fn fill(&self, template: &Template, facts: Facts<'_>) -> Result<Value, Failure> {
        template.fill(&|expression: &Expression| {
            let bind = |name: &str| match name {
                "states" => Some(self.states(expression, facts)),
                name => self.variable(name),
            };
            let path = expression.path();
            if let Some(value) = path.and_then(|(name, fields)| self.follow(name, fields, facts)) {
                return Ok(value);
            }
            expression
                .evaluate(self.run.world.now(), bind)
                .map_err(|cause| Failure::new("States.QueryEvaluationError", &cause))
        })
    }

    /// Returns the value of a field, or `default` if the field is missing.
    pub(super) fn fill_or(
        &self,
        template: Option<&Template>,
        facts: Facts<'_>,
        default: &Value,
    ) -> Result<Value, Failure> {
        template.map_or_else(
            || Ok(default.clone()),
            |template| self.fill(template, facts),
        )
    }

    /// Evaluates all values of an Assign field before it assigns any of them.
    pub(super) fn assign(
        &self,
        template: Option<&Template>,
        facts: Facts<'_>,
    ) -> Result<(), Failure> {
        let Some(template) = template else {
            return Ok(());
        };
        let Value::Object(values) = self.fill(template, facts)? else {
            let cause = "Assign must be an object";
            return Err(Failure::new("States.QueryEvaluationError", cause));
        };
        locked(&self.place).variables.extend(values);
        Ok(())
    }

    /// Returns the value at the end of a path, without a copy of the objects on the way.
    fn follow(&self, name: &str, fields: &[String], facts: Facts<'_>) -> Option<Value> {
        if name != "states" {
            let frame = locked(&self.place);
            let own = frame.variables.get(name);
            return match (own, self.outer) {
                (Some(own), _) => follow(own, fields),
                (None, Some(outer)) => {
                    drop(frame);
                    outer.follow(name, fields, facts)
                }
                (None, None) => None,
            };
        }
        let (part, fields) = fields.split_first()?;
        match part.as_str() {
            "input" => follow(facts.input, fields),
            "result" => follow(facts.result?, fields),
            _ => None,
        }
    }

    /// Returns a variable of this scope or of one around it.
    fn variable(&self, name: &str) -> Option<Value> {
        let own = locked(&self.place).variables.get(name).cloned();
        own.or_else(|| self.outer?.variable(name))
    }

    /// Returns `$states`, with the parts that `expression` mentions.
    fn states(&self, expression: &Expression, facts: Facts<'_>) -> Value {
        let mut states = Map::new();
        let mut add = |name: &str, value: Option<&dyn Fn() -> Value>| {
            if let Some(value) = value.filter(|_| expression.mentions(name)) {
                states.insert(name.to_owned(), value());
            }
        };
        let result = facts.result.map(|result| || result.clone());
        let error = facts.error.map(|error| || error.as_output());
        add("input", Some(&|| facts.input.clone()));
        add("context", Some(&|| self.context(expression, facts)));
        add("result", result.as_ref().map(|result| result as _));
        add("errorOutput", error.as_ref().map(|error| error as _));
        Value::Object(states)
    }

    /// Returns the Context object
    /// (<https://docs.aws.amazon.com/step-functions/latest/dg/input-output-contextobject.html>).
    fn context(&self, expression: &Expression, facts: Facts<'_>) -> Value {
        let run = self.run;
        let name = run.arn.as_str().rsplit(':').next();
        let mut context = json!({
            "Execution": {
                "Id": run.arn.as_str(),
                "Name": name,
                "StartTime": rfc3339(Timestamp::from_millis(run.started)),
                "RedriveCount": run.redrives,
            },
            "State": { "Name": facts.state, "RetryCount": facts.retries },
        });
        if expression.mentions("Execution.Input") {
            context["Execution"]["Input"] = run.input.clone();
        }
        if let Some(token) = facts.token {
            context["Task"] = json!({ "Token": token });
        }
        context
    }
}
