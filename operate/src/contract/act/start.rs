//! The request to start a run of a lock.

use super::{InvalidRequest, audit};
use crate::schedules::ScheduleName;
use lockstep::contract::{parse_time, quoted, text};
use lockstep_core::domain::{
    AuditNote, Invalid, LockKey, Retention, RunKey, Timestamp, start_name,
};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Starts the workflow of a lock's latest run again with the same input, or starts what a tick of a schedule
/// would start. The new execution acquires the lock as any other does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StartRequest {
    /// The name of the lock.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 128)))]
    pub lock: String,
    /// The run key of the run to start again, instead of the latest run. A success of the key is forgotten
    /// first. With `schedule`, this must be the run key in the input of the schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 512)))]
    pub again: Option<String>,
    /// A schedule of EventBridge Scheduler, or a rule of the default event bus with a schedule expression.
    /// Its target is started with its input, instead of the latest run. Give its ARN, its name, or
    /// `GROUP/NAME` of a schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 512)))]
    pub schedule: Option<String>,
    /// The scheduled time to fill into the input of `schedule` (RFC 3339), not later than now. Default: now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled_time: Option<String>,
    /// `true` checks everything and starts nothing. Default `false`.
    #[serde(default)]
    pub dry_run: bool,
    /// An id that is new for each start: 1 to 40 characters out of A-Z a-z 0-9 - _. A repetition of the same request with
    /// the same id starts nothing more. Default: the current time in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 40)))]
    pub id: Option<String>,
    /// Why, for the history: 1 to 500 characters.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 500)))]
    pub note: String,
    /// Who: 1 to 512 visible ASCII characters without spaces, such as a user's ARN or mail address.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 512)))]
    pub actor: String,
}

/// A checked [`StartRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedStart {
    /// The lock.
    pub lock: LockKey,
    /// The run key of the run to start again, whose success is forgotten.
    pub again: Option<RunKey>,
    /// The schedule that the input comes from, and the scheduled time in whole seconds.
    pub schedule: Option<(ScheduleName, Timestamp)>,
    /// The name of the new execution. A repetition of the request has the same name.
    pub name: String,
    /// Whether to check everything and start nothing.
    pub dry_run: bool,
    /// The actor and the note.
    pub audit: AuditNote,
}

impl StartRequest {
    /// Checks every field, at the time `now`. The history keeps the act for `retention`.
    ///
    /// # Errors
    /// The first field that breaks its rule.
    pub fn check(
        self,
        retention: Retention,
        now: Timestamp,
    ) -> Result<CheckedStart, InvalidRequest> {
        let again = self
            .again
            .as_ref()
            .map(|key| text("again", key, RunKey::new));
        let lock = text("lock", &self.lock, LockKey::new)?;
        let id = match &self.id {
            Some(id) => text("id", id, id_text)?,
            None => now.millis().to_string(),
        };
        // The fields as the request gives them. A default such as the current time would differ in a
        // repetition.
        let given = [&self.again, &self.schedule, &self.scheduled_time];
        let given = given.map(|text| text.as_deref().unwrap_or_default());
        Ok(CheckedStart {
            name: start_name(&lock, &given, &id),
            lock,
            again: again.transpose()?,
            schedule: self.tick(now)?,
            dry_run: self.dry_run,
            audit: audit(&self.actor, &self.note, retention)?,
        })
    }

    fn tick(&self, now: Timestamp) -> Result<Option<(ScheduleName, Timestamp)>, InvalidRequest> {
        const TIME: &str = "scheduledTime";
        let schedule = self.schedule.as_ref();
        let schedule = schedule.map(|name| text("schedule", name, ScheduleName::new));
        let Some(time) = &self.scheduled_time else {
            let now = |name| (name, to_the_second(now));
            return Ok(schedule.transpose()?.map(now));
        };
        let at = parse_time(TIME, time)?;
        let wrong = |rule| Err(InvalidRequest::new(TIME, quoted(time), rule));
        match schedule.transpose()? {
            None => wrong("given only together with schedule"),
            Some(_) if at > now => wrong("a time that is not later than now"),
            Some(name) => Ok(Some((name, to_the_second(at)))),
        }
    }
}

/// Returns `time` in whole seconds, because a scheduled time has no fractions of a second.
fn to_the_second(time: Timestamp) -> Timestamp {
    Timestamp::from_millis(time.millis() / 1000 * 1000)
}

/// Checks an id, which becomes part of the name of an execution
/// (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html>).
fn id_text(id: String) -> Result<String, Invalid> {
    let rule = "1 to 40 characters out of A-Z a-z 0-9 - _";
    let allowed = |one: u8| one.is_ascii_alphanumeric() || b"-_".contains(&one);
    match (1..=40).contains(&id.len()) && id.bytes().all(allowed) {
        true => Ok(id),
        false => Err(Invalid { rule }),
    }
}
