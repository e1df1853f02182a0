//! What keeps a lock from granting permits: a pause, a freeze, a rest.
//!
//! ```text
//!  open ──── pause ───▶ paused ── resume, or the end of the pause ──▶ open
//!   │                     │ the end of the pause, and a holder is stale
//!   └──────── freeze ─────┴─▶ frozen ──────────── resume ───────────▶ open
//! ```
//!
//! A freeze asks for an operator, so nothing but a resume ends it. A rest after a grant is independent of all this.

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
        /// When the pause is over. From then on the lock grants permits, and the sweep resumes it.
        until: Option<Timestamp>,
    },
    /// The lock is frozen until an operator resumes it: a stale holder holds it, or evidence is
    /// missing.
    Frozen {
        /// Why.
        note: String,
    },
}

impl Gate {
    /// The gate of a lock that grants permits and has never rested.
    pub const OPEN: Self = Self {
        mode: Mode::Open,
        not_before: Timestamp::from_millis(0),
    };

    /// Whether a permit may be granted at `now`.
    #[must_use]
    pub fn lets_in(&self, now: Timestamp) -> bool {
        self.mode.is_open(now) && self.not_before <= now
    }

    /// When a permit may be granted; `None` if that takes an operator.
    #[must_use]
    pub fn opens_at(&self) -> Option<Timestamp> {
        match &self.mode {
            Mode::Open => Some(self.not_before),
            mode => Some(mode.pause_end()?.max(self.not_before)),
        }
    }

    /// Whether the lock is frozen.
    #[must_use]
    pub fn is_frozen(&self) -> bool {
        matches!(self.mode, Mode::Frozen { .. })
    }

    /// Pauses the lock, until `until` if there is one.
    ///
    /// # Errors
    /// The reason of a freeze, which a pause must not hide.
    pub(crate) fn pause(&mut self, note: String, until: Option<Timestamp>) -> Result<(), String> {
        if let Mode::Frozen { note } = &self.mode {
            return Err(note.clone());
        }
        self.mode = Mode::Paused { note, until };
        Ok(())
    }
}

impl Mode {
    /// Whether permits are granted at `now`.
    #[must_use]
    pub fn is_open(&self, now: Timestamp) -> bool {
        *self == Self::Open || self.pause_end().is_some_and(|end| end <= now)
    }

    /// When the pause is over, if that is known.
    #[must_use]
    pub fn pause_end(&self) -> Option<Timestamp> {
        match self {
            Self::Paused { until, .. } => *until,
            Self::Open | Self::Frozen { .. } => None,
        }
    }
}
