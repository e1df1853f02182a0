//! The commands of an operator's script: the protocol itself, on the deployed table.

use super::Stack;
use lockstep::aws::Aws;
use lockstep::config::Config;
use lockstep::domain::{
    AuditNote, Command, HolderId, LockKey, Opening, Outcome, Retention, Seconds,
};
use lockstep::service::Deps;
use lockstep::store::LockStore;
use lockstep::testing;

/// The use cases on the deployed stack.
pub type Operator = Deps<Aws>;

const DAY: Retention = Retention::both(Seconds::of(86_400));

impl Stack {
    /// Returns an operator who may do everything.
    pub async fn operator(&self) -> Operator {
        let sdk = crate::sdk_config(&self.endpoint).await;
        let config = Config {
            table: self.output("LockTableName").to_owned(),
            retention: DAY,
            metrics_per_lock: false,
            event_bus: "default".into(),
            run_events: false,
            runbook: None,
            event_log_group: None,
            read_only: false,
            operate_function: None,
        };
        lockstep::aws::deps(&sdk, &config)
    }

    /// Executes `command` and the effects that remain. Returns its outcome.
    pub async fn command(&self, lock: &str, command: Command) -> Outcome {
        let operator = self.operator().await;
        let lock = key(lock);
        let outcome = operator.execute(&lock, &command).await;
        outcome.unwrap_or_else(|error| panic!("{command:?} of {lock}: {error}"))
    }

    /// Pauses a lock: its holders finish, and no new run starts.
    pub async fn pause_lock(&self, lock: &str, note: &str) {
        let done = self.command(lock, Command::Pause(signed(note), None)).await;
        assert_eq!(done, Outcome::Done, "a pause of {lock}");
    }

    /// Resumes a lock: permits are granted again.
    pub async fn resume_lock(&self, lock: &str, note: &str) {
        let done = self
            .command(lock, Command::Open(Opening::Resume, signed(note)))
            .await;
        assert_eq!(done, Outcome::Done, "a resumption of {lock}");
    }

    /// Takes the permit of `holder`, or its place in the queue, away.
    pub async fn evict(&self, lock: &str, holder: &str, note: &str) {
        let holder = HolderId::new(holder).expect("a holder");
        loop {
            let record = self.operator().await.store().load(&key(lock)).await;
            let record = record.expect("a table").expect("a lock");
            let evict = testing::evict(&record, holder.clone(), signed(note));
            match self.command(lock, evict).await {
                Outcome::Freed { .. } => return,
                // A heartbeat came first.
                Outcome::Unchanged if record.holders.contains_key(&holder) => {}
                other => panic!("an eviction: {other:?}"),
            }
        }
    }
}

pub(super) fn key(lock: &str) -> LockKey {
    LockKey::new(lock).expect("the name of a lock")
}

fn signed(note: &str) -> AuditNote {
    AuditNote {
        actor: HolderId::new("operator").expect("a name"),
        note: note.to_owned(),
        retention: DAY,
    }
}
