//! The history of a lock, or of the locks of a prefix.
//!
//! Runs are read in the order of their fencing tokens, newest first. Acts and starts without a permit have no
//! token, so they are placed between the runs by their times.
//!
//! A start that is refused writes no item to the table. So starts without a permit come from the log of
//! events. If the log cannot be read, the page names the problem instead of failing.

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

/// The kinds of events that the history shows as starts without a permit, each with its outcome in the
/// history.
const NOT_STARTED: [(EventKind, &str); 4] = [
    (EventKind::RunSkipped, "skipped"),
    (EventKind::RunDuplicate, "duplicate"),
    (EventKind::QueueFull, "queueFull"),
    (EventKind::WaitGivenUp, "gaveUp"),
];

/// Returns one page of the history. Its `next` names the lock and the run after which the following page
/// continues.
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
    let starts = starts_of_prefix(deps, &asked).await;
    loop {
        let next = next_lock(deps, &asked.scope, at.take(), &mut names).await?;
        let Some((lock, after)) = next else {
            entries.extend(starts_of_locks_without_record(deps, starts.as_ref()).await?);
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
            // If the history of the lock is at its end, `next` points behind its last run, and the following
            // page goes on with the next lock.
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

/// Returns the starts without a permit of all locks of a prefix, if the request has a `from` and no filter.
/// One request for each lock would be throttled
/// (<https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/cloudwatch_limits_cwl.html>).
async fn starts_of_prefix<P: Ports>(
    deps: &Deps<P>,
    asked: &CheckedHistory,
) -> Option<LoggedEvents> {
    let is_bounded = asked.from > Timestamp::default();
    let of_several = matches!(asked.scope, HistoryScope::Prefix(_));
    if !(of_several && is_bounded && asked.filter.is_open()) {
        return None;
    }
    not_started(deps, &asked.scope, asked.from, after(asked.to)).await
}

/// Returns the starts of locks that have no record, all of which were refused. The index does not list such
/// locks.
async fn starts_of_locks_without_record<P: Ports>(
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

/// Returns the time one millisecond after `time`.
fn after(time: Timestamp) -> Timestamp {
    Timestamp::from_millis(time.millis().saturating_add(1))
}

/// Returns the lock to read next, and the run after which to continue; `None` after the last lock.
///
/// `at` is where the last page ended. For a lock of a prefix, [`FencingToken::NONE`] says that its history is
/// at its end. `names` buffers the locks that follow.
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

/// One page of the history of one lock.
pub(super) struct LockPage {
    /// The entries, newest first.
    pub(super) entries: Vec<HistoryEntry>,
    /// All acts on the lock, oldest first.
    pub(super) acts: Vec<Act>,
    /// The holders of its runs with their leases, for the runs whose lease the history keeps.
    pub(super) leases: Vec<(HolderId, Lease)>,
    /// When starts were skipped; `None` if the function reads no log of events, or some may be missing.
    pub(super) skips: Option<Vec<Timestamp>>,
    /// Why runs or starts may be missing.
    problem: Option<String>,
    /// Number of runs in the requested time.
    runs: usize,
    /// The run after which there are more; `None` at the end.
    pub(super) next: Option<FencingToken>,
}

/// Returns up to `most` runs of `lock` after the run `after`, with the acts and the starts without a permit
/// from the time that these runs cover. So each act and each start is on exactly one page, although it has no
/// fencing token.
///
/// `starts` contains the starts of all locks, if the caller has read them already.
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
    // A fencing token contains the time of its grant, so the first page can begin at the requested time.
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
            "{count} runs of lock {lock} are left out, because this version of the function cannot read them"
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

/// Returns the starts without a permit from the time `from` until just before the time `before`.
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

/// Returns the entry for a start that got no permit; `None` for any other event.
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

/// Returns the times at which starts were skipped; `None` if some may be missing.
fn skips(logged: &LoggedEvents) -> Option<Vec<Timestamp>> {
    let events = logged.complete()?.iter();
    let skipped = events.filter(|event| event.kind == EventKind::RunSkipped);
    Some(skipped.map(|event| event.at).collect())
}

/// Merges consecutive starts with the same outcome into one entry.
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

/// Returns a token after all grants made up to `time`; `None`, which starts at the latest grant, for an
/// unlimited time.
fn latest(time: Timestamp) -> Option<FencingToken> {
    (time < Timestamp::MAX).then(|| FencingToken::from_number(time.millis() + 1))
}
