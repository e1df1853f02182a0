//! The decision on a release.
//!
//! The Retry of the workflow, or `lockstep run`, repeats a release until it gets an answer. So the
//! repetition of a release whose answer was lost must return the same answer. It must not hand the
//! permit over again or end the lease of the next holder. The fencing token identifies the grant that is
//! released. One answer differs: the first release of a run that lost its permit under `yield` is answered
//! with [`Outcome::Lost`], and its repetition with [`Outcome::Released`], because the history then has the
//! outcome that the run reported.

use super::builder::TransitionBuilder;
use crate::domain::history::ended;
use crate::domain::{
    Effect, LockRecord, Outcome, Release, Run, RunGuard, RunId, RunOutcome, RunWrite, Snapshot,
    StalePolicy, Timestamp, Transition,
};

/// Frees the permit, hands it over, and records how the run ended, all in one write. If a success were
/// recorded after the permit is free, the next run could run with the same run key.
///
/// If the record has no such lease, the entry in the history shows whether an earlier call made this
/// release, or the run was recovered or evicted.
pub(super) fn decide(seen: &Snapshot, release: &Release, now: Timestamp) -> Transition {
    let lease = seen
        .record
        .as_ref()
        .and_then(|r| r.lease(&release.holder, release.token));
    let since = release.token.granted_at();
    let (Some(record), Some(lease)) = (&seen.record, lease) else {
        let own = seen.runs.get(&RunId::Token(release.token));
        let own = own.filter(|run| run.holder == release.holder);
        if let Some(late) = own.and_then(|run| late_end(seen, release, run, now)) {
            return late;
        }
        // A run whose recovery found that its work succeeded counts as released. A run that was
        // recovered otherwise, lost or evicted had lost its lease before this call.
        let own = own.filter(|run| run.was_released());
        let holders = seen.record.as_ref().map(LockRecord::oldest_first);
        let holders = holders.unwrap_or_default();
        return match own.and_then(|run| Some((run, run.end.as_ref()?))) {
            Some((run, end)) => Transition {
                effects: effects_of_repeated_release(run, seen.record.as_ref(), now),
                ..Transition::unchanged(Outcome::Released {
                    since,
                    at: end.at,
                    already: true,
                    evicted: None,
                })
            },
            None => Transition::unchanged(Outcome::Lost { holders }),
        };
    };
    let mut builder = TransitionBuilder::of(record);
    let evicted = lease.exit.evicted().map(str::to_owned);
    let evidence = evicted.as_ref().map(|why| format!("evicted: {why}"));
    let end = ended(release.outcome, evidence, release.retention, now);
    builder.close(seen, &release.holder, lease, end, false, release.retention);
    // Without this effect the heartbeat state would wait for its next time-out, and the workflow with
    // it.
    let beat = lease.beat.clone().map(Effect::EndHeartbeat);
    builder.effects.extend(beat);
    builder.let_in(seen, now);
    let outcome = Outcome::Released {
        since,
        at: now,
        already: false,
        evicted,
    };
    builder.finish(outcome, now)
}

/// Returns the write for the end of a run that reports it after its grant has ended; `None` if the
/// report changes nothing.
///
/// - A success takes the run key for the retention, if no other run has taken it since. If no other run
///   was granted a permit since, the work was exclusive until its end, so the answer is `Released`.
/// - A run that lost its permit under `yield` has kept its run key. If it reports a failure, the key
///   becomes free.
fn late_end(seen: &Snapshot, release: &Release, run: &Run, now: Timestamp) -> Option<Transition> {
    let before = run.end.as_ref()?;
    let lease = run.lease.as_ref();
    let runs_on = before.outcome == RunOutcome::Lost
        && lease.is_some_and(|lease| lease.stale == StalePolicy::Yield);
    let succeeded = release.outcome == RunOutcome::Succeeded;
    if before.outcome == RunOutcome::Succeeded || !(succeeded || runs_on) {
        return None;
    }
    // If another run has taken the run key, nothing is written: the history keeps one success per key.
    let key = run.run_key.clone().map(RunId::Key);
    let marker = key.and_then(|key| seen.runs.get(&key));
    // A marker with another token belongs to a later run with the same run key.
    if marker.is_some_and(|marker| marker.token != release.token) {
        return None;
    }
    // The new evidence contains the old one, because the reason of an eviction is nowhere else.
    let why = before.evidence.as_deref().unwrap_or("no evidence");
    let late = format!("reported after it was {}: {why}", before.outcome.as_str());
    let end = ended(release.outcome, Some(late), release.retention, now);
    let run = Run {
        end: Some(end.clone()),
        lease: None,
        ..run.clone()
    };
    let id = RunId::Token(release.token);
    let entry = RunWrite {
        id,
        run: run.clone(),
    };
    let mut runs = vec![(RunGuard::EndedAt(release.token, before.at), entry)];
    runs.extend(late_marker(seen, release, run, now, runs_on));
    let record = seen.record.as_ref();
    let is_newest = |record: &LockRecord| record.last_token == release.token && lease.is_some();
    let released = record.is_some_and(is_newest) && !runs_on;
    let outcome = match released {
        true => Outcome::Released {
            since: release.token.granted_at(),
            at: now,
            already: false,
            evicted: None,
        },
        false => Outcome::Lost {
            holders: record.map(LockRecord::oldest_first).unwrap_or_default(),
        },
    };
    // The new version of the record fails the write of a heartbeat that would reinstate the grant.
    let next = record
        .filter(|record| succeeded && (released || record.expectation.is_some()))
        .map(|record| record.after(&end));
    Some(Transition {
        runs,
        next,
        ..Transition::unchanged(outcome)
    })
}

/// Returns the write of the marker for a late end; `None` if the run has no run key.
fn late_marker(
    seen: &Snapshot,
    release: &Release,
    run: Run,
    now: Timestamp,
    runs_on: bool,
) -> Option<(RunGuard, RunWrite)> {
    let id = RunId::Key(run.run_key.clone()?);
    let marker = seen.runs.get(&id);
    let open = marker.map_or(runs_on, |marker| marker.end.is_none());
    let guard = match (open, marker) {
        (true, _) => RunGuard::OpenFor(release.token),
        (false, Some(_)) => RunGuard::EndedUnder(release.token),
        // Its TTL has removed the marker before the entry in the history.
        (false, None) => RunGuard::NotTaken(now),
    };
    let run = Run {
        task: None,
        end: run.end.map(|end| end.of_marker(release.retention)),
        ..run
    };
    Some((guard, RunWrite { id, run }))
}

/// Returns the effects of a repeated release of `run`. The first release may have failed after its write
/// and before it
///
/// - ended the heartbeat state,
/// - woke the waiter that was granted the permit, or
/// - handed another free permit over.
///
/// Each of these effects may be executed twice.
fn effects_of_repeated_release(
    run: &Run,
    record: Option<&LockRecord>,
    now: Timestamp,
) -> Vec<Effect> {
    let mut effects: Vec<_> = run
        .beat
        .clone()
        .map(Effect::EndHeartbeat)
        .into_iter()
        .collect();
    let Some(record) = record else {
        return effects;
    };
    let holders = record.oldest_first().into_iter();
    let unconfirmed = holders.filter(|(_, lease)| lease.call.is_some());
    effects.extend(unconfirmed.map(|(holder, lease)| Effect::WakeAgain(holder, lease)));
    if record.can_grant(now) && !record.queue.is_empty() {
        effects.push(Effect::HandOver);
    }
    effects
}
