//! Random commands.

use super::{
    HOLDERS, KEYS, RETENTION, coin, expected, holder, key, length, run_key, stale, task_token, time,
};
use lockstep::domain::{
    Acquire, AuditNote, Command, DropWaiter, ExitStep, FencingToken, Forget, Freeze, HolderId,
    LeaseVersion, LockRecord, Mark, Opening, Pace, Permits, Recover, RecoveryBasis, Release, Renew,
    RunKey, RunOutcome, Seconds, Settle, StopReason, Terms, WaiterId, WhenFull, WhenPaused,
};
use proptest::option;
use proptest::prelude::{Just, Strategy};
use proptest::prop_oneof;

/// Returns random requests to acquire a permit.
pub fn acquire() -> impl Strategy<Value = Acquire> {
    let limits = (
        option::weighted(0.2, length()),
        option::weighted(0.2, length()),
        option::weighted(0.2, length()),
        option::weighted(0.1, expected()),
    );
    let terms = (0..HOLDERS, 1..=3_i64, length(), limits, key(), stale()).prop_map(
        |(
            who,
            permits,
            lease,
            (max_run, no_progress, min_interval, expect_every),
            run_key,
            stale,
        )| Terms {
            parent: None,
            redrives: 0,
            holder: holder(who),
            permits: Permits::new(permits).expect("a valid capacity"),
            lease,
            heartbeat: Seconds::of(lease.get() / 2),
            max_run,
            no_progress,
            stale,
            min_interval,
            expect_every,
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
    let when_paused = prop_oneof![
        2 => Just(WhenPaused::Refuse),
        2 => (1..4_usize).prop_map(|most| WhenPaused::Queue { most }),
        1 => Just(WhenPaused::CatchUp),
    ];
    let waiting = (option::of(0..4_u8), option::weighted(0.2, time()));
    (terms, when_full, when_paused, waiting).prop_map(|(terms, when_full, when_paused, waiting)| {
        let (token, until) = waiting;
        let waits = when_full != WhenFull::Refuse || when_paused != WhenPaused::Refuse;
        Acquire {
            terms,
            when_full,
            when_paused,
            task_token: token.filter(|_| waits).map(task_token),
            wait_until: until.filter(|_| waits),
        }
    })
}

/// A command under a grant, without the grant.
#[derive(Clone, Debug)]
pub enum Act {
    /// A heartbeat: the number of its task token, its progress and the limit without progress in its receipt,
    /// how often the execution was redriven, and a new length of the lease.
    Renew(
        Option<u8>,
        (Option<u8>, Option<Seconds>),
        Option<u32>,
        Option<Seconds>,
    ),
    /// The end of the run, and the `expectEverySeconds` in its receipt.
    Release(RunOutcome, Option<Seconds>),
    /// The recovery of a dead run, and whether its work succeeded.
    Recover(RecoveryBasis, bool),
    /// A mark of a run that is about to leave, and whether the command names the version of the lease that
    /// was seen.
    Mark(ExitStep, bool),
    /// The end of a run that went on without its permit, and whether its work succeeded.
    Settle(bool),
    /// The lock is frozen because of the run.
    Freeze,
    /// The run is dropped from the queue, and whether its side item can be read.
    DropWaiter(bool),
}

impl Act {
    /// Returns the command about `holder` under the grant `token`. The lease was seen at the version `seen`.
    pub fn command(
        self,
        holder: HolderId,
        token: FencingToken,
        key: Option<RunKey>,
        seen: LeaseVersion,
    ) -> Command {
        match self {
            Self::Renew(number, (progress, no_progress), redrives, length) => {
                Command::Renew(Renew {
                    pace: length.map(|length| Pace {
                        length,
                        heartbeat: Seconds::of(length.get() / 2),
                    }),
                    redrives,
                    resumes: false,
                    holder,
                    token,
                    beat: number.map(task_token),
                    progress: progress.map(|row| format!("row {row}")),
                    no_progress,
                    retention: RETENTION,
                })
            }
            Self::Release(outcome, expect_every) => Command::Release(Release {
                expect_every,
                holder,
                token,
                run_key: key,
                outcome,
                retention: RETENTION,
            }),
            Self::Recover(basis, succeeded) => Command::Recover(Recover {
                succeeded,
                holder,
                token,
                seen,
                basis,
                evidence: "seen".into(),
                retention: RETENTION,
            }),
            Self::Mark(step, timed) => Command::Mark(Mark {
                holder,
                token,
                seen: timed.then_some(seen),
                step,
            }),
            Self::Settle(succeeded) => Command::Settle(Settle {
                run_key: key.unwrap_or_else(|| run_key(0)),
                token,
                succeeded,
                evidence: "seen".into(),
                retention: RETENTION,
            }),
            Self::Freeze => Command::Freeze(Freeze {
                holder,
                token,
                note: "silent".into(),
                retention: RETENTION,
            }),
            Self::DropWaiter(read) => Command::DropWaiter(DropWaiter {
                waiter: WaiterId::of(&holder),
                holder: Some(holder).filter(|_| read),
                audit: audit_note(),
            }),
        }
    }
}

/// Returns random commands under a grant.
pub fn act() -> impl Strategy<Value = Act> {
    let outcome = prop_oneof![Just(RunOutcome::Succeeded), Just(RunOutcome::Failed)];
    let progress = option::weighted(0.2, 5..9_u8);
    let progress = (progress, option::weighted(0.2, length()));
    let redrives = option::weighted(0.3, 0..3_u32);
    let basis = prop_oneof![
        Just(RecoveryBasis::Seen),
        Just(RecoveryBasis::Expired),
        Just(RecoveryBasis::Unconfirmed),
        Just(RecoveryBasis::Evicted),
    ];
    let step = prop_oneof![
        Just(ExitStep::Suspect),
        Just(ExitStep::Ending),
        Just(ExitStep::Stop(StopReason::Stale)),
        Just(ExitStep::Stop(StopReason::Replaced)),
        Just(ExitStep::Evict(audit_note())),
    ];
    prop_oneof![
        4 => (option::of(0..3_u8), progress, redrives, option::weighted(0.3, length()))
            .prop_map(|(beat, row, count, length)| Act::Renew(beat, row, count, length)),
        4 => (outcome, option::weighted(0.1, expected()))
            .prop_map(|(outcome, expected)| Act::Release(outcome, expected)),
        3 => (basis, coin()).prop_map(|(basis, succeeded)| Act::Recover(basis, succeeded)),
        4 => (step, proptest::bool::weighted(0.8)).prop_map(|(step, timed)| Act::Mark(step, timed)),
        1 => coin().prop_map(Act::Settle),
        1 => Just(Act::Freeze),
        2 => coin().prop_map(Act::DropWaiter),
    ]
}

/// Returns the audit note of an operator.
pub fn audit_note() -> AuditNote {
    AuditNote {
        actor: HolderId::new("operator").expect("a valid actor"),
        note: "by hand".into(),
        retention: RETENTION,
    }
}

/// Returns commands that forget a run key.
pub fn forget() -> impl Strategy<Value = Command> {
    (0..KEYS).prop_map(|number| {
        Command::Forget(Forget {
            run_key: run_key(number),
            audit: audit_note(),
        })
    })
}

/// Returns commands that acquire a permit. At least half of them expect as many permits as `record` has.
pub fn acquire_for(record: Option<LockRecord>) -> impl Strategy<Value = Command> {
    let permits = record.map(|record| record.permits);
    (acquire(), coin()).prop_map(move |(mut acquire, fits)| {
        acquire.terms.permits = permits.filter(|_| fits).unwrap_or(acquire.terms.permits);
        Command::Acquire(acquire)
    })
}

/// Returns any command. Nine in ten commands under a grant name a grant of `record`, if `record` has one.
pub fn command(record: Option<LockRecord>) -> impl Strategy<Value = Command> {
    let taking = acquire_for(record.clone());
    let speaking = (0..HOLDERS, act(), 0..10_u8).prop_map(move |(who, act, dice)| {
        let leases = record.iter().flat_map(|record| &record.holders);
        let own = leases.cycle().nth(who).filter(|_| dice > 0);
        let expected = record.as_ref().and_then(|record| record.expectation);
        let act = match act {
            // Most receipts have the expectation of the lock.
            Act::Release(outcome, _) if dice > 2 => {
                Act::Release(outcome, expected.map(|expected| expected.every))
            }
            other => other,
        };
        match own {
            Some((holder, lease)) => {
                // A caller may send the receipt of another grant.
                let key = match dice {
                    1 => None,
                    2 => Some(run_key(who % KEYS)),
                    _ => lease.run_key.clone(),
                };
                act.command(holder.clone(), lease.token, key, lease.version())
            }
            None => act.command(
                holder(who),
                FencingToken::from_number(1),
                None,
                LeaseVersion::default(),
            ),
        }
    });
    let other = prop_oneof![
        Just(Command::HandOver),
        option::of(time()).prop_map(|until| Command::Pause(audit_note(), until)),
        Just(Command::Open(Opening::PauseEnd, audit_note())),
        Just(Command::Open(Opening::Resume, audit_note())),
        Just(Command::Reschedule),
        Just(Command::NoteMissing),
        Just(Command::Open(Opening::Rest, audit_note())),
        forget(),
    ];
    prop_oneof![4 => taking, 4 => speaking, 1 => other]
}
