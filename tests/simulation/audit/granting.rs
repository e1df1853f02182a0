//! Promises about grants: capacity, tokens, rest, order, run keys.

use super::{Book, GrantEntry, Verdict, Write, kept};
use crate::trial::Trial;
use crate::witness;
use crate::world::short;
use lockstep::domain::{CLOCK_SKEW, FencingToken, HolderId, Lease, Mode, RunOutcome, WaiterId};

pub(super) fn check(write: &Write<'_>, book: &mut Book) -> Verdict {
    for (holder, lease) in &write.after.holders {
        let known = write
            .before
            .and_then(|before| before.lease(holder, lease.token));
        if known.is_none() {
            begin(write, book, holder, lease)?;
        }
        let back = known.map_or(0, |known| known.expires_at.millis_since(lease.expires_at));
        kept(back == 0 || !write.world.tries(Trial::LateWrites), || {
            let token = lease.token;
            format!("the lease of {holder} under {token} moves its end back by {back} ms")
        })?;
        if let Some(entry) = book.grants.get_mut(&lease.token) {
            entry.lease = lease.clone();
        }
    }
    Ok(())
}

fn begin(write: &Write<'_>, book: &mut Book, holder: &HolderId, lease: &Lease) -> Verdict {
    let world = write.world;
    let (name, token) = (short(holder.as_str()), lease.token);
    if is_back(write, book, holder, lease)? {
        let alive = write.cloud.runs(holder) == Some(true);
        world.count(if alive {
            "reinstated"
        } else {
            "reinstated after its end"
        });
        world.note("auditor", format_args!("{name} is back under {token}"));
    } else {
        grows(book, token)?;
        keeps_distance(write, lease)?;
        world.count("grants");
        let waited = waited(write, &WaiterId::of(holder));
        world.count(if waited {
            "hand-overs"
        } else {
            "grants at once"
        });
        world.note(
            "auditor",
            format_args!("{} to {name} as {token}", write.lock),
        );
    }
    may_be_granted(write, lease)?;
    in_turn(write, book, holder)?;
    one_run_per_key(write, book, holder, lease)?;
    let evictions = &write.audit.evictions;
    witness::granted(world, write.cloud, evictions, write.lock, holder)?;
    let entry = GrantEntry {
        holder: holder.clone(),
        lease: lease.clone(),
        over: None,
    };
    book.grants.insert(token, entry);
    Ok(())
}

/// Returns whether the waiter was in the queue before the write.
fn waited(write: &Write<'_>, id: &WaiterId) -> bool {
    let before = write.before;
    before.is_some_and(|before| before.queue.contains_key(id))
}

/// Returns whether the write gives a redriven execution its old grant back. It may not if another
/// grant has come since.
fn is_back(
    write: &Write<'_>,
    book: &Book,
    holder: &HolderId,
    lease: &Lease,
) -> Result<bool, String> {
    let Some(old) = book.grants.get(&lease.token) else {
        return Ok(false);
    };
    let over = old.over.map(|(_, outcome)| outcome);
    let may_come_back = matches!(
        over,
        Some(RunOutcome::Failed | RunOutcome::Recovered | RunOutcome::Lost)
    );
    let newest = book.grants.last_key_value();
    let newest = newest.is_some_and(|(token, _)| *token == lease.token);
    let own = old.holder == *holder;
    kept(
        own && may_come_back && newest && write.after.queue.is_empty(),
        || format!("{holder} came back under {} after {over:?}", lease.token),
    )?;
    Ok(true)
}

fn grows(book: &Book, token: FencingToken) -> Verdict {
    match book.grants.last_key_value() {
        Some((last, _)) if *last >= token => Err(format!("token {token} came after {last}")),
        _ => Ok(()),
    }
}

fn may_be_granted(write: &Write<'_>, lease: &Lease) -> Verdict {
    let resumed = write
        .before
        .is_some_and(|record| record.gate.mode != Mode::Open);
    kept(write.after.gate.mode == Mode::Open || resumed, || {
        format!("token {} was granted while the lock is closed", lease.token)
    })
}

/// Checks the rest that the last grant asked for. A grant that comes back has kept it already.
fn keeps_distance(write: &Write<'_>, lease: &Lease) -> Verdict {
    let record = write.before;
    // By a clock that is ahead, the rest ends earlier.
    let latest = write.world.timestamp().plus(CLOCK_SKEW);
    let rests = record.is_some_and(|record| record.gate.not_before > latest);
    let cleared = write.audit.rest_is_cleared(write.lock, write.world.now());
    (rests && cleared).then(|| write.world.count("rests cleared"));
    let token = lease.token;
    kept(!rests || cleared, || {
        format!("token {token} was granted too soon after the last one")
    })
}

/// Checks that waiters are granted permits first come, first served, and that no run passes the
/// queue.
fn in_turn(write: &Write<'_>, book: &Book, holder: &HolderId) -> Verdict {
    let id = WaiterId::of(holder);
    match (waited(write, &id), book.line.first()) {
        (true, Some(first)) if *first == id => Ok(()),
        (true, first) => Err(format!("{holder} was granted before {first:?}")),
        (false, None) => Ok(()),
        (false, Some(first)) => Err(format!("{holder} passed the queue, where {first} is first")),
    }
}

fn one_run_per_key(write: &Write<'_>, book: &Book, holder: &HolderId, lease: &Lease) -> Verdict {
    let Some(key) = &lease.run_key else {
        return Ok(());
    };
    let forgotten = (write.lock.clone(), key.clone());
    if write.audit.forgotten.contains(&forgotten) {
        write.world.count("run keys free again");
    } else if let Some(token) = book.successes.get(key) {
        return Err(format!(
            "{key:?} runs again after its success under {token}"
        ));
    }
    let mut others = write.after.holders.iter();
    let twice = others.any(|(other, lease)| other != holder && lease.run_key.as_ref() == Some(key));
    kept(!twice, || format!("{key:?} runs twice at once"))
}
