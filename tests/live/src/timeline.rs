//! What happened on one lock, as data: executions, their leases, and what containers recorded.
//!
//! The demo collects the data from a deployed stack, and the renderers draw it. Times are epoch
//! milliseconds.

pub mod html;
pub mod journal;
pub mod layout;
pub mod scenario;
pub mod svg;
pub mod text;
pub mod verdict;
pub mod watch;

#[cfg(test)]
pub(crate) mod sample;

use crate::stack::{Ended, Run};
use journal::Journal;

/// Epoch milliseconds.
pub type Millis = u64;

/// A part of the demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scene {
    /// One tick, delivered ten times at once.
    Burst,
    /// The next tick comes while the first still runs.
    Overlap,
    /// The first tick is delivered again after its success.
    Redelivery,
    /// The next tick comes when the lock is free.
    Next,
    /// A batch fails.
    Failure,
    /// A holder is evicted in the middle.
    Eviction,
    /// A run is killed while others wait for it.
    Kill,
}

impl Scene {
    /// All scenes, in their order.
    pub const ALL: [Self; 7] = [
        Self::Burst,
        Self::Overlap,
        Self::Redelivery,
        Self::Next,
        Self::Failure,
        Self::Eviction,
        Self::Kill,
    ];

    /// Returns its letter, with which the names of its executions start.
    pub const fn letter(self) -> char {
        match self {
            Self::Burst => 'a',
            Self::Overlap => 'b',
            Self::Redelivery => 'c',
            Self::Next => 'd',
            Self::Failure => 'e',
            Self::Eviction => 'f',
            Self::Kill => 'g',
        }
    }

    /// Says what happens in it.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Burst => "one tick, delivered ten times at once",
            Self::Overlap => "another tick, while the first still runs",
            Self::Redelivery => "the first tick again, after its success",
            Self::Next => "the next tick, with the lock free",
            Self::Failure => "a batch that fails, then the next tick",
            Self::Eviction => "a holder evicted in the middle, then the next tick",
            Self::Kill => "a run killed in the middle, with two ticks waiting in the queue",
        }
    }
}

/// One execution of the state machine.
#[derive(Clone, Debug)]
pub struct Execution {
    /// Its scene.
    pub scene: Scene,
    /// Its name in the picture, for example `a3`.
    pub name: String,
    /// Its ARN, which is also the holder.
    pub arn: String,
    /// When it was started.
    pub started: Millis,
    /// When it ended.
    pub ended: Millis,
    /// How it ended.
    pub fate: Fate,
}

/// How an execution ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It held the lock and its batch succeeded.
    Succeeded,
    /// It ended with an error.
    Failed {
        /// The error's name.
        error: String,
        /// The error's cause.
        cause: String,
    },
    /// It found the lock held.
    Skipped {
        /// Who held the lock.
        holder: String,
        /// The sentence of the function.
        message: String,
    },
    /// Its run key was taken.
    Duplicate {
        /// Who has the run key.
        holder: String,
        /// The sentence of the function.
        message: String,
    },
}

impl Fate {
    /// Returns how an execution of exclusive-run ended.
    ///
    /// # Panics
    /// For an output that exclusive-run does not give.
    pub fn of(ended: &Ended) -> Self {
        if ended.status != "SUCCEEDED" {
            let named = Some(&ended.error).filter(|error| !error.is_empty());
            return Self::Failed {
                error: named.unwrap_or(&ended.status).clone(),
                cause: ended.cause.clone(),
            };
        }
        let text = |name: &str| ended.output[name].as_str().unwrap_or_default().to_owned();
        let (holder, message) = (text("holder"), text("message"));
        match ended.answer() {
            "" => Self::Succeeded,
            "skipped" => Self::Skipped { holder, message },
            "duplicate" => Self::Duplicate { holder, message },
            other => panic!("an execution answered with status {other}"),
        }
    }
}

/// Everything that happened in one demo.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// The lock.
    pub lock: String,
    /// The length of its leases, in seconds.
    pub lease_seconds: u32,
    /// The executions, in the order of their start.
    pub executions: Vec<Execution>,
    /// What the functions logged.
    pub journal: Journal,
    /// What the containers recorded.
    pub containers: Vec<Run>,
    /// The holders that were evicted, and when.
    pub evictions: Vec<(String, Millis)>,
    /// The executions that were stopped from outside, and when.
    pub kills: Vec<(String, Millis)>,
}

impl Timeline {
    /// Returns the first moment of the picture.
    pub fn start(&self) -> Millis {
        let started = self.executions.iter().map(|execution| execution.started);
        started.min().unwrap_or(0)
    }

    /// Returns the last moment of the picture.
    pub fn end(&self) -> Millis {
        let ended = self.executions.iter().map(|execution| execution.ended);
        ended.max().unwrap_or(0).max(self.start() + 1)
    }

    /// Returns the executions of a scene.
    pub fn of_scene(&self, scene: Scene) -> impl Iterator<Item = &Execution> {
        self.executions
            .iter()
            .filter(move |execution| execution.scene == scene)
    }

    /// Returns the container that ran for an execution.
    pub fn container(&self, holder: &str) -> Option<&Run> {
        let mut containers = self.containers.iter();
        containers.find(|container| container.holder() == holder)
    }

    /// Returns when an execution was evicted.
    pub fn evicted(&self, holder: &str) -> Option<Millis> {
        moment(&self.evictions, holder)
    }

    /// Returns when an execution was killed.
    pub fn killed(&self, holder: &str) -> Option<Millis> {
        moment(&self.kills, holder)
    }

    /// Returns the name of a holder in the picture; its ARN if the demo did not start it.
    pub fn name_of<'a>(&'a self, holder: &'a str) -> &'a str {
        let known = self.executions.iter().find(|known| known.arn == holder);
        known.map_or(holder, |execution| &execution.name)
    }
}

fn moment(moments: &[(String, Millis)], holder: &str) -> Option<Millis> {
    let own = moments.iter().find(|(of, _)| of == holder);
    own.map(|(_, at)| *at)
}

#[cfg(test)]
mod tests {
    use super::{Ended, Fate};
    use serde_json::{Value, json};

    fn fate(output: Value) -> Fate {
        Fate::of(&Ended {
            arn: "arn".into(),
            status: "SUCCEEDED".into(),
            output,
            error: String::new(),
            cause: String::new(),
            started: 0,
            stopped: 1,
        })
    }

    #[test]
    fn the_output_of_a_success_tells_what_it_was() {
        let expected = Fate::Skipped {
            holder: "h".into(),
            message: "held".into(),
        };
        let skipped = json!({ "status": "skipped", "holder": "h", "message": "held" });
        assert_eq!(fate(skipped), expected);
        assert_eq!(fate(json!({ "TaskArn": "t" })), Fate::Succeeded);
        let unknown = || fate(json!({ "status": "queued" }));
        assert!(std::panic::catch_unwind(unknown).is_err());
    }
}
