//! One look at the stack, and what is new since the last.

use super::Watch;
use crate::timeline::containers::Container;
use crate::timeline::feed::{Lease, Result};
use crate::timeline::{Fate, Millis};

impl Watch {
    /// Looks once at the executions, the lock and the containers, and tells what is new. The ends
    /// of executions are read first and told last: what led to an end is then told before it.
    pub(super) async fn look(&mut self) -> Result<()> {
        let mut ended = Vec::new();
        for arn in &self.running {
            let end = self.stack.ended(arn).await?;
            ended.extend(end.map(|(at, fate)| (arn.clone(), at, fate)));
        }
        self.look_at_lock().await?;
        let lines = self.stack.container_lines(self.begin).await?;
        let seen = Container::read(lines.iter().map(String::as_str), &self.lock);
        self.compare(&seen);
        self.containers = seen;
        for (arn, at, fate) in ended {
            self.running.retain(|running| *running != arn);
            self.say(&format!("{} {}", self.name(&arn), self.words(&fate)));
            let of_it = self.executions.iter_mut().find(|known| known.arn == arn);
            if let Some(execution) = of_it {
                (execution.ended, execution.fate) = (at, fate);
            }
        }
        Ok(())
    }

    async fn look_at_lock(&mut self) -> Result<()> {
        let (seen, waiting) = self.stack.lock(&self.lock).await?;
        let same = |a: &Lease, b: &Lease| a.token == b.token;
        match (&self.lease, &seen) {
            (Some(before), Some(now)) if same(before, now) => {
                if before.expires_at != now.expires_at {
                    self.say(&format!("{} renewed its lease", self.name(&now.holder)));
                }
            }
            (_, Some(now)) => {
                let (name, token) = (self.name(&now.holder), now.token);
                self.say(&format!("{name} holds the lock, fencing token {token}"));
            }
            (Some(_), None) => self.say("the lock is free"),
            (None, None) => {}
        }
        self.lease = seen;
        if waiting != self.waiting {
            self.say(&format!("{waiting} in the queue"));
            self.waiting = waiting;
        }
        Ok(())
    }

    fn compare(&self, seen: &[Container]) {
        for container in seen {
            let name = self.name(&container.holder);
            let before = self
                .containers
                .iter()
                .find(|known| known.id == container.id);
            if before.is_none() {
                self.say(&format!("{name}'s container starts to work"));
            }
            let new = |now: Option<Millis>, then: Option<Option<Millis>>| {
                now.is_some() && then.flatten().is_none()
            };
            if new(container.sigterm, before.map(|known| known.sigterm)) {
                self.say(&format!("{name}'s container gets SIGTERM"));
            }
            if new(container.ended, before.map(|known| known.ended)) {
                self.say(&format!("{name}'s container ends its work"));
            }
        }
    }

    fn words(&self, fate: &Fate) -> String {
        match fate {
            Fate::Succeeded => "succeeded".into(),
            Fate::Failed { error, .. } => format!("failed: {error}"),
            Fate::Skipped { holder, .. } => {
                format!("skipped: {} holds the lock", self.name(holder))
            }
            Fate::Duplicate { holder, .. } => {
                format!("duplicate: {} has this tick", self.name(holder))
            }
        }
    }
}
