//! Random locks and commands. Few names and short times, so that they meet.

use lockstep::domain::{
    Acquire, Command, FencingToken, HolderId, Lease, LockRecord, Mode, Permits, Release, Renew,
    Run, RunEnd, RunId, RunKey, RunOutcome, Seconds, TaskToken, Timestamp,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Just, Strategy, any};
use proptest::prop_oneof;
use std::collections::BTreeMap;

/// The time around which all random times lie.
pub const BASE: u64 = 1_767_225_600_000;
/// How many holders there are.
pub const HOLDERS: usize = 4;
/// How many run keys there are.
pub const KEYS: usize = 3;

/// A point `millis` after a minute before [`BASE`].
#[must_use]
pub fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(BASE - 60_000 + millis)
}

/// The holder number `index`.
///
/// # Panics
/// Never.
#[must_use]
pub fn holder(index: usize) -> HolderId {
    HolderId::new(format!("arn:aws:states:x:1:execution:m:{index}#a.b")).expect("a valid holder")
}

/// The run key number `index`.
///
/// # Panics
/// Never.
#[must_use]
pub fn run_key(index: usize) -> RunKey {
    RunKey::new(format!("schedule/{index}#tick")).expect("a valid run key")
}

fn beat(number: u8) -> TaskToken {
    TaskToken::new(format!("beat-{number}")).expect("a valid task token")
}

fn permits() -> impl Strategy<Value = Permits> {
    (1..=3_i64).prop_map(|count| Permits::new(count).expect("a valid capacity"))
}

fn time() -> impl Strategy<Value = Timestamp> {
    (0..120_000_u64).prop_map(at)
}

fn key() -> impl Strategy<Value = Option<RunKey>> {
    option::of((0..KEYS).prop_map(run_key))
}

fn length() -> impl Strategy<Value = Seconds> {
    (1..40_u32).prop_map(Seconds::of)
}

fn outcome() -> impl Strategy<Value = RunOutcome> {
    prop_oneof![
        Just(RunOutcome::Succeeded),
        Just(RunOutcome::Failed),
        Just(RunOutcome::Lost),
    ]
}

fn mode() -> impl Strategy<Value = Mode> {
    prop_oneof![
        6 => Just(Mode::Open),
        1 => Just(Mode::Paused { note: "by hand".into() }),
        1 => Just(Mode::Frozen { note: String::new() }),
    ]
}

fn lease() -> impl Strategy<Value = Lease> {
    let end = (0..120_000_u64).prop_map(at);
    (
        end,
        length(),
        option::of(time()),
        key(),
        option::of(0..3_u8),
    )
        .prop_map(|(expires_at, length, run_until, run_key, number)| Lease {
            token: FencingToken::NONE,
            expires_at,
            length,
            run_until,
            run_key,
            beat: number.map(beat),
        })
}

/// A record that keeps all rules.
pub fn record() -> impl Strategy<Value = LockRecord> {
    let leases = vec((0..HOLDERS, lease()), 0..4);
    let counters = (0..1000_u64, 0..3_u64, 0..90_000_u64);
    (permits(), leases, counters, time(), mode()).prop_map(
        |(permits, leases, (version, waiters, granted), not_before, mode)| {
            let mut record = LockRecord::new(permits);
            record.version = version;
            record.not_before = not_before;
            record.mode = mode;
            record.last_ticket = waiters;
            // Waiters are rare in what can happen today, so most records have none.
            record.queue = (2..=waiters).map(|n| (format!("w{n}"), n)).collect();
            let first = at(granted).millis();
            for (number, (index, lease)) in (0..).zip(leases) {
                add(&mut record, holder(index), lease, first + number);
            }
            record.last_token = FencingToken::from_number(first + 10);
            record
        },
    )
}

/// Adds a lease where the rules allow it.
fn add(record: &mut LockRecord, holder: HolderId, mut lease: Lease, token: u64) {
    let taken = lease
        .run_key
        .as_ref()
        .and_then(|key| record.holder_of_run(key));
    if taken.is_some() {
        lease.run_key = None;
    }
    lease.token = FencingToken::from_number(token);
    if record.permits.has_room(record.holders.len()) {
        record.holders.insert(holder, lease);
    }
}

/// Runs that go with `record`: each lease with a run key has its running run; other keys have old
/// ones, ended or left behind.
pub fn runs(record: Option<LockRecord>) -> impl Strategy<Value = BTreeMap<RunId, Run>> {
    let end = (outcome(), time(), time()).prop_map(|(outcome, at, retain_until)| RunEnd {
        outcome,
        at,
        retain_until,
    });
    let old = (0..HOLDERS, 0..60_000_u64, option::weighted(0.8, end));
    vec(option::of(old), KEYS).prop_map(move |olds| {
        let mut runs = BTreeMap::new();
        for (index, old) in olds.into_iter().enumerate() {
            let Some((who, granted, end)) = old else {
                continue;
            };
            let token = FencingToken::from_number(at(granted).millis());
            let holder = holder(who);
            runs.insert(RunId::Key(run_key(index)), Run { holder, token, end });
        }
        for (holder, lease) in record.iter().flat_map(|record| &record.holders) {
            let running = Run {
                holder: holder.clone(),
                token: lease.token,
                end: None,
            };
            if lease.run_key.is_some() {
                runs.insert(lease.run_id(), running);
            }
        }
        runs
    })
}

/// A request to take a permit.
pub fn acquire() -> impl Strategy<Value = Acquire> {
    let limits = (
        option::weighted(0.2, length()),
        option::weighted(0.2, length()),
    );
    (
        (0..HOLDERS).prop_map(holder),
        permits(),
        length(),
        limits,
        key(),
    )
        .prop_map(
            |(holder, permits, lease, (max_run, min_interval), run_key)| Acquire {
                holder,
                permits,
                lease,
                max_run,
                min_interval,
                run_key,
                retention: Seconds::of(60),
            },
        )
}

/// What a holder does under a grant.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// A heartbeat, with a heartbeat state or without.
    Renew(Option<u8>),
    /// The end of the run.
    Release(RunOutcome),
}

impl Act {
    /// The command of `holder` under the grant `token`.
    #[must_use]
    pub fn command(self, holder: HolderId, token: FencingToken, key: Option<RunKey>) -> Command {
        match self {
            Self::Renew(number) => Command::Renew(Renew {
                holder,
                token,
                run_key: key,
                beat: number.map(beat),
            }),
            Self::Release(outcome) => Command::Release(Release {
                holder,
                token,
                run_key: key,
                outcome,
                retention: Seconds::of(60),
            }),
        }
    }
}

/// What a holder does under a grant.
pub fn act() -> impl Strategy<Value = Act> {
    let outcome = prop_oneof![Just(RunOutcome::Succeeded), Just(RunOutcome::Failed)];
    prop_oneof![
        option::of(0..3_u8).prop_map(Act::Renew),
        outcome.prop_map(Act::Release),
    ]
}

/// A coin.
pub fn coin() -> impl Strategy<Value = bool> {
    any::<bool>()
}
