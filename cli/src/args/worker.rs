//! The flags of `lockstep worker`.

use super::parse;
use super::shared::{ProtectArg, ScopeArg, TableArg};
use crate::once_key::OnceKey;
use clap::Args;
use lockstep::contract::LockOptions;
use lockstep::domain::LockKey;
use std::ffi::OsString;
use std::time::Duration;

const AFTER_HELP: &str = "\
A message is deleted only after its command has succeeded. If the command fails, the message is
visible again after 5s, 10s, 20s and so on up to --backoff-max, until the redrive policy of the
queue moves it to the dead-letter queue. A message whose once key has already succeeded is deleted
without a run. A message that cannot start because of the table, its lock or this machine is hidden
for 15s, 1m, 4m and so on up to an hour; no more messages are received until a read of the table
and one message succeed.

Exit codes:
  64   a flag or the environment is wrong        69   the queue or the table cannot be used
  126, 127  the command cannot be run, is not found
  143  stopped by SIGTERM (130 by SIGINT)

Environment:
  LOCKSTEP_TABLE   name of the lock table (or --table)
  LOCKSTEP_LOG     error, warn, info (default), debug or trace

The command gets the body of one message on standard input, and LOCKSTEP_LOCK, LOCKSTEP_HOLDER,
LOCKSTEP_FENCING_TOKEN, LOCKSTEP_TABLE, LOCKSTEP_RUN_KEY (the once key), LOCKSTEP_PROGRESS,
LOCKSTEP_MESSAGE_ID, LOCKSTEP_RECEIVE_COUNT and LOCKSTEP_MESSAGE_ATTRIBUTES (JSON, without
binary attributes). SQS delivers a message again 12 hours after it was received, even while its
command runs. The second delivery does not start a command while the first receiver holds the lease.

After SIGTERM the worker receives no more messages. Within --grace it waits for the poll that is
under way, which takes up to 20s. A second signal stops the commands at once, a third kills them.

Example:
  lockstep worker --queue-url https://sqs.eu-west-1.amazonaws.com/111122223333/orders \\
    --concurrency 4 --once-key order.id --protect -- ./handle-order";

/// Run a command for each message of an SQS queue
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct WorkerArgs {
    /// URL of a standard queue; a FIFO queue is refused
    #[arg(long, value_name = "URL", env = "LOCKSTEP_QUEUE_URL", hide_env_values = true,
          value_parser = parse_queue)]
    pub(crate) queue_url: QueueUrl,
    /// Maximum number of commands that run at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=100))]
    pub(crate) concurrency: u8,
    /// Prefix of the names of the locks, NAME/00 to NAME/3f [default: the name of the queue]
    #[arg(long, value_name = "NAME", value_parser = lock_prefix)]
    pub(crate) lock: Option<String>,
    /// JMESPath of the idempotency key in the JSON body of a message: a string or a 64-bit integer
    /// [default: the id of the message]
    #[arg(long, value_name = "JMESPATH", value_parser = OnceKey::compile)]
    pub(crate) once_key: Option<OnceKey>,
    #[command(flatten)]
    pub(crate) table: TableArg,
    /// Length of the lease, 5s to 24h: another worker may take the message after this time without a renewal
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse::lease)]
    pub(crate) lease: Duration,
    /// Time from SIGTERM of the worker to the end of all processes of all commands; the commands get SIGTERM
    /// 5s before this time is over, or after half of it if it is below 10s. Also the time from SIGTERM to
    /// SIGKILL of a command that is over its --max-run
    #[arg(long, value_name = "TIME", default_value = "25s", value_parser = parse::duration)]
    pub(crate) grace: Duration,
    #[command(flatten)]
    pub(crate) scope: ScopeArg,
    /// Stop a command after this time
    #[arg(long, value_name = "TIME", value_parser = parse::option(LockOptions::MAX_RUN))]
    pub(crate) max_run: Option<Duration>,
    /// Stop a command after this time without a change in its progress
    #[arg(long, value_name = "TIME", value_parser = parse::option(LockOptions::NO_PROGRESS))]
    pub(crate) no_progress: Option<Duration>,
    /// Longest time before a failed message is visible again
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = backoff)]
    pub(crate) backoff_max: Duration,
    #[command(flatten)]
    pub(crate) protect: ProtectArg,
    /// When a deployment replaces the ECS task, finish the messages at work and exit with 0; a deployment does
    /// not stop a protected task
    #[arg(long)]
    pub(crate) drain_on_deploy: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// The URL of a queue, and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueueUrl {
    /// The URL.
    pub(crate) url: String,
    /// The queue's name.
    pub(crate) name: String,
}

/// Parses `https://sqs.<region>.amazonaws.com/<account>/<name>`, with any host
/// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-queue-message-identifiers.html>).
fn parse_queue(text: &str) -> Result<QueueUrl, String> {
    let rule = "must be the URL of a queue, such as \
                https://sqs.eu-west-1.amazonaws.com/111122223333/orders";
    let path = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    let name = path.and_then(|path| path.rsplit_once('/')).map(|(_, n)| n);
    let name = name.filter(|name| !name.is_empty()).ok_or(rule)?;
    if name.ends_with(".fifo") {
        let why = "a FIFO queue hands out no message of a group while another one is in flight, \
                   and one that fails blocks its group: use a standard queue";
        return Err(why.into());
    }
    lock_prefix(name).map_err(|_| rule)?;
    Ok(QueueUrl {
        url: text.into(),
        name: name.into(),
    })
}

/// Parses the prefix of the name of a lock. A slash and two digits, the shard, follow it.
fn lock_prefix(text: &str) -> Result<String, String> {
    match LockKey::new(format!("{text}/00")) {
        Ok(_) if !text.is_empty() => Ok(text.to_owned()),
        _ => Err(format!(
            "{}, of which the last three are the shard",
            LockKey::RULE
        )),
    }
}

/// Parses the longest back-off. SQS hides a message for at most 12 hours
/// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-visibility-timeout.html>).
fn backoff(text: &str) -> Result<Duration, String> {
    let length = parse::limit(text)?;
    let longest = Duration::from_secs(11 * 3_600);
    (length <= longest)
        .then_some(length)
        .ok_or_else(|| "must be from 1s to 11h".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_queue_is_the_end_of_its_url() {
        let aws = "https://sqs.eu-west-1.amazonaws.com/111122223333/orders";
        for url in [aws, "http://127.0.0.1:4566/000000000000/orders"] {
            let name = parse_queue(url).map(|queue| queue.name);
            assert_eq!(name, Ok("orders".into()));
        }
        for bad in "orders|https://host/|sqs://host/1/orders|https://host/1/a b".split('|') {
            assert!(parse_queue(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_fifo_queue_is_refused_with_the_reason() {
        let problem = parse_queue("https://host/1/orders.fifo").unwrap_err();

        assert!(problem.contains("standard queue"), "{problem}");
    }

    #[test]
    fn a_lock_leaves_room_for_its_shard() {
        assert!(lock_prefix(&"a".repeat(125)).is_ok());
        assert!(lock_prefix(&"a".repeat(126)).is_err());
        assert!(lock_prefix("").is_err() && lock_prefix("a b").is_err());
    }

    #[test]
    fn a_backoff_is_shorter_than_the_longest_visibility_timeout_of_sqs() {
        assert_eq!(backoff("11h"), Ok(Duration::from_secs(39_600)));
        assert!(backoff("12h").is_err() && backoff("0s").is_err());
    }
}
