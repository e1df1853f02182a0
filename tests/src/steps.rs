//! The steps of a run. The simulation counts the steps that a successful run takes, and the integration level
//! counts the requests and units that each step takes at the table. Both write them under these names into
//! `benches/figures.toml`, and `benches/cost` multiplies them.

/// acquire-lock grants a lock that has been used before.
pub const ACQUIRE: &str = "acquire a free lock";
/// acquire-lock refuses: another run holds the lock.
pub const HELD: &str = "find the lock held";
/// acquire-lock puts a run into the queue.
pub const QUEUE: &str = "enter the queue";
/// acquire-lock gets the next task token of a run that is in the queue.
pub const QUEUE_AGAIN: &str = "register again in the queue";
/// acquire-lock confirms the grant that ended a waiting state.
pub const CONFIRM: &str = "confirm a grant";
/// heartbeat renews the lease of a workflow.
pub const RENEW: &str = "renew";
/// release-lock frees the lock and ends the heartbeat state.
pub const RELEASE: &str = "release";
/// release-lock frees the lock of an execution that failed, and reads the latest runs of the lock to count
/// the earlier attempts.
pub const RELEASE_FAILED: &str = "release after a failure";
/// release-lock frees the lock, ends the heartbeat state, and grants the lock to the next run in the queue.
pub const HAND_OVER: &str = "release and hand over";
/// The reaper gets the event that the task of a run has stopped, after the release.
pub const STOPPED: &str = "see a task stopped";

/// All steps of successful runs of workflows.
pub const ALL: [&str; 9] = [
    ACQUIRE,
    HELD,
    QUEUE,
    QUEUE_AGAIN,
    CONFIRM,
    RENEW,
    RELEASE,
    HAND_OVER,
    STOPPED,
];

/// The steps of `lockstep run`, which sends its requests to the table itself. No state waits for it.
pub mod container {
    /// It acquires a lock that has been used before.
    pub const ACQUIRE: &str = "container: acquire a free lock";
    /// It enters the queue.
    pub const QUEUE: &str = "container: enter the queue";
    /// It polls while it is in the queue.
    pub const POLL: &str = "container: poll in the queue";
    /// It renews its lease.
    pub const RENEW: &str = "container: renew";
    /// It frees the lock.
    pub const RELEASE: &str = "container: release";
}
