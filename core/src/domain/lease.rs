//! Leases: how long a grant is good, and when its holder counts as silent, stale or dead.

mod limits;

use super::exit::Exit;
use super::gate::Mode;
use super::holder::{HolderId, TaskToken};
use super::key::RunKey;
use super::stale::{StalePolicy, Staleness};
use super::time::{DEAD_AFTER, Seconds, Timestamp};
use super::token::FencingToken;
use super::work::Work;

/// Upper bound of the time between heartbeats that [`Lease::is_overdue`] uses.
const OVERDUE_MAX: Seconds = Seconds::of(60);

/// How late a heartbeat may be before it counts as overdue.
const OVERDUE_SLACK: Seconds = Seconds::of(5);

/// Shortest time that a suspect has to clear its mark.
const SUSPICION_MIN: Seconds = Seconds::of(10);

/// The lease of a grant: how long the grant is good without a renewal. Each heartbeat moves the end
/// forward.
///
/// ```text
///   granted        heartbeat         heartbeat          expires_at  + DEAD_AFTER
///      |---- length ----|---- length ----|---- length ----|-------------|
///      token                                              holder stops  others may judge it dead
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The fencing token of the grant. Renewals keep it.
    pub token: FencingToken,
    /// When the lease ends unless it is renewed.
    pub expires_at: Timestamp,
    /// Length of the lease, and time to the next heartbeat.
    pub pace: Pace,
    /// When the run must be over (`maxRunSeconds`).
    pub run_until: Option<Timestamp>,
    /// How long the run may take. A restart computes `run_until` from this length. Leases written by
    /// earlier versions have a `run_until` and lack this field.
    pub max_run: Option<Seconds>,
    /// Longest time without a change in the progress of the run (`noProgressSeconds`).
    pub no_progress: Option<Seconds>,
    /// When the run counts as stalled unless its progress changes.
    pub stalls_at: Option<Timestamp>,
    /// The latest progress that the run reported.
    pub progress: Option<String>,
    /// What happens to the holder if it is stale.
    pub stale: StalePolicy,
    /// `expectEverySeconds` of the request. The field `grant` of acquire-lock's response contains it, so that a
    /// release needs no read.
    pub expect_every: Option<Seconds>,
    /// The run key, if the run has one.
    pub run_key: Option<RunKey>,
    /// The work of the run, as far as Lockstep can find it.
    pub work: Option<Work>,
    /// Task token of the heartbeat state, which the release ends; `None` without such a state.
    pub beat: Option<TaskToken>,
    /// The hand-over that made this grant; `None` once the holder has confirmed it by a request.
    pub call: Option<Call>,
    /// How the holder leaves its permit.
    pub exit: Exit,
    /// Number of redrives of the holder's execution, as the holder last reported it.
    pub redrives: u32,
    /// The execution that started the holder's execution. If a workflow retries a nested execution, all
    /// attempts have the same parent.
    pub parent: Option<HolderId>,
}

/// How long a lease is good after a heartbeat, and the time to the next heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pace {
    /// Time from a heartbeat to the end of the lease that it sets.
    pub length: Seconds,
    /// Time between heartbeats.
    pub heartbeat: Seconds,
}

/// How long after the end of a lease the lock is frozen if the evidence about its holder cannot be read:
/// its cluster was deleted, its family has more tasks than Lockstep reads, or a permission is missing.
/// Until then a check only marks the holder as a suspect, with an alert.
const FREEZE_WITHOUT_EVIDENCE_AFTER: Seconds = Seconds::of(3_600);

/// Time after the grant of a hand-over at which the sweep checks whether it is confirmed.
const CONFIRMED_WITHIN: Seconds = Seconds::of(60);

/// The version of a lease. A heartbeat, a redrive, the mark of an ending, and each sign of life of a waiter to which the
/// permit was handed over create a new version. Evidence that was gathered under one version is void under the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LeaseVersion {
    /// [`Lease::expires_at`].
    pub expires_at: Timestamp,
    /// [`Lease::redrives`].
    pub redrives: u32,
    /// Whether [`Exit::ending`] is set.
    pub ending: bool,
    /// [`Call::since`] of the hand-over; `None` if it is confirmed.
    pub called: Option<Timestamp>,
}

/// Why the time limits of a run start again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// The time that has passed does not count as run time:
    ///
    /// - an operator resumed the lock, which was frozen because of this run,
    /// - the run has just confirmed its hand-over, or
    /// - a redriven run had to wait until the task of its previous attempt had stopped.
    Excused,
    /// The execution was redriven. Contains the number of redrives.
    Redriven(u32),
    /// The grant had ended and is reinstated after a redrive. Contains the number of redrives.
    Reinstated(u32),
}

/// A hand-over that its waiter has not confirmed yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// Task token of the waiting state to wake; `None` for a waiter that polls.
    pub task_token: Option<TaskToken>,
    /// When the waiter last registered, which is its last sign of life.
    pub since: Timestamp,
}

impl Lease {
    /// Returns the current version of the lease.
    ///
    /// Two heartbeats in the same millisecond set the same `expires_at`, and so have the same version.
    #[must_use]
    pub fn version(&self) -> LeaseVersion {
        LeaseVersion {
            expires_at: self.expires_at,
            redrives: self.redrives,
            ending: self.exit.ending.is_some(),
            called: self.call.as_ref().map(|call| call.since),
        }
    }

    /// Returns whether others may judge the lease dead: it expired at least [`DEAD_AFTER`] ago, which
    /// allows for clock skew.
    #[must_use]
    pub fn is_dead(&self, now: Timestamp) -> bool {
        now >= self.dead_at()
    }

    /// Returns when others may judge the lease dead: [`DEAD_AFTER`] after its end.
    #[must_use]
    pub fn dead_at(&self) -> Timestamp {
        self.expires_at.plus(DEAD_AFTER)
    }

    /// Returns whether the holder itself may still rely on the lease.
    #[must_use]
    pub fn is_live(&self, now: Timestamp) -> bool {
        now < self.expires_at
    }

    /// Returns whether the sweep checks the holder at `now`. That is so if
    ///
    /// - its hand-over is not confirmed,
    /// - another run replaces it,
    /// - it is ending,
    /// - its lease is dead, or
    /// - it exceeded a limit of its run by a minute or more.
    #[must_use]
    pub fn is_checked_by_sweep(&self, now: Timestamp) -> bool {
        self.is_due_without_limits(now) || self.limit_to_enforce(now).is_some()
    }

    /// Returns whether the sweep checks the holder at `now` for another reason than a limit of its run. The
    /// limits do not make a frozen lock due.
    #[must_use]
    pub fn is_due_without_limits(&self, now: Timestamp) -> bool {
        let asked = self.call.is_some() || self.exit.replaced_by.is_some();
        asked || self.exit.ending.is_some() || self.is_dead(now)
    }

    /// Returns when the lease was granted or last renewed.
    #[must_use]
    pub fn renewed_at(&self) -> Timestamp {
        Timestamp::from_millis(
            self.expires_at
                .millis()
                .saturating_sub(self.pace.length.millis()),
        )
    }

    /// Returns the last sign of life of the holder: its registration in the queue until it confirms its
    /// hand-over, and its last heartbeat afterwards.
    #[must_use]
    pub fn last_sign_of_life(&self) -> Timestamp {
        let call = self.call.as_ref();
        call.map_or_else(|| self.renewed_at(), |call| call.since)
    }

    /// Returns whether a heartbeat is overdue, so that a check of the holder is worthwhile.
    ///
    /// A heartbeat is overdue 5 s after its time. The wait of the state takes a second more than its
    /// length, and the call of the function takes some more. Where heartbeats are more than 60 s apart,
    /// a holder is checked after 65 s of silence.
    #[must_use]
    pub fn is_overdue(&self, now: Timestamp) -> bool {
        let since_beat = self
            .pace
            .length
            .millis()
            .saturating_sub(self.expires_at.millis_since(now));
        // The heartbeats of a long run are up to 15 minutes apart, and its lease is three times that.
        // Without this bound the next run would wait that long for a dead holder.
        let heartbeat = self.pace.heartbeat.min(OVERDUE_MAX);
        now >= self.expires_at || since_beat > heartbeat.plus(OVERDUE_SLACK).millis()
    }

    /// Returns when a holder that was marked as a suspect at `suspect` counts as stale: after the time
    /// to one heartbeat, and at least 10 s. A heartbeat in this time clears the mark.
    #[must_use]
    pub fn suspicion_ends(&self, suspect: Timestamp) -> Timestamp {
        suspect.plus(self.pace.heartbeat.max(SUSPICION_MIN))
    }

    /// Returns why the holder is stale, or `None`. A silent holder is stale only after
    /// [`Self::suspicion_ends`], because after an outage of the table all leases have expired although
    /// all holders are alive.
    #[must_use]
    pub fn staleness(&self, now: Timestamp) -> Option<Staleness> {
        let silent = self.is_silent(now);
        let expired = silent.then_some(Staleness::Expired(self.expires_at));
        self.is_spent(now).or(expired)
    }

    /// Returns whether the lease is dead and no heartbeat has cleared the mark as a suspect before
    /// [`Self::suspicion_ends`].
    #[must_use]
    pub fn is_silent(&self, now: Timestamp) -> bool {
        let marked = self.exit.suspect;
        self.is_dead(now) && marked.is_some_and(|at| now >= self.suspicion_ends(at))
    }

    /// Returns when the lock is frozen if the evidence about this holder cannot be read: an hour after
    /// the end of the lease.
    #[must_use]
    pub fn freezes_without_evidence_at(&self) -> Timestamp {
        self.expires_at.plus(FREEZE_WITHOUT_EVIDENCE_AFTER)
    }

    /// Returns when recovery has to check this holder of a lock in `mode`, if no heartbeat comes before:
    ///
    /// - of a holder that is ending: since the ending began,
    /// - of a suspect: when [`Self::suspicion_ends`], at [`Self::enforces_limits_at`], or at
    ///   [`Self::freezes_without_evidence_at`], whichever is first,
    /// - of any other holder: at the end of its lease, at [`Self::enforces_limits_at`], or 60 s after a
    ///   hand-over that is not confirmed, whichever is first.
    ///
    /// In a frozen lock the limits do not count. An unconfirmed hand-over is checked because its waiter
    /// may be dead, or the wake-up may be lost.
    #[must_use]
    pub fn next_check(&self, mode: &Mode) -> Timestamp {
        let ending = self.exit.ending.as_ref().map(|ending| ending.since);
        let suspicion = self.exit.suspect.map(|at| {
            let ends = self.suspicion_ends(at);
            ends.min(self.freezes_without_evidence_at())
        });
        let frozen = matches!(mode, Mode::Frozen { .. });
        let limit = self.enforces_limits_at().filter(|_| !frozen);
        let granted = self.token.granted_at();
        let confirmed = self.call.as_ref().map(|_| granted.plus(CONFIRMED_WITHIN));
        let first = limit.into_iter().chain(confirmed);
        let first = first.fold(suspicion.unwrap_or(self.expires_at), Timestamp::min);
        ending.unwrap_or(first)
    }

    /// Returns the lease with the pace `pace`, if there is one. The end of the lease changes with the
    /// next renewal.
    #[must_use]
    pub fn paced(self, pace: Option<Pace>) -> Self {
        Self {
            pace: pace.unwrap_or(self.pace),
            ..self
        }
    }

    /// Returns the lease after a renewal at `now` by its holder. A `beat` replaces the task token of the
    /// heartbeat state. A `progress` that differs from the last one restarts the time without progress.
    #[must_use]
    pub fn renewed(&self, now: Timestamp, beat: Option<TaskToken>, progress: Option<&str>) -> Self {
        let mut lease = self.clone();
        lease.expires_at = now.plus(self.pace.length);
        lease.beat = beat.or(lease.beat);
        lease.call = None;
        lease.exit.suspect = None;
        if let Some(progress) = progress
            && lease.progress.as_deref() != Some(progress)
        {
            lease.progress = Some(progress.to_owned());
            lease.stalls_at = self.no_progress.map(|most| now.plus(most));
        }
        lease
    }

    /// Returns the lease without its task tokens.
    #[must_use]
    pub fn without_secrets(&self) -> Self {
        Self {
            beat: None,
            call: None,
            ..self.clone()
        }
    }

    /// Returns the lease with its hand-over confirmed.
    #[must_use]
    pub fn confirmed(&self) -> Self {
        Self {
            call: None,
            ..self.clone()
        }
    }

    /// Returns the lease after a renewal at `now` that also restarts the time limits of the run. `why`
    /// decides what else the lease keeps:
    ///
    /// ```text
    ///              hand-over   replacement   ending
    ///  excused     keeps       keeps         keeps
    ///  redriven    keeps       keeps         ends, and an eviction with it
    ///  reinstated  ends        ends          ends
    /// ```
    #[must_use]
    pub fn restarted(&self, why: Restart, now: Timestamp) -> Self {
        let granted = self.token.granted_at();
        let whole = |end: Timestamp| {
            let most = self.max_run.map(Seconds::millis);
            let most = most.unwrap_or_else(|| end.millis_since(granted));
            Timestamp::from_millis(now.millis() + most)
        };
        let renewed = self.renewed(now, None, None);
        let Exit {
            replaced_by,
            ending,
            ..
        } = renewed.exit.clone();
        let (call, replaced_by, ending, redrives) = match why {
            Restart::Excused => (self.call.clone(), replaced_by, ending, self.redrives),
            Restart::Redriven(count) => (self.call.clone(), replaced_by, None, count),
            Restart::Reinstated(count) => (None, None, None, count),
        };
        Self {
            // The clock that set the old end may be ahead of this clock.
            expires_at: renewed.expires_at.max(self.expires_at),
            run_until: self.run_until.map(whole),
            stalls_at: self.no_progress.map(|most| now.plus(most)),
            call,
            exit: Exit {
                suspect: None,
                replaced_by,
                ending,
            },
            redrives,
            ..renewed
        }
    }
}
