//! Rules that hold for any lock, command and history.

mod decisions;
mod histories;
