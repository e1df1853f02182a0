//! What keeps a lock from granting permits: a pause, a freeze, a rest.
//!
//! ```text
//!  open ──── pause ───▶ paused ── resume, or the end of the pause ──▶ open
//!   │                     │ the end of the pause, if a holder under `hold` is stale
//!   └──────── freeze ─────┴─▶ frozen ──────────── resume ───────────▶ open
//! ```
//!
//! Only an operator's resume ends a freeze. A rest after a grant does not depend on the mode.

use super::time::Timestamp;

/// What keeps a lock from granting permits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Gate {
    /// Whether the lock grants permits.
    pub mode: Mode,
    /// Earliest time of the next grant.
    pub not_before: Timestamp,
}

/// Whether a lock grants permits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// The lock grants permits.
    Open,
    /// An operator paused the lock: holders finish, and no permit is granted.
    Paused {
        /// The operator's note and name.
        note: String,
        /// When the pause ends by itself. From then on the lock grants permits, and the next sweep sets
        /// the mode to open.
        until: Option<Timestamp>,
    },
    /// The lock is frozen until an operator resumes it: a holder is stale, or evidence about a holder is
    /// missing.
    Frozen {
        /// Why the lock is frozen.
        note: String,
    },
}

impl Gate {
    /// The gate of a new lock: open, and without a rest.
    pub const OPEN: Self = Self {
        mode: Mode::Open,
        not_before: Timestamp::from_millis(0),
    };

    /// Returns whether the lock is open and no rest is left at `now`.
    #[must_use]
    pub fn lets_in(&self, now: Timestamp) -> bool {
        self.mode.is_open(now) && self.not_before <= now
    }

    /// Returns the earliest time of the next grant; `None` if an operator has to resume the lock first.
    #[must_use]
    pub fn opens_at(&self) -> Option<Timestamp> {
        match &self.mode {
            Mode::Open => Some(self.not_before),
            mode => Some(mode.pause_end()?.max(self.not_before)),
        }
    }

    /// Returns whether the lock is frozen.
    #[must_use]
    pub fn is_frozen(&self) -> bool {
        matches!(self.mode, Mode::Frozen { .. })
    }

    /// Pauses the lock until `until`, or until an operator resumes it.
    ///
    /// # Errors
    /// The reason of the freeze, if the lock is frozen: a pause must not hide it.
    pub(crate) fn pause(&mut self, note: String, until: Option<Timestamp>) -> Result<(), String> {
        if let Mode::Frozen { note } = &self.mode {
            return Err(note.clone());
        }
        self.mode = Mode::Paused { note, until };
        Ok(())
    }
}

impl Mode {
    /// Returns whether the mode lets the lock grant permits at `now`. An expired pause counts as no
    /// pause.
    #[must_use]
    pub fn is_open(&self, now: Timestamp) -> bool {
        *self == Self::Open || self.pause_end().is_some_and(|end| end <= now)
    }

    /// Returns when the pause ends by itself; `None` for another mode and a pause without an end.
    #[must_use]
    pub fn pause_end(&self) -> Option<Timestamp> {
        match self {
            Self::Paused { until, .. } => *until,
            Self::Open | Self::Frozen { .. } => None,
        }
    }
}
