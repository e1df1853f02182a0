//! Why a definition cannot be woven or unwoven.

use thiserror::Error;

/// A definition or an option that cannot be used. The text names the state, field or flag, what it is, and the
/// rule.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The text is neither JSON nor YAML.
    #[error("line {line}, column {column}: {why}")]
    Syntax {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong there.
        why: String,
    },
    /// The text is not a definition that can hold a lock.
    #[error("{0}")]
    Definition(String),
    /// An option breaks its rule.
    #[error("{0}")]
    Option(String),
    /// The states that `--from` and `--to` name are no section of one entry and one exit.
    #[error("{0}")]
    Section(String),
    /// The woven definition is longer than CreateStateMachine takes.
    #[error(
        "the woven definition has {characters} characters, but CreateStateMachine takes at most {}",
        crate::DEFINITION_MAX
    )]
    TooLong {
        /// Characters of the woven definition.
        characters: usize,
    },
    /// The definition is not woven, or was changed so that its original cannot be found.
    #[error("{0}")]
    NotWoven(String),
    /// Moving the text would change its meaning, or `unweave` would not bring it back.
    #[error("{0}")]
    Text(String),
}
