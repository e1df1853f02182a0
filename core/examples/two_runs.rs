//! Two runs of one batch contend for its lock: `cargo run -p lockstep-core --example two_runs --features memory`
//!
//! The table is in memory and the clock moves only when the example advances it, so the example ends at
//! once.

use lockstep_core::clock::{Clock, ManualClock};
use lockstep_core::domain::{
    Acquire, Command, FencingToken, HolderId, LockKey, Outcome, Refusal, Release, Renew, Retention,
    RunOutcome, Seconds, Terms, Timestamp, rfc3339,
};
use lockstep_core::protocol::{Protocol, ProtocolError};
use lockstep_core::store::LockStore;
use lockstep_core::store::memory::MemoryStore;
use std::error::Error;
use std::time::Duration;

const RETENTION: Retention = Retention {
    history: Seconds::of(172_800),
    run_keys: Seconds::of(86_400),
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let clock = ManualClock::at(Timestamp::from_millis(1_800_000_000_000));
    let locks = Protocol::new(MemoryStore::default(), &clock, 7);
    let lock = LockKey::new("nightly-report")?;
    let (first, second) = (HolderId::new("run-1")?, HolderId::new("run-2")?);

    let token = acquire(&locks, &lock, &first).await?.expect("a free lock");
    let refused = acquire(&locks, &lock, &second).await?;
    assert_eq!(refused, None, "a held lock is granted to one run only");

    clock.advance(Duration::from_secs(20));
    let renew = Renew {
        holder: first.clone(),
        token,
        beat: None,
        pace: None,
        progress: Some("half of the rows".into()),
        no_progress: None,
        redrives: None,
        resumes: false,
        retention: RETENTION,
    };
    let renewed = locks.execute(&lock, &Command::Renew(renew)).await?;
    if let Outcome::Renewed { expires_at } = renewed.outcome {
        println!("run-1 keeps its lease until {}", rfc3339(expires_at));
    }

    let release = Release {
        holder: first,
        token,
        run_key: None,
        outcome: RunOutcome::Succeeded,
        expect_every: None,
        retention: RETENTION,
    };
    locks.execute(&lock, &Command::Release(release)).await?;
    println!("run-1 releases the lock");

    clock.advance(Duration::from_secs(1));
    let later = acquire(&locks, &lock, &second).await?.expect("a free lock");
    assert!(later > token, "fencing tokens grow with each grant");

    for run in locks.store().history(&lock, None, 10).await?.runs {
        println!(
            "history: {} ended as {:?}",
            run.holder,
            run.end.map(|end| end.outcome)
        );
    }
    Ok(())
}

/// Requests the lock for `holder`. Returns the token of the grant, or `None` if another run holds the lock.
async fn acquire(
    locks: &Protocol<MemoryStore, &ManualClock>,
    lock: &LockKey,
    holder: &HolderId,
) -> Result<Option<FencingToken>, ProtocolError> {
    let request = Acquire::new(Terms::new(holder.clone(), RETENTION));
    match locks.execute(lock, &Command::Acquire(request)).await {
        Ok(done) => match done.outcome {
            Outcome::Granted { lease } | Outcome::AlreadyHeld { lease } => {
                println!("{holder} is granted the lock with token {}", lease.token);
                Ok(Some(lease.token))
            }
            other => {
                println!("{holder}: {other:?}");
                Ok(None)
            }
        },
        Err(ProtocolError::Refused(Refusal::Held { holders, .. })) => {
            let names: Vec<_> = holders.iter().map(|(holder, _)| holder.as_str()).collect();
            let now = rfc3339(locks.clock().now());
            println!(
                "{holder} is refused at {now}: {} holds the lock",
                names.join(", ")
            );
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
