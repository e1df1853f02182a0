//! Random histories of a lock.

use crate::generate::{Act, BASE, HOLDERS, acquire, act, audit_note, forget, holder, run_key};
use lockstep::domain::{
    Acquire, Command, FencingToken, HolderId, Lease, LockRecord, Opening, RunKey, Timestamp,
};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy};
use proptest::prop_oneof;
use std::collections::BTreeMap;

/// One step of a lock's history.
#[derive(Clone, Debug)]
pub enum Step {
    /// A holder takes a permit, or waits for one.
    Acquire(Acquire),
    /// A holder sends a command under one of its grants.
    Under {
        /// The number of the holder.
        who: usize,
        /// The grant: 0 is the holder's latest, 1 the one before it.
        back: usize,
        /// Whether the command names the run key number 0 in place of the grant's.
        wrong_key: bool,
        /// The command.
        act: Act,
    },
    /// A command about the lock as a whole.
    Lock(Command),
}

/// Returns random histories of fewer than `longest` steps. Each step comes with the milliseconds that pass
/// before it, and with the milliseconds by which its clock is slow.
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
    let lock = prop_oneof![
        4 => Just(Command::HandOver),
        1 => Just(Command::Pause(audit_note(), None)),
        1 => (0..60_000_u64).prop_map(|millis| {
            let until = Timestamp::from_millis(BASE + millis);
            Command::Pause(audit_note(), Some(until))
        }),
        1 => Just(Command::Open(Opening::PauseEnd, audit_note())),
        3 => Just(Command::Open(Opening::Resume, audit_note())),
        1 => Just(Command::Reschedule),
        1 => Just(Command::NoteMissing),
        1 => Just(Command::Open(Opening::Rest, audit_note())),
        1 => forget(),
    ];
    let step = prop_oneof![
        5 => acquire().prop_map(Step::Acquire),
        5 => under,
        1 => lock.prop_map(Step::Lock),
    ];
    let pause = prop_oneof![4 => 0..2_000_u64, 2 => 0..30_000_u64, 1 => Just(0)];
    let slow = prop_oneof![2 => Just(0), 1 => 0..=1000_u64];
    vec((step, pause, slow), 1..longest)
}

/// The grants so far of each holder. It turns steps into commands that name the tokens of these grants.
#[derive(Debug, Default)]
pub struct Grants(BTreeMap<HolderId, Vec<(FencingToken, Option<RunKey>)>>);

impl Grants {
    /// Returns the command of `step`, as a caller sends it that has seen `record`.
    pub fn command(&self, step: &Step, record: Option<&LockRecord>) -> Command {
        let (who, back, wrong_key, act) = match step {
            Step::Acquire(acquire) => return Command::Acquire(acquire.clone()),
            Step::Lock(command) => return command.clone(),
            Step::Under {
                who,
                back,
                wrong_key,
                act,
            } => (holder(*who), *back, *wrong_key, act.clone()),
        };
        let grants = self.0.get(&who).map(Vec::as_slice).unwrap_or_default();
        let grant = grants.iter().rev().nth(back).cloned();
        let (token, key) = grant.unwrap_or((FencingToken::from_number(1), None));
        let key = if wrong_key { Some(run_key(0)) } else { key };
        let lease = record.and_then(|record| record.lease(&who, token));
        let seen = lease.map(Lease::version).unwrap_or_default();
        act.command(who, token, key, seen)
    }

    /// Returns the run key of a grant.
    pub fn run_key(&self, holder: &HolderId, token: FencingToken) -> Option<RunKey> {
        let mut grants = self.0.get(holder)?.iter();
        grants.find(|(own, _)| *own == token)?.1.clone()
    }

    /// Remembers a grant, and returns whether it is new.
    pub fn add(&mut self, holder: HolderId, token: FencingToken, key: Option<RunKey>) -> bool {
        let grants = self.0.entry(holder).or_default();
        let new = grants.iter().all(|(known, _)| *known != token);
        if new {
            grants.push((token, key));
        }
        new
    }
}
