//! One poll of the stack, and what is new since the last.

use super::Watch;
use crate::timeline::containers::Container;
use crate::timeline::feed::{self, Lease};
use crate::timeline::{Fate, Millis};

impl Watch {
    /// Reads the executions, the lock and the containers once, and prints what is new. The ends of
    /// executions are read first and printed last: what led to an end is then printed before it.
    pub(super) async fn poll(&mut self) {
        let mut ended = Vec::new();
        for arn in &self.running {
            ended.extend(self.stack.ended(arn).await);
        }
        self.poll_lock().await;
        let lines = self.stack.container_lines(self.begin).await;
        let seen = Container::read(lines.iter().map(String::as_str), &self.lock);
        self.compare(&seen);
        self.containers = seen;
        for ended in ended {
            let (arn, started, stopped) = (ended.arn.clone(), ended.started, ended.stopped);
            let fate = feed::fate(ended);
            self.running.retain(|running| *running != arn);
            self.say(&format!("{} {}", self.name(&arn), self.words(&fate)));
            let of_it = self.executions.iter_mut().find(|known| known.arn == arn);
            if let Some(execution) = of_it {
                (execution.started, execution.ended, execution.fate) = (started, stopped, fate);
            }
        }
    }

    async fn poll_lock(&mut self) {
        let item = self.stack.lock_item(&self.lock).await;
        let (seen, waiting) = feed::lock(&item.unwrap_or_default());
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
