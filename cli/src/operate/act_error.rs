//! The error of a subcommand for operators.

use crate::exit::Exit;

/// An act that failed.
#[derive(Debug)]
pub(crate) struct ActError {
    /// The exit code of the command.
    pub(crate) exit: Exit,
    /// What happened, in one line.
    pub(crate) text: String,
    /// Whether the function may have carried out the act all the same.
    pub(super) may_have_acted: bool,
    /// The name of the error, of Lambda or of the function; `None` without an answer.
    pub(super) code: Option<String>,
}

impl ActError {
    /// Creates the error of an act that was not carried out.
    pub(crate) fn new(exit: Exit, text: impl Into<String>) -> Self {
        Self {
            exit,
            text: text.into(),
            may_have_acted: false,
            code: None,
        }
    }

    /// If the stack was not found, adds to the text of the error how to deploy a stack.
    pub(super) fn with_how_to_deploy(self) -> Self {
        let text = match self.exit {
            Exit::CONFIGURATION => format!(
                "{}; `lockstep init` writes what `sam deploy` needs to deploy one",
                self.text
            ),
            _ => self.text,
        };
        Self { text, ..self }
    }

    /// Returns the error that ends a command with exit code 0 and no message, after the reader of its standard
    /// output has gone.
    pub(super) fn without_reader() -> Self {
        Self::new(Exit::OK, "")
    }
}
