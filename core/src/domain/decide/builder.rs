//! Builds a transition: ends leases, hands permits over, writes the history.
//!
//! A transition is one write, so all that must be true together is built here together: that a
//! lease ends, that the history has its end, that the first waiter has the permit, and that its
//! side item is gone. A crash leaves all of it or none. What other services have to be called for
//! is an [`Effect`], which may be lost: the sweep finds a hand-over whose wake-up was not sent.
//!
//! One waiter is let in by a write, because only the side item of one is read. The rest is left to
//! [`Effect::HandOver`], which ends in another write.

use crate::domain::history::{end_run, start_run};
use crate::domain::{
    Clause, Dismissal, Effect, Expectation, FencingToken, Guard, HolderId, Lease, LockRecord, Mode,
    Outcome, Permits, Retention, Run, RunEnd, RunGuard, RunId, RunOutcome, RunWrite, Snapshot,
    StalePolicy, Terms, Timestamp, Transition, Waiter, WaiterDrop, WaiterId,
};

/// A transition under construction.
pub(super) struct TransitionBuilder<'a> {
    before: &'a LockRecord,
    pub(super) next: LockRecord,
    pub(super) runs: Vec<(RunGuard, RunWrite)>,
    pub(super) effects: Vec<Effect>,
    /// The side item that the write deletes.
    waiter: Option<WaiterDrop>,
    /// What the decision relies on beside the mode, the capacity and the queue: see `narrow_guard`.
    narrow: Vec<Clause>,
    /// Whether a waiter was let in. Only such a write has a narrower guard.
    admitted: bool,
}

impl<'a> TransitionBuilder<'a> {
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

    /// Ends the lease of `holder`, and writes `end` into the history.
    ///
    /// A record that was put back from a backup may have the lease of a run that has ended since. What the
    /// history then has of that run, or of the next one with its key, stays.
    pub(super) fn close(
        &mut self,
        seen: &Snapshot,
        holder: &HolderId,
        lease: &Lease,
        end: RunEnd,
        retention: Retention,
    ) {
        // The lease is compared as a whole: the entry in the history is built from it.
        self.next.holders.remove(holder);
        self.narrow
            .push(Clause::LeaseSame(holder.clone(), Box::new(lease.clone())));
        // A later heartbeat reads from it whether its grant may be reinstated, or its run continues
        // without.
        // Only an execution of Step Functions has a heartbeat state, and only such a run can be
        // redriven. After a success there is nothing to go on with, and the state has to end.
        let succeeded = end.outcome == RunOutcome::Succeeded;
        let redrivable = lease.beat.is_some() && !succeeded;
        let runs_on = lease.stale == StalePolicy::Yield && end.outcome == RunOutcome::Lost;
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

    /// Grants a permit to `terms` under `lease`.
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

    /// Opens the marker of a run key. One transaction may write an item once, so the marker of a
    /// run that ends in this very write is changed in place.
    fn mark(&mut self, seen: &Snapshot, marker: RunWrite, retention: Retention, now: Timestamp) {
        let ending = self
            .runs
            .iter_mut()
            .find(|(_, write)| write.id == marker.id);
        if let Some((_, ending)) = ending {
            // The run that ends here has the same key and did not succeed: one write makes the
            // marker the new run's.
            ending.run = marker.run;
            return;
        }
        // An open marker that does not keep its key taken is left over from an earlier run.
        let left = seen.runs.get(&marker.id);
        let left = left.filter(|run| run.end.is_none() && !run.runs_on(retention, now));
        // `NotTaken` refuses every open marker, and nothing ends this one any more. It is replaced
        // only as it was read, under its own token.
        let guard = left.map_or(RunGuard::NotTaken(now), |run| {
            RunGuard::RunningUnder(run.token)
        });
        self.runs.push((guard, marker));
    }

    /// Takes a waiter out of the queue. `seen` is its side item, if the write must fail when that
    /// has changed.
    pub(super) fn leave_queue(&mut self, id: &WaiterId, seen: Option<&Waiter>) {
        self.next.queue.remove(id);
        self.spare_replaced_by(id);
        self.waiter = Some(WaiterDrop {
            id: id.clone(),
            task_token: seen.map(|waiter| waiter.task_token.clone()),
        });
        self.next.due_if_idle();
    }

    /// Withdraws the replacement of a holder by a run that waits no longer, unless the stop is
    /// committed.
    ///
    /// A holder is stopped only for a run that still waits. A stop that is committed goes on: the
    /// holder's heartbeats are refused already.
    fn spare_replaced_by(&mut self, id: &WaiterId) {
        for (holder, lease) in &mut self.next.holders {
            let by_this = lease.exit.replaced_by.as_ref().map(WaiterId::of).as_ref() == Some(id);
            if by_this && !lease.exit.is_committed() {
                let before = Box::new(lease.clone());
                self.narrow.push(Clause::LeaseSame(holder.clone(), before));
                lease.exit.replaced_by = None;
            }
        }
    }

    /// Deletes the side item of a caller that was answered without a place in the queue.
    pub(super) fn drop_side_item(&mut self, id: &WaiterId) {
        self.waiter = Some(WaiterDrop {
            id: id.clone(),
            task_token: None,
        });
    }

    /// Hands a free permit over to the first waiter, or sends that waiter away with the reason. One
    /// waiter at a time: the rest is left to [`Effect::HandOver`].
    ///
    /// Changes nothing where no permit may be granted, and where the first waiter has to wait for
    /// something that only a later write shows. Those behind it wait too: the order of the tickets
    /// is kept.
    pub(super) fn let_in(&mut self, seen: &Snapshot, now: Timestamp) {
        let first = self.next.first_waiter();
        let Some((id, ticket)) = first.map(|(id, ticket)| (id.clone(), ticket)) else {
            return;
        };
        if !self.next.can_grant(now) {
            return;
        }
        // The first waiter may be another one than was read, because the write itself has changed
        // the queue. Its hand-over is a command of its own, which reads it.
        let item = match &seen.waiter {
            Some((known, item)) if *known == id => item.as_ref(),
            _ => {
                self.effects.push(Effect::HandOver);
                return;
            }
        };
        match item {
            // It expects another capacity than the holders have, so it waits until the lock has none. Its turn shows
            // whether it lives; until then, only its silence does.
            Some(waiter) if self.expects_another(waiter) && !waiter.is_silent(now) => return,
            Some(waiter) if self.expects_another(waiter) => {
                let dismissal = Effect::Dismiss(waiter.clone(), Dismissal::GaveUp);
                self.effects.push(dismissal);
                self.leave_queue(&id, item);
            }
            // Whether its run key is taken, and whether its own name is free, is known only when
            // the run before it has ended.
            Some(waiter) if self.next.awaited_by(&waiter.terms).is_some() => return,
            // Its own earlier grant ends with this write, which cannot end and begin one under the
            // same name.
            Some(waiter) if self.before.holders.contains_key(&waiter.terms.holder) => {
                self.effects.push(Effect::HandOver);
                return;
            }
            Some(waiter) => match self.why_not(seen, waiter, now) {
                Some(why) => {
                    self.effects.push(Effect::Dismiss(waiter.clone(), why));
                    self.leave_queue(&id, item);
                }
                None => {
                    let token = FencingToken::next(self.next.last_token, now);
                    let lease = waiter.lease(token, now);
                    self.narrow.extend([
                        // It is still first: tickets only grow at the end, and `FrontIs` rules out
                        // a run that joined the front.
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
            // Without its side item, the holder and the terms of the waiter are unknown.
            None => self.leave_queue(&id, None),
        }
        if self.next.can_grant(now) && !self.next.queue.is_empty() {
            self.effects.push(Effect::HandOver);
        }
    }

    /// Returns whether the waiter counts on another capacity than the lock has while runs hold it.
    fn expects_another(&self, waiter: &Waiter) -> bool {
        waiter.terms.permits != self.next.permits && !self.next.holders.is_empty()
    }

    /// Returns why the first waiter is not granted the permit; `None` if it is. Its run key was free
    /// when it joined, or under way, and another run may have succeeded with it since.
    fn why_not(&self, seen: &Snapshot, waiter: &Waiter, now: Timestamp) -> Option<Dismissal> {
        if waiter.has_given_up(now) {
            return Some(Dismissal::GaveUp);
        }
        let key = waiter.terms.run_key.as_ref()?;
        if let Some((holder, lease)) = self.next.holder_of_run(key) {
            let run = Run::started(holder.clone(), lease.token, Some(key.clone()));
            return Some(Dismissal::Duplicate(Box::new(run)));
        }
        let id = RunId::Key(key.clone());
        // The marker as this write leaves it counts before the one that was read: the run that ends
        // here may be the one with the key.
        let ending = self.runs.iter().find(|(_, write)| write.id == id);
        let ending = ending.map(|(_, write)| &write.run);
        let done = ending.or(seen.runs.get(&id));
        let retention = waiter.terms.retention;
        let done = done.filter(|run| run.is_success(now) || run.runs_on(retention, now))?;
        Some(Dismissal::Duplicate(Box::new(done.clone())))
    }

    /// Returns the transition. A waiter that is left beside a free permit makes the lock due, so that
    /// the sweep makes up for a hand-over that is lost.
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

    /// As [`Self::finish`], without a write where nothing has changed. A hand-over that has to be
    /// executed again is an effect in any case.
    pub(super) fn finish_if_changed(self, outcome: Outcome, now: Timestamp) -> Transition {
        if self.next == *self.before {
            return Transition {
                effects: self.effects,
                ..Transition::unchanged(Outcome::Unchanged)
            };
        }
        self.finish(outcome, now)
    }

    /// Returns the guard of a permit that passes from one holder to the first waiter: it allows arrivals
    /// at the end of the queue and heartbeats of other holders to be written in between.
    ///
    /// `None` where the decision is right only for the version that was seen. A release under such
    /// a guard gets through a storm of arrivals, each of which writes the record. A property test
    /// holds the guard to it: where it still holds on a newer record, `decide` would do the same
    /// there.
    fn narrow_guard(&self, now: Timestamp) -> Option<Guard> {
        // An update assigns `due` as a value, which must not undo what was written in between.
        let same_due = self.next.due == self.before.due;
        let one_for_one = self.admitted && self.next.holders.len() == self.before.holders.len();
        // With a permit left, an acquire written in between would be granted as well. Whether a pause is
        // over is no clause.
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
            // A release written in between leaves a permit for one more waiter, without a hand-over.
            clauses.push(Clause::AtCapacity);
        }
        clauses.extend(self.narrow.iter().cloned());
        Some(Guard(clauses))
    }
}
