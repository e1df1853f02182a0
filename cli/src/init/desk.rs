//! Takes answers from flags, and asks for the others at the terminal.

use super::answers::Question;
use crate::args::init::InitArgs;
use crate::exit::Exit;
use crate::log::print_line;
use crate::operate::ActError;
use crate::platform::terminal;

/// Takes the answers.
#[derive(Debug)]
pub(super) struct Desk {
    offline: bool,
    has_terminal: bool,
}

impl Desk {
    /// Opens a desk for the questions that `args` leave open.
    ///
    /// # Errors
    /// [`ActError`] that names all flags that are missing, if there is no terminal.
    pub(super) fn open(args: &InitArgs) -> Result<Self, ActError> {
        let has_terminal = terminal::is_there();
        let needed = [
            (Question::Cluster, args.cluster.is_some()),
            (Question::TaskDefinition, args.task_definition.is_some()),
            (
                Question::Container,
                args.container.is_some() || !args.offline,
            ),
            (
                Question::TaskRole,
                !args.task_role.is_empty() || !args.offline,
            ),
            (Question::Subnets, args.subnets.is_some()),
            (Question::SecurityGroups, args.security_groups.is_some()),
            (Question::Schedule, args.schedule.is_some()),
            (Question::MaxRun, args.max_run.is_some()),
        ];
        let missing = needed.into_iter().filter(|(_, is_given)| !is_given);
        let missing: Vec<_> = missing.map(|(question, _)| question.texts().0).collect();
        match has_terminal || missing.is_empty() {
            true => Ok(Self {
                offline: args.offline,
                has_terminal,
            }),
            false => {
                let text = format!("no terminal to ask at: give {}", missing.join(", "));
                Err(ActError::new(Exit::CONFIGURATION, text))
            }
        }
    }

    /// Returns whether there is a terminal to ask at.
    pub(super) fn has_terminal(&self) -> bool {
        self.has_terminal
    }

    /// Returns the answer to a question: of the flag, else of the terminal, else the default. An answer that
    /// breaks its rule is asked for again.
    ///
    /// # Errors
    /// [`ActError`] if the value of the flag breaks the rule, or if there is neither an answer nor a default.
    pub(super) async fn answer(
        &self,
        question: Question,
        given: Option<&str>,
        default: Option<&str>,
    ) -> Result<String, ActError> {
        let (flag, asks) = question.texts();
        if let Some(given) = given.or(default.filter(|_| !self.has_terminal)) {
            let checked = question.check(given, self.offline);
            checked.map_err(|why| ActError::new(Exit::CONFIGURATION, why))?;
            return Ok(given.to_owned());
        }
        let shown = default.filter(|default| !default.is_empty());
        let shown = shown.map_or_else(String::new, |default| format!(" [{default}]"));
        loop {
            let answer = terminal::ask(format!("{asks}{shown}: ")).await;
            let answer = answer.map_err(|error| {
                let text = format!("no answer at the terminal ({error}): give {flag}");
                ActError::new(Exit::CONFIGURATION, text)
            })?;
            let answer = match (answer.is_empty(), default) {
                (true, Some(default)) => default.to_owned(),
                _ => answer,
            };
            match question.check(&answer, self.offline) {
                Ok(()) => return Ok(answer),
                Err(why) => print_line(why),
            }
        }
    }
}
