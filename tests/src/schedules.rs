//! Schedules in memory.

use lockstep_operate::schedules::{Schedule, ScheduleName, Schedules, SchedulesError};
use std::sync::{Mutex, PoisonError};

/// The schedules that a test has added.
#[derive(Debug, Default)]
pub struct MemorySchedules(Mutex<Vec<Result<Schedule, SchedulesError>>>);

impl MemorySchedules {
    /// Adds a schedule, and replaces one with the same ARN. An error is returned by every later call.
    pub fn put(&self, schedule: Result<Schedule, SchedulesError>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|other| match (other, &schedule) {
            (Ok(other), Ok(schedule)) => other.arn != schedule.arn,
            (Ok(_) | Err(_), _) => true,
        });
        all.push(schedule);
    }
}

impl Schedules for MemorySchedules {
    async fn find(&self, name: &ScheduleName) -> Result<Option<Schedule>, SchedulesError> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Err(error)) = all.iter().find(|one| one.is_err()) {
            return Err(error.clone());
        }
        let scheduled = name.in_scheduler();
        let scheduled = scheduled.map(|(group, name)| format!(":schedule/{group}/{name}"));
        let rule = name.of_rule().map(|name| format!(":rule/{name}"));
        let mut ends = scheduled.into_iter().chain(rule);
        let found = ends.find_map(|end| {
            let mut known = all.iter().flatten();
            known.find(|one| one.arn.ends_with(&end) && name.is_of(&one.arn))
        });
        Ok(found.cloned())
    }
}
