//! How large a lock's item is, and what writing it costs.

use crate::bare::{Bare, Extras};
use crate::guarded::{Guarded, key};
use crate::results::Measurement;
use crate::scenes;
use crate::subject::LIMIT;
use crate::table::{client, create, endpoint, items};
use crate::units::{Items, size, written};
use crate::wire::Wire;
use aws_sdk_dynamodb::Client;
use lockstep::contract::Grant;
use lockstep::domain::{Change, Clause, Guard, Update};
use lockstep::store::{Commit, LockStore};
use serde_json::json;
use std::path::Path;

const SIZE_NOTE: &str = "The item as the adapter writes it, read back and measured by DynamoDB's rules. Holders are \
    execution ARNs of 105 characters without a task token; a workflow's heartbeat adds about 1,000 bytes to each.";
const UNITS_NOTE: &str = "Computed by DynamoDB's rules from the items before and after a step of one request: a unit for each \
    KB of the larger of both, twice in a transaction, and one for each entry that an index gains or loses. Units of a pair \
    are those of acquire and release together.";
const LOCKSTEP: &str = "Lockstep";

/// Where a step is measured.
struct Place {
    client: Client,
    table: String,
    wire: Wire,
}

impl Place {
    async fn items(&self, lock: &str) -> Items {
        items(&self.client, &self.table, lock).await
    }

    /// The write units of `step` on `lock`, which has to be one request.
    async fn units(&self, lock: &str, step: impl Future<Output = ()>) -> u64 {
        let before = self.items(lock).await;
        drop(self.wire.take_counts());
        step.await;
        let counts = self.wire.take_counts();
        let requests: u32 = counts.values().sum();
        assert_eq!(requests, 1, "a step of one request: {counts:?}");
        let factor = if counts.contains_key("TransactWriteItems") {
            2
        } else {
            1
        };
        written(&before, &self.items(lock).await, factor)
    }
}

/// Measures and writes `item-size` and `write-units`.
pub async fn measure(folder: &Path) {
    let client_of_table = client(&endpoint()).await;
    let table = create(&client_of_table).await;
    let wire = Wire::to(&endpoint()).await;
    let client = client(wire.endpoint()).await;
    let guarded = Guarded::new(client.clone(), &table);
    let place = Place {
        client: client_of_table,
        table: table.clone(),
        wire,
    };
    let mut sizes = Measurement::new("item-size", "Size of a lock's item", "", SIZE_NOTE);
    let mut costs = Measurement::new("write-units", "Write units of a step", LIMIT, UNITS_NOTE);

    pair(&place, &mut costs, &guarded).await;
    bare_pair(&place, &mut costs, &Bare::new(client, &table, Extras::None)).await;
    for (holders, waiting) in [(0, 0), (1, 0), (5, 0), (20, 0), (1, 10), (1, 100), (1, 500)] {
        let lock = format!("lock-{holders}-{waiting}");
        write(&guarded, &lock, holders, waiting).await;
        let item = &place.items(&lock).await["lock"];
        let figure = format!("{}, {waiting} waiting", counted(holders));
        sizes.add_exact(&figure, LOCKSTEP, "bytes", size(item) as u64);
        if holders > 0 {
            let renewal = async {
                guarded.renew(&grant(&lock), json!({})).await;
            };
            let cost = place.units(&lock, renewal).await;
            costs.add_exact(&format!("renew, {figure}"), LOCKSTEP, "write units", cost);
        }
    }
    sizes.write(folder);
    costs.write(folder);
}

fn counted(holders: usize) -> String {
    match holders {
        1 => "1 holder".into(),
        more => format!("{more} holders"),
    }
}

/// An acquire and a release of a lock that exists.
async fn pair(place: &Place, costs: &mut Measurement, guarded: &Guarded) {
    guarded.pair("pair").await;
    let mut grant = None;
    let acquire = async { grant = guarded.acquire("pair", scenes::name(1).as_str()).await };
    let acquired = place.units("pair", acquire).await;
    let grant = grant.expect("a free lock");
    let released = place.units("pair", guarded.release(&grant)).await;
    note_pair(costs, LOCKSTEP, acquired, released);
}

async fn bare_pair(place: &Place, costs: &mut Measurement, bare: &Bare) {
    bare.pair("bare").await;
    let acquire = async { assert!(bare.acquire("bare", "owner-1").await) };
    let acquired = place.units("bare", acquire).await;
    let released = place.units("bare", bare.release("bare", "owner-1")).await;
    note_pair(costs, LIMIT, acquired, released);
}

fn note_pair(costs: &mut Measurement, subject: &str, acquired: u64, released: u64) {
    costs.add_exact("acquire", subject, "write units", acquired);
    costs.add_exact("release", subject, "write units", released);
    costs.add_exact("pair", subject, "write units", acquired + released);
}

/// Writes a lock with holders and waiters through the adapter.
async fn write(guarded: &Guarded, lock: &str, holders: usize, waiting: usize) {
    let permits = u8::try_from(holders.max(1)).expect("at most 100 holders");
    let record = scenes::record(permits, holders, waiting);
    let change = Change {
        guard: Guard(vec![Clause::Absent]),
        update: Update::Create(record),
        runs: Vec::new(),
        act: None,
        waiter: None,
        read_back: false,
    };
    let done = guarded.store().commit(&key(lock), &change).await;
    assert_eq!(done, Ok(Commit::Committed(None)), "{lock}");
}

/// The grant of the first holder of such a lock.
fn grant(lock: &str) -> Grant {
    let record = scenes::record(1, 1, 0);
    let holder = scenes::name(1);
    Grant::of(&key(lock), &holder, &record.holders[&holder])
}
