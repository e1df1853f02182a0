//! Builds transitions: ends leases, grants permits and hands them over, and writes the history.
//!
//! A transition is one write. It contains everything that must change together: the end of a lease, the
//! entry in the history, the grant to the first waiter, and the deletion of that waiter's side item. A
//! crash leaves all of these changes or none. Calls to other services are an [`Effect`]. An effect may
//! be lost; for example, the sweep finds a hand-over whose wake-up was not sent.
//!
//! A write grants a permit to at most one waiter, because only one side item is read.
//! [`Effect::HandOver`] executes another write for the next waiter.

use crate::domain::history::{end_run, start_run};
use crate::domain::{
    Clause, Dismissal, Effect, Expectation, FencingToken, Guard, HolderId, Lease, LockRecord, Mode,
    Outcome, Permits, Retention, Run, RunEnd, RunGuard, RunId, RunOutcome, RunWrite, Snapshot,
    Terms, Timestamp, Transition, Waiter, WaiterDrop, WaiterId,
};

/// A transition under construction.
pub(super) struct TransitionBuilder<'a> {
    before: &'a LockRecord,
    pub(super) next: LockRecord,
    pub(super) runs: Vec<(RunGuard, RunWrite)>,
    pub(super) effects: Vec<Effect>,
    /// The side item that the write deletes.
    waiter: Option<WaiterDrop>,
    /// The clauses of `narrow_guard` that depend on the leases and the waiter of this decision.
    narrow: Vec<Clause>,
    /// Whether a waiter was granted a permit. Only such a write may have a narrow guard.
    admitted: bool,
}

impl<'a> TransitionBuilder<'a> {
    /// Starts a transition from the record `before`.
    pub(super) fn of(before: &'a LockRecord) -> Self {
        Self {
            before,
            next: before.clone(),
            runs: Vec::new(),
            effects: Vec::new(),
            waiter: None,
            narrow: Vec::new(),
            admitted: false,
        }
    }

    /// Removes the lease of `holder`, and writes `end` into the history. With `runs_on` the run continues
    /// without its permit, and keeps its run key.
    ///
    /// A record that was restored from a backup may contain the lease of a run that has ended since. An
    /// entry or marker that already has that end, or belongs to the next run with the run key, stays as
    /// it is.
    pub(super) fn close(
        &mut self,
        seen: &Snapshot,
        holder: &HolderId,
        lease: &Lease,
        end: RunEnd,
        runs_on: bool,
        retention: Retention,
    ) {
        // The guard compares the whole lease, because the entry in the history is built from it.
        self.next.holders.remove(holder);
        self.narrow
            .push(Clause::LeaseSame(holder.clone(), Box::new(lease.clone())));
        // From the lease in the entry, a later heartbeat decides whether its grant is reinstated, or
        // whether its run continues without a permit. Only an execution has a heartbeat state, and only
        // an execution can be redriven. After a success nothing is reinstated, but the heartbeat state
        // still has to end, so the entry contains its task token.
        let succeeded = end.outcome == RunOutcome::Succeeded;
        let redrivable = lease.beat.is_some() && !succeeded;
        self.next.note_end(&end);
        let run = Run {
            lease: (redrivable || runs_on).then(|| Box::new(lease.without_secrets())),
            beat: lease.beat.clone().filter(|_| succeeded),
            end: Some(end),
            ..Run::started(holder.clone(), lease.token, lease.run_key.clone())
        };
        let writes = end_run(&run, runs_on, retention).into_iter();
        self.runs.extend(writes.filter(|(guard, write)| {
            let known = seen.runs.get(&write.id);
            guard.holds(known)
        }));
        self.next.due_if_idle();
    }

    /// Grants a permit to the holder of `terms` with `lease`.
    pub(super) fn grant(&mut self, seen: &Snapshot, terms: &Terms, lease: Lease, now: Timestamp) {
        let next = &mut self.next;
        if let Some(every) = terms.expect_every
            && next.expectation.is_none_or(|known| known.every != every)
        {
            next.expectation = Some(Expectation::starting(every, now));
            next.due_for_success();
        }
        next.permits = terms.permits;
        next.last_token = lease.token;
        if let Some(gap) = terms.min_interval {
            next.gate.not_before = now.plus(gap);
        }
        next.due_by(lease.next_check(&next.gate.mode));
        let marker = start_run(terms, lease.token);
        next.holders.insert(terms.holder.clone(), lease);
        if let Some(marker) = marker {
            self.mark(seen, marker, terms.retention, now);
        }
    }

    /// Opens the marker of a run key. A transaction may write an item only once, so if this write also
    /// ends a run with the same run key, the write of that marker is replaced.
    fn mark(&mut self, seen: &Snapshot, marker: RunWrite, retention: Retention, now: Timestamp) {
        let ending = self
            .runs
            .iter_mut()
            .find(|(_, write)| write.id == marker.id);
        if let Some((_, ending)) = ending {
            // The run that ends has the same run key and did not succeed. The marker becomes that of the
            // new run.
            ending.run = marker.run;
            return;
        }
        // An open marker that no longer keeps its run key taken was left by an earlier run.
        let left = seen.runs.get(&marker.id);
        let left = left.filter(|run| run.end.is_none() && !run.runs_on(retention, now));
        // `NotTaken` fails on every open marker, and no command will close this one. The guard requires
        // what was read, so only this marker is replaced. The record may be read after the marker: a run that
        // has lost its permit in between is not in the record, and its marker has got its lease.
        let guard = left.map_or(RunGuard::NotTaken(now), |run| match run.lease {
            Some(_) => RunGuard::RunningUnder(run.token),
            None => RunGuard::LeftUnder(run.token),
        });
        self.runs.push((guard, marker));
    }

    /// Takes a waiter out of the queue, and deletes its side item. With `seen`, the write fails if the
    /// side item has changed since it was read as `seen`.
    pub(super) fn leave_queue(&mut self, id: &WaiterId, seen: Option<&Waiter>) {
        self.next.queue.remove(id);
        self.withdraw_replacement_by(id);
        self.waiter = Some(WaiterDrop {
            id: id.clone(),
            task_token: seen.map(|waiter| waiter.task_token.clone()),
        });
        self.next.due_if_idle();
    }

    /// Removes the mark `replaced_by` from holders that were to be replaced by a run that no longer
    /// waits, unless their stop is committed.
    ///
    /// A holder is stopped only for a run that still waits. A committed stop continues, because the
    /// holder's heartbeats are already refused.
    fn withdraw_replacement_by(&mut self, id: &WaiterId) {
        for (holder, lease) in &mut self.next.holders {
            let by_this = lease.exit.replaced_by.as_ref().map(WaiterId::of).as_ref() == Some(id);
            if by_this && !lease.exit.is_committed() {
                let before = Box::new(lease.clone());
                self.narrow.push(Clause::LeaseSame(holder.clone(), before));
                lease.exit.replaced_by = None;
            }
        }
    }

    /// Deletes the side item of a caller that is answered without a place in the queue.
    pub(super) fn drop_side_item(&mut self, id: &WaiterId) {
        self.waiter = Some(WaiterDrop {
            id: id.clone(),
            task_token: None,
        });
    }

    /// Hands a free permit over to the first waiter, or dismisses that waiter with the reason.
    /// [`Effect::HandOver`] does the same for the next waiter.
    ///
    /// Changes nothing if no permit may be granted, or if the first waiter has to wait for the end of a
    /// holder. The waiters behind it wait too, because permits are granted in the order of the tickets.
    pub(super) fn let_in(&mut self, seen: &Snapshot, now: Timestamp) {
        let first = self.next.first_waiter();
        let Some((id, ticket)) = first.map(|(id, ticket)| (id.clone(), ticket)) else {
            return;
        };
        if !self.next.can_grant(now) {
            return;
        }
        // If this write has changed the queue, the first waiter is not the one whose side item was read.
        // Another command reads that side item and hands the permit over.
        let item = match &seen.waiter {
            Some((known, item)) if *known == id => item.as_ref(),
            _ => {
                self.effects.push(Effect::HandOver);
                return;
            }
        };
        match item {
            // The waiter expects another capacity than the lock has, so it waits until the lock has no
            // holder. If it has been silent for too long, it is dismissed.
            Some(waiter) if self.expects_another(waiter) && !waiter.is_silent(now) => return,
            Some(waiter) if self.expects_another(waiter) => {
                let dismissal = Effect::Dismiss(waiter.clone(), Dismissal::GaveUp);
                self.effects.push(dismissal);
                self.leave_queue(&id, item);
            }
            // The run before has to end first: then it is known whether the waiter's run key is taken,
            // and the waiter's own name is free.
            Some(waiter) if self.next.holder_to_wait_for(&waiter.terms).is_some() => return,
            // This write ends an earlier grant of the waiter itself. It cannot also make a new grant for
            // the same holder.
            Some(waiter) if self.before.holders.contains_key(&waiter.terms.holder) => {
                self.effects.push(Effect::HandOver);
                return;
            }
            Some(waiter) => match self.dismissal_of(seen, waiter, now) {
                Some(why) => {
                    self.effects.push(Effect::Dismiss(waiter.clone(), why));
                    self.leave_queue(&id, item);
                }
                None => {
                    let token = FencingToken::next(self.next.last_token, now);
                    let lease = waiter.lease(token, now);
                    self.narrow.extend([
                        // With this ticket the waiter is still the first: other waiters join the end,
                        // and `FrontIs` fails if a run joined the front.
                        Clause::TicketIs(id.clone(), ticket),
                        Clause::NotHeldBy(waiter.terms.holder.clone()),
                        Clause::TokenNewer(token),
                    ]);
                    self.effects
                        .push(Effect::Wake(waiter.terms.holder.clone(), lease.clone()));
                    self.grant(seen, &waiter.terms, lease, now);
                    self.leave_queue(&id, item);
                    self.admitted = true;
                }
            },
            // Without the side item, the name and the terms of the waiter are unknown.
            None => self.leave_queue(&id, None),
        }
        if self.next.can_grant(now) && !self.next.queue.is_empty() {
            self.effects.push(Effect::HandOver);
        }
    }

    /// Returns whether the waiter expects another capacity than the lock has, and the lock has a holder.
    fn expects_another(&self, waiter: &Waiter) -> bool {
        waiter.terms.permits != self.next.permits && !self.next.holders.is_empty()
    }

    /// Returns why the first waiter is dismissed; `None` if it is granted the permit. Another run may
    /// have taken the waiter's run key, or succeeded with it, since the waiter joined.
    fn dismissal_of(&self, seen: &Snapshot, waiter: &Waiter, now: Timestamp) -> Option<Dismissal> {
        if waiter.has_given_up(now) {
            return Some(Dismissal::GaveUp);
        }
        let key = waiter.terms.run_key.as_ref()?;
        if let Some((holder, lease)) = self.next.holder_of_run(key) {
            let run = Run::started(holder.clone(), lease.token, Some(key.clone()));
            return Some(Dismissal::Duplicate(Box::new(run)));
        }
        let id = RunId::Key(key.clone());
        // A marker in this write takes precedence over the marker that was read, because the run that
        // ends in this write may have the waiter's run key.
        let ending = self.runs.iter().find(|(_, write)| write.id == id);
        let ending = ending.map(|(_, write)| &write.run);
        let done = ending.or(seen.runs.get(&id));
        let retention = waiter.terms.retention;
        let done = done.filter(|run| run.is_success(now) || run.runs_on(retention, now))?;
        Some(Dismissal::Duplicate(Box::new(done.clone())))
    }

    /// Returns the transition. If a permit is free and a run waits, the lock becomes due, so that the
    /// sweep hands the permit over if the effect is lost.
    pub(super) fn finish(mut self, outcome: Outcome, now: Timestamp) -> Transition {
        self.next.due_for_waiters(now);
        let narrow_guard = self.narrow_guard(now);
        Transition {
            runs: self.runs,
            waiter: self.waiter,
            effects: self.effects,
            narrow_guard,
            ..Transition::to(self.next, outcome)
        }
    }

    /// Returns the transition as [`Self::finish`] does, or one that writes nothing if the record has not
    /// changed. Both have the effects.
    pub(super) fn finish_if_changed(self, outcome: Outcome, now: Timestamp) -> Transition {
        if self.next == *self.before {
            return Transition {
                effects: self.effects,
                ..Transition::unchanged(Outcome::Unchanged)
            };
        }
        self.finish(outcome, now)
    }

    /// Returns a guard for the write that hands a permit from one holder to the first waiter. It allows
    /// new waiters at the end of the queue and heartbeats of other holders to be written between the
    /// read and this write.
    ///
    /// Returns `None` if the decision is valid only for the version that was seen. With this guard a
    /// release succeeds even while many runs join the queue, each with a write of the record. A property
    /// test checks that if the guard holds on a newer record, `decide` makes the same decision there.
    fn narrow_guard(&self, now: Timestamp) -> Option<Guard> {
        // The update assigns `due` as a value, and must not overwrite a value that was written in
        // between.
        let same_due = self.next.due == self.before.due;
        let one_for_one = self.admitted && self.next.holders.len() == self.before.holders.len();
        // If a permit were left, an acquire could be granted in between. No clause expresses that a
        // pause has expired, so the mode must be open.
        if !same_due
            || !one_for_one
            || self.next.has_room()
            || self.next.permits != self.before.permits
            || self.before.gate.mode != Mode::Open
        {
            return None;
        }
        let mut clauses = vec![
            Clause::Readable,
            Clause::Open,
            Clause::PermitsAre(self.before.permits),
            Clause::FrontIs(self.before.front_ticket),
            Clause::SpacingPassed(now),
            Clause::DueIs(self.before.due),
        ];
        if self.before.permits != Permits::ONE {
            // If a release were written in between, a permit would be free for one more waiter, and no
            // hand-over would follow.
            clauses.push(Clause::AtCapacity);
        }
        clauses.extend(self.narrow.iter().cloned());
        Some(Guard(clauses))
    }
}
