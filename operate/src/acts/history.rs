//! The history of a lock, or of the locks of a prefix.
//!
//! Runs are read by their tokens, newest first. Acts and starts without a permit have none, so they
//! are put between the runs by their times. Starts are in no item, because a start that is refused
//! writes nothing: they come from the log of events, and where that cannot be read the page names
//! the problem in place of an error.

use super::{AT_ONCE, TIME_MAX};
use crate::contract::{CheckedHistory, HistoryEntry, HistoryResponse};
use lockstep::contract::EventKind;
use lockstep::error::Error;
use lockstep::events::HistoryScope;
use lockstep::events::{EventQuery, Events, LoggedEvent, LoggedEvents};
use lockstep::service::{Deps, Ports};
use lockstep_core::domain::{Act, FencingToken, HolderId, Lease, LockKey, Timestamp, rfc3339};
use lockstep_core::store::{LOCKS_PAGE, LockIndex, LockStore};
use std::collections::{BTreeMap, VecDeque};

/// The kinds of events that are in the history as starts without a permit, and their outcomes there.
const NOT_STARTED: [(EventKind, &str); 4] = [
    (EventKind::RunSkipped, "skipped"),
    (EventKind::RunDuplicate, "duplicate"),
    (EventKind::QueueFull, "queueFull"),
    (EventKind::WaitGivenUp, "gaveUp"),
];

/// A page of the history. `next` names the lock and the run to go on behind.
pub(super) async fn run<P: Ports>(
    deps: &Deps<P>,
    asked: CheckedHistory,
) -> Result<HistoryResponse, Error>
where
    P::Store: LockIndex,
{
    let deadline = deps.now().plus(TIME_MAX);
    let (mut entries, mut problem) = (Vec::new(), None);
    let mut runs_left = asked.limit;
    let mut at = asked.after.clone();
    let mut names = VecDeque::new();
    let starts = starts_of_all(deps, &asked).await;
    loop {
        let next = next_lock(deps, &asked.scope, at.take(), &mut names).await?;
        let Some((lock, after)) = next else {
            entries.extend(of_no_lock(deps, starts.as_ref()).await?);
            return Ok(HistoryResponse {
                entries,
                problem,
                next: None,
            });
        };
        let page = page_of(deps, &asked, &lock, after, runs_left, starts.as_ref()).await?;
        runs_left = runs_left.saturating_sub(page.runs);
        entries.extend(page.entries);
        problem = problem.or(page.problem);
        let is_only = matches!(asked.scope, HistoryScope::Lock(_));
        if page.next.is_none() && is_only {
            return Ok(HistoryResponse {
                entries,
                problem,
                next: None,
            });
        }
        if runs_left == 0 || page.next.is_some() || deps.now() >= deadline {
            // A lock whose history is at its end is continued behind its last run: with nothing.
            let behind = page.next.or(Some(FencingToken::NONE));
            let next = Some(CheckedHistory::next(&lock, behind));
            return Ok(HistoryResponse {
                entries,
                problem,
                next,
            });
        }
        at = Some((lock, Some(FencingToken::NONE)));
    }
}

/// The starts without a permit of all locks, where the time that was asked for has a beginning. One request for each lock
/// would be throttled (<https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/cloudwatch_limits_cwl.html>).
async fn starts_of_all<P: Ports>(deps: &Deps<P>, asked: &CheckedHistory) -> Option<LoggedEvents> {
    let is_bounded = asked.from > Timestamp::default();
    let of_several = matches!(asked.scope, HistoryScope::Prefix(_));
    if !(of_several && is_bounded && asked.filter.is_open()) {
        return None;
    }
    not_started(deps, &asked.scope, asked.from, after(asked.to)).await
}

/// The starts of locks that have no record, and so are in no index: each was refused.
async fn of_no_lock<P: Ports>(
    deps: &Deps<P>,
    starts: Option<&LoggedEvents>,
) -> Result<Vec<HistoryEntry>, Error> {
    let mut by_lock = BTreeMap::<&LockKey, Vec<&LoggedEvent>>::new();
    for event in starts.into_iter().flat_map(|starts| &starts.events) {
        by_lock.entry(&event.lock).or_default().push(event);
    }
    let mut entries = Vec::new();
    for (lock, mut events) in by_lock {
        if deps.store().load(lock).await?.is_some() {
            continue;
        }
        events.sort_by_key(|event| std::cmp::Reverse(event.at));
        entries.extend(collapsed(events.into_iter().filter_map(entry_of_start)));
    }
    Ok(entries)
}

/// The time behind `time`.
fn after(time: Timestamp) -> Timestamp {
    Timestamp::from_millis(time.millis().saturating_add(1))
}

/// The lock to go on with, and behind which run. A lock of a prefix is at its end behind
/// [`FencingToken::NONE`]. `names` are the next ones.
async fn next_lock<P: Ports>(
    deps: &Deps<P>,
    scope: &HistoryScope,
    at: Option<(LockKey, Option<FencingToken>)>,
    names: &mut VecDeque<LockKey>,
) -> Result<Option<(LockKey, Option<FencingToken>)>, Error>
where
    P::Store: LockIndex,
{
    let prefix = match scope {
        HistoryScope::Lock(lock) => {
            let after = at.and_then(|(_, after)| after);
            return Ok(Some((lock.clone(), after)));
        }
        HistoryScope::Prefix(prefix) => prefix,
    };
    match at {
        Some((lock, after)) if after != Some(FencingToken::NONE) => Ok(Some((lock, after))),
        ended => {
            if names.is_empty() {
                let after = ended.map(|(lock, _)| lock);
                let page = deps.store().locks(prefix, after.as_ref(), AT_ONCE).await?;
                names.extend(page.locks);
            }
            Ok(names.pop_front().map(|lock| (lock, None)))
        }
    }
}

/// Entries of one lock.
pub(super) struct LockPage {
    /// The entries, newest first.
    pub(super) entries: Vec<HistoryEntry>,
    /// All acts on the lock, oldest first.
    pub(super) acts: Vec<Act>,
    /// Its runs with the lease that they had, where the history keeps it.
    pub(super) leases: Vec<(HolderId, Lease)>,
    /// When starts were skipped; `None` where no log of events is read.
    pub(super) skips: Option<Vec<Timestamp>>,
    /// Why runs or starts may be missing.
    problem: Option<String>,
    /// The number of runs of the time that was asked for.
    runs: usize,
    /// The run behind which there are more; `None` at the end.
    pub(super) next: Option<FencingToken>,
}

/// Up to `most` runs of `lock` from behind `after`, and the acts and the starts without a permit of the time
/// that they cover. So each of those is on one page, although they have no fencing token. `starts` are those of all
/// locks, where they have been read.
pub(super) async fn page_of<P: Ports>(
    deps: &Deps<P>,
    asked: &CheckedHistory,
    lock: &LockKey,
    after: Option<FencingToken>,
    most: usize,
    starts: Option<&LoggedEvents>,
) -> Result<LockPage, Error>
where
    P::Store: LockIndex,
{
    // The first page may begin with the time that was asked for, since a token is the time of its
    // grant.
    let start = after.or_else(|| latest(asked.to));
    let page = deps
        .store()
        .history(lock, start, most.min(LOCKS_PAGE))
        .await?;
    let oldest = |token: FencingToken| token.granted_at() < asked.from;
    let next = page.next.filter(|token| !oldest(*token));
    let low = next.map_or(asked.from, FencingToken::granted_at);
    let high = after.map_or(Timestamp::MAX, FencingToken::granted_at);
    let of_time = page.runs.iter().filter(|run| !oldest(run.token));
    let runs = of_time.clone().count();
    let mut entries: Vec<(Timestamp, HistoryEntry)> = Vec::new();
    for run in of_time {
        let entry = HistoryEntry::run(lock, run);
        entries.extend(entry.map(|entry| (run.token.granted_at(), entry)));
    }
    let acts = deps.store().acts(lock).await?;
    for act in &acts {
        if (low..high).contains(&act.at) && act.at <= asked.to {
            entries.push((act.at, HistoryEntry::act(lock, act)));
        }
    }
    let high = high.min(self::after(asked.to));
    let mut of_lock = None;
    if starts.is_none() && asked.filter.is_open() {
        of_lock = not_started(deps, &HistoryScope::Lock(lock.clone()), low, high).await;
    }
    let logged = starts.or(of_lock.as_ref());
    let events = logged.iter().flat_map(|logged| &logged.events);
    let own = events.filter(|event| event.lock == *lock && (low..high).contains(&event.at));
    entries.extend(own.filter_map(|event| Some((event.at, entry_of_start(event)?))));
    entries.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    let wanted = entries.into_iter().map(|(_, entry)| entry);
    let wanted = wanted.filter(|entry| asked.filter.has(entry));
    let unread = (page.unreadable > 0).then(|| {
        let count = page.unreadable;
        format!(
            "{count} runs of lock {lock} are left out, which this version of operate cannot read"
        )
    });
    let leases = page.runs.into_iter();
    let leases = leases.filter_map(|run| Some((run.holder, *run.lease?)));
    Ok(LockPage {
        leases: leases.collect(),
        acts,
        entries: collapsed(wanted),
        skips: logged.and_then(skips),
        problem: unread.or_else(|| logged.and_then(|logged| logged.problem.clone())),
        runs,
        next,
    })
}

/// The starts without a permit from `from` to before `before`.
async fn not_started<P: Ports>(
    deps: &Deps<P>,
    scope: &HistoryScope,
    from: Timestamp,
    before: Timestamp,
) -> Option<LoggedEvents> {
    let query = EventQuery {
        scope,
        kinds: &NOT_STARTED.map(|(kind, _)| kind),
        from,
        before,
    };
    deps.events.logged(&query).await
}

/// The entry of a start that got no permit; `None` for another event.
fn entry_of_start(event: &LoggedEvent) -> Option<HistoryEntry> {
    let (_, outcome) = NOT_STARTED.iter().find(|(kind, _)| *kind == event.kind)?;
    Some(HistoryEntry::NotStarted {
        lock: event.lock.to_string(),
        holder: event.holder.clone(),
        since: rfc3339(event.at),
        at: rfc3339(event.at),
        outcome,
        starts: 1,
        reason: event.reason.clone(),
    })
}

/// When starts were skipped; `None` where some may be missing.
fn skips(logged: &LoggedEvents) -> Option<Vec<Timestamp>> {
    let events = logged.complete()?.iter();
    let skipped = events.filter(|event| event.kind == EventKind::RunSkipped);
    Some(skipped.map(|event| event.at).collect())
}

/// Makes one entry of starts in a row with the same outcome.
fn collapsed(newest_first: impl Iterator<Item = HistoryEntry>) -> Vec<HistoryEntry> {
    let mut entries: Vec<HistoryEntry> = Vec::new();
    for entry in newest_first {
        let last = entries.last_mut();
        if !last.is_some_and(|last| last.absorb(&entry)) {
            entries.push(entry);
        }
    }
    entries
}

/// A token behind all grants up to `time`; `None` for the latest grant.
fn latest(time: Timestamp) -> Option<FencingToken> {
    (time < Timestamp::MAX).then(|| FencingToken::from_number(time.millis() + 1))
}
