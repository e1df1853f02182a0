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
    /// Whether a question that has no default is open.
    has_open: bool,
}

/// A question, and what answers it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ask<'a> {
    pub(super) question: Question,
    /// The value of the flag.
    pub(super) given: Option<&'a str>,
    pub(super) default: Option<&'a str>,
    /// The answers to choose from, if they are known.
    pub(super) choice: &'a str,
}

impl<'a> Ask<'a> {
    pub(super) fn new(question: Question, given: Option<&'a str>) -> Self {
        Self {
            question,
            given,
            default: None,
            choice: "",
        }
    }

    pub(super) fn or(self, default: Option<&'a str>) -> Self {
        Self { default, ..self }
    }
}

impl Desk {
    /// Opens a desk for the questions that `args` leave open.
    ///
    /// # Errors
    /// [`ActError`] that names all flags that are missing, if there is no terminal.
    pub(super) fn open(args: &InitArgs) -> Result<Self, ActError> {
        let has_terminal = terminal::is_there();
        let online = !args.offline;
        let needed = [
            (Question::Cluster, args.cluster.is_some()),
            (Question::TaskDefinition, args.task_definition.is_some()),
            (Question::Container, args.container.is_some() || online),
            (Question::TaskRole, !args.task_role.is_empty() || online),
            (Question::LaunchType, args.launch_type.is_some() || online),
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
                has_open: !missing.is_empty(),
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

    /// Returns whether answers will be typed, which a refusal at the end would lose.
    pub(super) fn will_ask(&self) -> bool {
        self.has_terminal && self.has_open
    }

    /// Returns what `accept` makes of the answer to a question: of the flag, else of the terminal, else the default.
    /// An answer at the terminal that breaks its rule, or that `accept` refuses, is asked for again.
    ///
    /// # Errors
    /// [`ActError`] if the value of the flag is refused, if there is neither an answer nor a default, or if `accept`
    /// cannot tell.
    pub(super) async fn answer<T>(
        &self,
        ask: Ask<'_>,
        accept: impl AsyncFn(String) -> Result<T, ActError>,
    ) -> Result<T, ActError> {
        let Ask {
            question,
            given,
            default,
            choice,
        } = ask;
        let check = async |answer: String| {
            let checked = question.check(&answer, self.offline);
            checked.map_err(|why| ActError::new(Exit::CONFIGURATION, why))?;
            accept(answer).await
        };
        let (flag, asks) = question.texts();
        if let Some(given) = given.or(default.filter(|_| !self.has_terminal)) {
            return check(given.to_owned()).await;
        }
        let choice = match choice {
            "" => String::new(),
            choice => format!(": {choice}"),
        };
        let shown = default.filter(|default| !default.is_empty());
        let shown = shown.map_or_else(String::new, |default| format!(" [{default}]"));
        loop {
            let answer = terminal::ask(format!("{asks}{choice}{shown}: ")).await;
            let answer = answer.map_err(|error| {
                let text = format!("no answer at the terminal ({error}): give {flag}");
                ActError::new(Exit::CONFIGURATION, text)
            })?;
            let answer = match (answer.is_empty(), default) {
                (true, Some(default)) => default.to_owned(),
                _ => answer,
            };
            match check(answer).await {
                Err(error) if error.exit != Exit::UNAVAILABLE => print_line(error.text),
                settled => return settled,
            }
        }
    }
}
