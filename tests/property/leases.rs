//! Rules of a lease: when a silent holder is checked, and which lease a redriven run gets back.

use crate::case::{cases, check_often};
use lockstep::domain::{
    Command, Exit, Lease, LockRecord, Mode, Outcome, Renew, Run, RunEnd, RunId, RunOutcome,
    Seconds, Snapshot, Timestamp, decide,
};
use lockstep::testing;
use lockstep_tests::generate::RETENTION;
use proptest::prelude::{prop_assert, prop_assert_eq};

/// How late a heartbeat may be before its holder is checked, in milliseconds. The Retry of the heartbeat
/// state waits in whole seconds, and the call of the function takes some time.
const SLACK: u64 = 5_000;

fn later(from: Timestamp, millis: u64) -> Timestamp {
    Timestamp::from_millis(from.millis() + millis)
}

#[test]
fn a_holder_is_checked_only_5_s_after_its_heartbeat_was_due() {
    check_often(5_000, &cases(), 501, |case| {
        let mut judged = 0;
        let record = case.items.record.iter();
        for lease in record.flat_map(|record| record.holders.values()) {
            let renewed = lease.renewed(case.now, None, None);
            let heartbeat = renewed.pace.heartbeat.min(Seconds::of(60)).millis();
            if heartbeat + SLACK >= renewed.pace.length.millis() {
                // The lease ends before its heartbeat is overdue. The end of the lease calls for a check by
                // itself.
                prop_assert!(renewed.is_overdue(renewed.expires_at));
                prop_assert!(
                    !renewed.is_overdue(later(case.now, renewed.pace.length.millis() - 1))
                );
                continue;
            }
            judged += 1;
            prop_assert!(!renewed.is_overdue(later(case.now, heartbeat + SLACK)));
            prop_assert!(renewed.is_overdue(later(case.now, heartbeat + SLACK + 1)));
        }
        Ok(judged)
    });
}

#[test]
fn a_redriven_run_gets_its_lease_back_without_its_exit_marks() {
    let outcomes = [RunOutcome::Failed, RunOutcome::Recovered, RunOutcome::Lost];
    check_often(20_000, &cases(), 1001, |case| {
        let Some(record) = &case.items.record else {
            return Ok(0);
        };
        let mut reinstated = 0;
        for (outcome, (holder, lease)) in outcomes.into_iter().zip(&record.holders) {
            let run = Run {
                end: Some(RunEnd {
                    outcome,
                    at: case.now,
                    retain_until: case.now.plus(RETENTION.run_keys),
                    evidence: None,
                }),
                lease: Some(Box::new(lease.without_secrets())),
                ..Run::started(holder.clone(), lease.token, None)
            };
            let renew = Renew {
                redrives: Some(lease.redrives + 1),
                pace: None,
                retention: RETENTION,
                ..testing::renew(holder.clone(), lease.token)
            };
            let seen = Snapshot {
                record: Some(free_after(record, lease)),
                runs: [(RunId::Token(lease.token), run)].into(),
                waiter: None,
                new_lock: None,
            };
            let now = later(case.now, 20_000);

            let decided = decide(&seen, &Command::Renew(renew), now);

            let Ok(decided) = decided else { continue };
            let Outcome::Reinstated { expires_at } = decided.outcome else {
                continue;
            };
            reinstated += 1;
            let next = decided.next.as_ref().expect("a reinstatement writes");
            let back = &next.holders[holder];
            let max_run = |end: Timestamp| match lease.max_run {
                Some(most) => most.millis(),
                None => end.millis_since(lease.token.granted_at()),
            };
            let whole = |end: Timestamp| later(now, max_run(end));
            let expected = Lease {
                expires_at: now.plus(lease.pace.length),
                run_until: lease.run_until.map(whole),
                stalls_at: lease.no_progress.map(|most| now.plus(most)),
                beat: None,
                call: None,
                exit: Exit::default(),
                redrives: lease.redrives + 1,
                ..lease.clone()
            };
            prop_assert_eq!(back, &expected);
            prop_assert_eq!(expires_at, expected.expires_at);
            prop_assert!(next.due.is_some_and(|due| due <= expires_at));
        }
        Ok(reinstated)
    });
}

/// Returns an open record in which `lease` has ended, its grant is the latest, and no run waits.
fn free_after(record: &LockRecord, lease: &Lease) -> LockRecord {
    let mut free = record.clone();
    free.holders.retain(|_, held| held.token != lease.token);
    free.queue.clear();
    free.gate.mode = Mode::Open;
    free.last_token = lease.token;
    free.due = free.next_due();
    free
}
