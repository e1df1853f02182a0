//! Why a definition cannot be woven or unwoven.

use thiserror::Error;

/// A definition or an option that cannot be used. The message names the state, field or flag, its value, and
/// the rule.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The text is neither JSON nor YAML.
    #[error("line {line}, column {column}: {why}")]
    Syntax {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong at this place.
        why: String,
    },
    /// The text is not a definition that can hold a lock.
    #[error("{0}")]
    Definition(String),
    /// An option breaks its rule.
    #[error("{0}")]
    Option(String),
    /// The states between `--from` and `--to` are not a section with one entrance and at most one exit.
    #[error("{0}")]
    Section(String),
    /// The woven definition is longer than CreateStateMachine accepts.
    #[error(
        "the woven definition has {characters} characters, but CreateStateMachine accepts at most {}",
        crate::DEFINITION_MAX
    )]
    TooLong {
        /// Number of characters in the woven definition.
        characters: usize,
    },
    /// The definition is not woven, was changed so that its original cannot be found, or would be woven in
    /// another way by this version.
    #[error("{0}")]
    NotWoven(String),
    /// Weaving moves the text of the guarded states. At its new place in the definition the text would mean
    /// something else, or `unweave` would not restore the original.
    #[error("{0}")]
    Text(String),
}
