//! Compares the settings of a queue with the flags of its worker.

use std::time::Duration;

/// Fewest receives that a queue should allow: enough for a deployment, and for a table that does not answer
/// for an hour.
const RECEIVES_MIN: u32 = 5;

/// The settings of a queue
/// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_GetQueueAttributes.html>).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct QueueSettings {
    /// Number of receives after which a message moves to the dead-letter queue; `None` without a redrive
    /// policy.
    pub(crate) max_receives: Option<u32>,
    /// How long the queue keeps a message.
    pub(crate) retention: Option<Duration>,
}

/// The settings of the worker.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flags {
    pub(crate) lease: Duration,
    pub(crate) max_run: Option<Duration>,
    /// How long the run key of a success is kept.
    pub(crate) key_retention: Duration,
}

/// Returns a sentence for each setting that may cost messages or additional runs.
pub(crate) fn risks(queue: QueueSettings, flags: Flags) -> Vec<String> {
    let mut risks = Vec::new();
    if let Some(most) = queue.max_receives {
        // A copy of a message is hidden for the lease, then for twice the lease, and so on.
        let hidden = flags.lease.saturating_mul(2_u32.saturating_pow(most) - 1);
        if most < RECEIVES_MIN {
            risks.push(format!(
                "maxReceiveCount is {most}, but a deployment that stops a command costs a receive too: choose \
                 {RECEIVES_MIN} or more"
            ));
        } else if let Some(longest) = flags.max_run.filter(|longest| *longest > hidden) {
            risks.push(format!(
                "maxReceiveCount is {most}: a copy of a message whose work takes longer than {hidden:?} moves to the \
                 dead-letter queue meanwhile, and --max-run is {longest:?}; raise maxReceiveCount or --lease"
            ));
        }
    }
    if let Some(kept) = queue.retention.filter(|kept| *kept > flags.key_retention) {
        risks.push(format!(
            "MessageRetentionPeriod is {kept:?}, but the table keeps a once key for {:?}: a copy that comes later \
             runs again; raise RunKeyRetentionDays",
            flags.key_retention
        ));
    }
    risks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_that_costs_messages_or_runs_is_named() {
        let day = Duration::from_secs(86_400);
        let good = QueueSettings {
            max_receives: Some(5),
            retention: Some(4 * day),
        };
        let flags = Flags {
            lease: Duration::from_secs(60),
            max_run: None,
            key_retention: 14 * day,
        };
        let receives = |most| QueueSettings {
            max_receives: most,
            ..good
        };
        let run = |seconds| Flags {
            max_run: Some(Duration::from_secs(seconds)),
            ..flags
        };
        let kept = QueueSettings {
            retention: Some(15 * day),
            ..good
        };
        for (queue, flags, expected) in [
            (good, flags, ""),
            (receives(None), flags, ""),
            (receives(Some(1)), flags, "maxReceiveCount is 1,"),
            (receives(Some(4)), run(1), "maxReceiveCount is 4,"),
            // 31 leases.
            (good, run(1_860), ""),
            (good, run(1_861), "maxReceiveCount is 5: a copy"),
            (receives(Some(1_000)), run(86_400), ""),
            (kept, flags, "MessageRetentionPeriod is 1296000s"),
        ] {
            let risks = risks(queue, flags).join(" ");
            assert!(risks.starts_with(expected), "{queue:?} {flags:?}: {risks}");
            assert_eq!(risks.is_empty(), expected.is_empty(), "{risks}");
        }
    }
}
