//! Promises about a world that has come to rest: no run is forgotten, and the history is whole.

use super::Verdict;
use crate::engine::locked;
use crate::witness;
use crate::world::World;
use lockstep::domain::{LockKey, Mode, RunId};

/// What must be true of a lock when the world has been calm for long enough.
pub(crate) fn finish(world: &World, lock: &LockKey) -> Verdict {
    let items = world.store.items(lock);
    let Some(record) = &items.record else {
        return Ok(());
    };
    let rules = [
        (
            record.holders.is_empty(),
            "somebody holds the lock for ever",
        ),
        (record.queue.is_empty(), "somebody waits for ever"),
        (record.mode == Mode::Open, "the lock stays closed"),
        (
            record.due == record.success_due(),
            "an idle lock is due for something else than a missing success",
        ),
    ];
    if let Some((_, rule)) = rules.into_iter().find(|(kept, _)| !kept) {
        return Err(format!("{rule}: {record:?}"));
    }
    let audit = locked(&world.audit);
    let grants = audit
        .books
        .get(lock)
        .into_iter()
        .flat_map(|book| &book.grants);
    for (token, entry) in grants {
        let (_, outcome) = entry
            .over
            .ok_or_else(|| format!("token {token} has no end"))?;
        let run = items.runs.get(&RunId::Token(*token));
        let recorded = run
            .filter(|run| run.holder == entry.holder)
            .and_then(|run| run.outcome());
        if recorded != Some(outcome) {
            return Err(format!(
                "token {token} was {outcome:?}, but the history has {recorded:?}"
            ));
        }
    }
    let known = audit.books.get(lock).map(|book| &book.grants);
    for id in items.runs.keys() {
        if let RunId::Token(token) = id
            && known.is_none_or(|grants| !grants.contains_key(token))
        {
            return Err(format!(
                "the history has token {token}, which no write granted"
            ));
        }
    }
    drop(audit);
    witness::at_rest(world, lock)
}
