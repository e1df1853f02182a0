//! The steps of runs that succeed. The simulation counts how many of each a run takes, and the integration level what
//! each asks of the table: `benches/cost` multiplies them, by these names in `benches/figures.toml`.

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
/// The same of a run that failed, without the steps of others: it reads the attempts before.
pub const RELEASE_FAILED: &str = "release after a failure";
/// As a release, and grants the lock to the next run in the queue.
pub const HAND_OVER: &str = "release and hand over";
/// The reaper gets the event that the task of a run has stopped, after the release.
pub const STOPPED: &str = "see a task stopped";

/// All steps of workflows.
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

/// The same of `lockstep run`, which makes the requests itself: no state waits for it.
pub mod container {
    /// It gets a lock that has been used before.
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
