//! Rules that every decision keeps, for any lock. A break of one of them shows elsewhere only as a changed
//! number of states of the model.

use crate::case::{Case, cases, cases_of, check_often};
use lockstep::domain::{
    Assign, Change, Command, Effect, FencingToken, Mode, Outcome, RunId, RunOutcome, Transition,
    Update, WaiterId, fast_path,
};
use lockstep_tests::generate::{acquire_for, forget};
use proptest::prelude::{Strategy, prop_assert};

/// Returns whether a decision keeps a rule. Returns `None` if the rule does not apply to the decision.
type Rule = fn(&Case, &Transition) -> Option<bool>;

/// Checks `rule` on random decisions on `cases`. The rule has to apply to at least `fewest` of them. `fewest`
/// is seven standard deviations or more below the mean, so that no seed comes close to it.
fn holds(cases: impl Strategy<Value = Case>, rule: Rule, fewest: u32) {
    check_often(20_000, &cases, fewest, |case| {
        let decided = case.decided();
        let kept = decided.as_ref().and_then(|decided| rule(&case, decided));
        prop_assert!(kept.unwrap_or(true), "{decided:?}");
        Ok(kept.is_some().into())
    });
}

#[test]
fn a_granted_lease_makes_the_lock_due_by_its_end() {
    holds(
        cases(),
        |case, decided| {
            let (next, before) = (decided.next.as_ref()?, case.items.record.as_ref());
            let known = |token| before.is_some_and(|record| record.holder_under(token).is_some());
            let new = next.holders.values().filter(|lease| !known(lease.token));
            let first_end = new.map(|lease| lease.expires_at).min()?;
            Some(next.due.is_some_and(|due| due <= first_end))
        },
        1000,
    );
}

#[test]
fn a_lock_is_due_when_a_free_permit_can_go_to_a_waiter() {
    holds(
        cases(),
        |case, decided| {
            let next = decided.next.as_ref()?;
            let waits = next.gate.mode == Mode::Open && next.has_room() && !next.queue.is_empty();
            let changed = case.items.record.as_ref().is_none_or(|before| {
                before.holders.len() != next.holders.len() || before.queue != next.queue
            });
            let grant = next.gate.not_before.max(case.now);
            (waits && changed).then(|| next.due.is_some_and(|due| due <= grant))
        },
        300,
    );
}

#[test]
fn the_run_of_a_success_keeps_no_lease_to_reinstate() {
    holds(
        cases(),
        |_, decided| {
            let mut ends = decided.runs.iter().map(|(_, write)| &write.run);
            let succeeded = ends.find(|run| run.outcome() == Some(RunOutcome::Succeeded))?;
            Some(succeeded.lease.is_none())
        },
        500,
    );
}

#[test]
fn a_renewal_confirms_a_hand_over_and_clears_a_mark_of_suspicion() {
    holds(
        cases(),
        |case, decided| {
            let (Command::Renew(renew), Outcome::Renewed { .. } | Outcome::Frozen { .. }) =
                (&case.command, &decided.outcome)
            else {
                return None;
            };
            let lease = decided.next.as_ref()?.lease(&renew.holder, renew.token)?;
            Some(lease.call.is_none() && lease.exit.suspect.is_none())
        },
        500,
    );
}

#[test]
fn a_waiter_that_asks_again_under_a_free_permit_starts_a_hand_over() {
    holds(
        cases_of(acquire_for),
        |case, decided| {
            let (Command::Acquire(acquire), Outcome::Queued { .. }) =
                (&case.command, &decided.outcome)
            else {
                return None;
            };
            let record = case.items.record.as_ref()?;
            let waits = record
                .queue
                .contains_key(&WaiterId::of(&acquire.terms.holder));
            let free = waits && record.can_grant(case.now);
            free.then(|| decided.effects.contains(&Effect::HandOver))
        },
        100,
    );
}

#[test]
fn no_write_sets_a_last_token_that_is_not_larger() {
    check_often(20_000, &cases(), 1000, |case| {
        let mut judged = 0;
        let decided = case.change().map(|(_, change)| change);
        let fast = fast_path(&case.command, case.now).map(|fast| fast.change);
        for change in decided.into_iter().chain(fast) {
            let (Some(token), Some(record)) = (token_of(&change), &case.items.record) else {
                continue;
            };
            // Others have written since, and the latest grant has the token that this write would set.
            let mut met = record.clone();
            met.version += 1;
            met.last_token = token;
            judged += 1;
            prop_assert!(!change.guard.holds(Some(&met)), "{change:?}");
        }
        Ok(judged)
    });
}

fn token_of(change: &Change) -> Option<FencingToken> {
    let Update::Assign(assigns) = &change.update else {
        return None;
    };
    assigns.iter().find_map(|assign| match assign {
        Assign::LastToken(token) => Some(*token),
        _ => None,
    })
}

#[test]
fn no_run_key_is_forgotten_whose_run_is_under_way() {
    holds(
        cases_of(|_| forget()),
        |case, decided| {
            let Command::Forget(forget) = &case.command else {
                return None;
            };
            let next = decided.next.as_ref()?;
            let runs = case.seen().runs;
            let marker = runs.get(&RunId::Key(forget.run_key.clone()))?;
            let under_way = next.holder_of_run(&forget.run_key).is_some() || marker.end.is_none();
            Some(!under_way && decided.runs.len() == 1 && decided.act.is_some())
        },
        500,
    );
}
