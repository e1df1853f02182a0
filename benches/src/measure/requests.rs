//! Requests to DynamoDB for each step of a lock.

use crate::bare::{Bare, Extras};
use crate::guarded::{Guarded, execution, request};
use crate::results::Measurement;
use crate::subject::LIMIT;
use crate::table::{client, create, endpoint};
use crate::wire::Wire;
use lockstep::contract::{AcquireResponse, Grant};
use serde_json::{Value, json};
use std::path::Path;

const NOTE: &str = "Counted on the wire between the client and DynamoDB Local, failed requests included. A release that \
    ends a waiting beat also calls SendTaskSuccess once, and a function seals its first task token with a key that it \
    reads once.";

struct Counter {
    wire: Wire,
    measurement: Measurement,
}

impl Counter {
    /// Notes the requests since the last call.
    fn note(&mut self, step: &str, subject: &str) {
        let count = self.wire.take_counts().values().sum::<u32>();
        self.measurement
            .add_exact(step, subject, "requests", count.into());
    }
}

/// Counts and writes `requests`.
pub async fn measure(folder: &Path) {
    let table = create(&client(&endpoint()).await).await;
    let wire = Wire::to(&endpoint()).await;
    let client = client(wire.endpoint()).await;
    let measurement = Measurement::new("requests", "Requests of each step", LIMIT, NOTE);
    let mut counter = Counter { wire, measurement };

    let lockstep = Guarded::new(client.clone(), &table);
    steps(&mut counter, &lockstep).await;
    queue(&mut counter, &lockstep).await;

    let bare = Bare::new(client, &table, Extras::None);
    bare.pair("counted").await;
    drop(counter.wire.take_counts());
    bare.acquire("counted", "a").await;
    counter.note("acquire, free", LIMIT);
    bare.acquire("counted", "b").await;
    counter.note("acquire, held", LIMIT);
    bare.acquire("counted", "a").await;
    counter.note("renew", LIMIT);
    bare.release("counted", "a").await;
    counter.note("release", LIMIT);
    counter.measurement.write(folder);
}

async fn steps(counter: &mut Counter, lockstep: &Guarded) {
    const NAME: &str = "Lockstep";
    let beat = || json!({ "taskToken": "AQCEAAAAKgAAAAMAAAAAAAAAAc8heartbeat" });
    let grant = granted(lockstep).await;
    counter.note("acquire, first ever of a lock", NAME);
    lockstep.release(&grant).await;
    drop(counter.wire.take_counts());

    let grant = granted(lockstep).await;
    counter.note("acquire, free", NAME);
    assert!(lockstep.acquire("counted", &execution("b")).await.is_none());
    counter.note("acquire, held", NAME);
    lockstep.renew(&grant, json!({})).await;
    counter.note("renew", NAME);
    lockstep
        .renew(&grant, json!({ "progress": "chapter 2 of 9" }))
        .await;
    counter.note("renew with progress", NAME);
    lockstep.release(&grant).await;
    counter.note("release", NAME);

    let grant = granted(lockstep).await;
    lockstep.renew(&grant, beat()).await;
    drop(counter.wire.take_counts());
    lockstep.renew(&grant, beat()).await;
    counter.note("renew with a waiting beat", NAME);
    lockstep.release(&grant).await;
    counter.note("release with a waiting beat", NAME);
}

async fn queue(counter: &mut Counter, lockstep: &Guarded) {
    const NAME: &str = "Lockstep";
    let grant = granted(lockstep).await;
    drop(counter.wire.take_counts());
    let answer = lockstep.ask(waiting("b")).await;
    assert!(matches!(answer, AcquireResponse::Queued(_)), "{answer:?}");
    counter.note("place in the queue", NAME);
    lockstep.release(&grant).await;
    counter.note("release that hands over", NAME);
}

fn waiting(name: &str) -> Value {
    let mut event = request("counted", &execution(name));
    event["overlap"] = json!("queue");
    event["taskToken"] = json!("AQCEAAAAKgAAAAMAAAAAAAAAAc8turn");
    event
}

async fn granted(lockstep: &Guarded) -> Grant {
    let grant = lockstep.acquire("counted", &execution("a")).await;
    grant.expect("a free lock")
}
