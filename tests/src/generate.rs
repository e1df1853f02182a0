//! Random locks, commands and histories. Few names and short times, so that they meet.

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

/// One step of a lock's history.
#[derive(Clone, Debug)]
pub enum Step {
    /// A holder takes a permit.
    Acquire(Acquire),
    /// A holder speaks under one of its grants.
    Under {
        /// Who.
        who: usize,
        /// Which grant: 0 is the latest, 1 the one before it.
        back: usize,
        /// Under another run key than the grant's.
        wrong_key: bool,
        /// What it does.
        act: Act,
    },
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

/// Steps, each with the milliseconds that pass before it and by how much its clock is slow.
pub fn history(longest: usize) -> impl Strategy<Value = Vec<(Step, u64, u64)>> {
    let wrong_key = (0..10_u8).prop_map(|dice| dice == 0);
    let back = prop_oneof![9 => Just(0_usize), 1 => Just(1)];
    let under =
        (0..HOLDERS, back, wrong_key, act()).prop_map(|(who, back, wrong_key, act)| Step::Under {
            who,
            back,
            wrong_key,
            act,
        });
    let step = prop_oneof![acquire().prop_map(Step::Acquire), under];
    let pause = prop_oneof![4 => 0..2_000_u64, 2 => 0..30_000_u64, 1 => Just(0)];
    let slow = prop_oneof![2 => Just(0), 1 => 0..=1000_u64];
    vec((step, pause, slow), 1..longest)
}

/// Turns steps into commands, with the tokens that were granted before.
#[derive(Debug, Default)]
pub struct Grants(BTreeMap<HolderId, Vec<(FencingToken, Option<RunKey>)>>);

impl Grants {
    /// The command of `step`.
    #[must_use]
    pub fn command(&self, step: &Step) -> Command {
        let (who, back, wrong_key, act) = match step {
            Step::Acquire(acquire) => return Command::Acquire(acquire.clone()),
            Step::Under {
                who,
                back,
                wrong_key,
                act,
            } => (holder(*who), *back, *wrong_key, *act),
        };
        let grants = self.0.get(&who).map(Vec::as_slice).unwrap_or_default();
        let grant = grants.iter().rev().nth(back).cloned();
        let (token, key) = grant.unwrap_or((FencingToken::from_number(1), None));
        let key = if wrong_key { Some(run_key(0)) } else { key };
        act.command(who, token, key)
    }

    /// The run key of a grant.
    #[must_use]
    pub fn run_key(&self, holder: &HolderId, token: FencingToken) -> Option<RunKey> {
        let mut grants = self.0.get(holder)?.iter();
        grants.find(|(own, _)| *own == token)?.1.clone()
    }

    /// Remembers a grant.
    pub fn add(&mut self, holder: HolderId, token: FencingToken, key: Option<RunKey>) {
        let grants = self.0.entry(holder).or_default();
        if grants.last().is_none_or(|(last, _)| *last != token) {
            grants.push((token, key));
        }
    }
}

/// Every run that a history can have written under these tokens.
pub fn run_ids(tokens: &[FencingToken]) -> impl Iterator<Item = RunId> {
    let keys = (0..KEYS).map(|index| RunId::Key(run_key(index)));
    keys.chain(tokens.iter().copied().map(RunId::Token))
}

/// A coin.
pub fn coin() -> impl Strategy<Value = bool> {
    any::<bool>()
}
