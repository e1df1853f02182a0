//! Random commands.

use super::{HOLDERS, RETENTION, at, coin, holder, key, length, stale, task_token, time};
use lockstep::domain::{
    Acquire, Command, Death, Evict, FencingToken, Freeze, HolderId, LockRecord, Order, Permits,
    Recover, Release, Renew, RunKey, RunOutcome, Seconds, Terms, Timestamp, WhenFull,
};
use proptest::option;
use proptest::prelude::{Just, Strategy};
use proptest::prop_oneof;

/// A request to take a permit.
pub fn acquire() -> impl Strategy<Value = Acquire> {
    let limits = (
        option::weighted(0.2, length()),
        option::weighted(0.2, length()),
        option::weighted(0.2, length()),
    );
    let terms = (0..HOLDERS, 1..=3_i64, length(), limits, key(), stale()).prop_map(
        |(who, permits, lease, (max_run, no_progress, min_interval), run_key, stale)| Terms {
            holder: holder(who),
            permits: Permits::new(permits).expect("a valid capacity"),
            lease,
            heartbeat: Seconds::of(lease.get() / 2),
            max_run,
            no_progress,
            stale,
            min_interval,
            run_key,
            work: None,
            retention: RETENTION,
        },
    );
    let when_full = prop_oneof![
        3 => Just(WhenFull::Refuse),
        3 => (1..4_usize).prop_map(|most| WhenFull::Queue { most }),
        1 => Just(WhenFull::Replace),
    ];
    let waiting = (option::of(0..4_u8), option::weighted(0.2, time()));
    (terms, when_full, waiting).prop_map(|(terms, when_full, (token, until))| {
        let waits = when_full != WhenFull::Refuse;
        Acquire {
            terms,
            when_full,
            task_token: token.filter(|_| waits).map(task_token),
            wait_until: until.filter(|_| waits),
        }
    })
}

/// What is said under a grant.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// A heartbeat: its state, and its progress.
    Renew(Option<u8>, Option<u8>),
    /// The end of the run.
    Release(RunOutcome),
    /// The run was found dead.
    Recover(Death),
    /// The lock is to be frozen because of the run.
    Freeze,
    /// An operator takes the permit away.
    Evict,
}

impl Act {
    /// The command about `holder` under the grant `token`, whose lease was seen to end at `ends`.
    #[must_use]
    pub fn command(
        self,
        holder: HolderId,
        token: FencingToken,
        key: Option<RunKey>,
        ends: Timestamp,
    ) -> Command {
        match self {
            Self::Renew(number, progress) => Command::Renew(Renew {
                holder,
                token,
                beat: number.map(task_token),
                progress: progress.map(|row| format!("row {row}")),
                retention: RETENTION,
            }),
            Self::Release(outcome) => Command::Release(Release {
                holder,
                token,
                run_key: key,
                outcome,
                retention: RETENTION,
            }),
            Self::Recover(death) => Command::Recover(Recover {
                holder,
                token,
                ends,
                death,
                evidence: "seen".into(),
                retention: RETENTION,
            }),
            Self::Freeze => Command::Freeze(Freeze {
                holder,
                token,
                note: "silent".into(),
                retention: RETENTION,
            }),
            Self::Evict => Command::Evict(Evict {
                holder,
                order: order(),
            }),
        }
    }
}

/// What is said under a grant.
pub fn act() -> impl Strategy<Value = Act> {
    let outcome = prop_oneof![Just(RunOutcome::Succeeded), Just(RunOutcome::Failed)];
    let progress = option::weighted(0.2, 5..9_u8);
    prop_oneof![
        4 => (option::of(0..3_u8), progress).prop_map(|(beat, row)| Act::Renew(beat, row)),
        4 => outcome.prop_map(Act::Release),
        1 => Just(Act::Recover(Death::Seen)),
        1 => Just(Act::Recover(Death::Expired)),
        1 => Just(Act::Freeze),
        1 => Just(Act::Evict),
    ]
}

/// An operator's word.
///
/// # Panics
/// Never.
#[must_use]
pub fn order() -> Order {
    Order {
        actor: HolderId::new("operator").expect("a valid actor"),
        note: "by hand".into(),
        retention: RETENTION,
    }
}

/// Any command. An acquire mostly expects the capacity that is there, and what is said under a
/// grant is mostly said under one that is in the record.
pub fn command(record: Option<LockRecord>) -> impl Strategy<Value = Command> {
    let permits = record.as_ref().map(|record| record.permits);
    let taking = (acquire(), coin()).prop_map(move |(mut acquire, fits)| {
        acquire.terms.permits = permits.filter(|_| fits).unwrap_or(acquire.terms.permits);
        Command::Acquire(acquire)
    });
    let speaking = (0..HOLDERS, act(), 0..10_u8).prop_map(move |(who, act, dice)| {
        let leases = record.iter().flat_map(|record| &record.holders);
        let own = leases.cycle().nth(who).filter(|_| dice > 0);
        match own {
            Some((holder, lease)) => {
                let key = lease.run_key.clone();
                act.command(holder.clone(), lease.token, key, lease.expires_at)
            }
            None => act.command(holder(who), FencingToken::from_number(1), None, at(0)),
        }
    });
    let other = prop_oneof![
        Just(Command::HandOver),
        Just(Command::Pause(order())),
        Just(Command::Resume(order())),
        Just(Command::Reschedule),
    ];
    prop_oneof![4 => taking, 4 => speaking, 1 => other]
}
