//! Clocks that disagree.

use crate::world::World;
use lockstep::clock::Clock;
use lockstep::domain::{CLOCK_SKEW, Timestamp};
use std::sync::Arc;
use std::time::Duration;

/// The clock of one machine: behind the true time by up to what clocks may differ.
pub(crate) struct SimClock {
    world: Arc<World>,
    behind: u64,
}

impl SimClock {
    /// The clock of some machine.
    pub(crate) fn any(world: &Arc<World>) -> Self {
        let behind = match world.number(0..=3) {
            0 => 0,
            1 => CLOCK_SKEW.millis(),
            _ => world.number(0..=CLOCK_SKEW.millis()),
        };
        Self {
            world: Arc::clone(world),
            behind,
        }
    }
}

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.world.now() - self.behind)
    }

    async fn sleep(&self, length: Duration) {
        let millis = u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
        self.world.sleep(millis).await;
    }
}
