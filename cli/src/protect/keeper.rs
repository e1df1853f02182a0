//! Counts the work in flight, and keeps the task protected while the count is above zero.

use super::counter::Counter;
use super::endpoint::{Agent, Endpoint};
use super::reason::Refused;
use super::runner;
use std::sync::Arc;
use std::time::Duration;

/// Whether work protects its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Mode {
    /// Do not protect the task
    Off,
    /// Protect it; if that fails, warn and go on
    BestEffort,
    /// Protect it; if that fails, start nothing
    Required,
}

/// The protection of the task that this process runs in. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Protection {
    mode: Mode,
    /// `None`: nothing is protected.
    shared: Option<Arc<Counter>>,
}

/// A piece of work in flight: the task stays protected until the last one is dropped.
#[derive(Debug)]
#[must_use = "dropped, it no longer counts"]
pub(crate) struct InFlight {
    shared: Option<Arc<Counter>>,
}

impl Protection {
    /// Starts protection for work under leases of this length. Before work begins it only reads the
    /// current state from the agent. Needs a tokio runtime.
    ///
    /// Without `agent_uri` (`ECS_AGENT_URI`) the process is not in an ECS task and nothing scales
    /// it in: that is logged, and work starts in every mode.
    pub(crate) fn start(mode: Mode, agent_uri: Option<String>, lease: Duration) -> Self {
        let agent_uri = agent_uri.filter(|uri| !uri.trim().is_empty());
        match (mode, agent_uri) {
            (Mode::Off, _) => Self { mode, shared: None },
            (_, None) => {
                tracing::info!(
                    event = "protection_unavailable",
                    "not on ECS (no ECS_AGENT_URI): work starts without protection"
                );
                Self { mode, shared: None }
            }
            (_, Some(uri)) => Self::with(mode, Endpoint::new(&uri), lease),
        }
    }

    fn with<A: Agent + 'static>(mode: Mode, agent: A, lease: Duration) -> Self {
        let shared = Arc::new(Counter::new(lease));
        let agent = Arc::new(agent);
        tokio::spawn(runner::log_state(Arc::clone(&agent)));
        tokio::spawn(runner::keep(Arc::clone(&shared), agent));
        Self {
            mode,
            shared: Some(shared),
        }
    }

    /// Counts a piece of work, and waits for its protection.
    ///
    /// Required: returns once the task is protected. Temporary refusals are retried for 30 seconds,
    /// but for a quarter of the lease at most: its holder has to renew it. Best effort: waits for
    /// the first answer, three seconds or that quarter at most.
    ///
    /// # Errors
    /// [`Refused`], if protection is required and refused; the work is then not counted.
    pub(crate) async fn begin(&self) -> Result<InFlight, Refused> {
        let Some(shared) = &self.shared else {
            return Ok(InFlight { shared: None });
        };
        // Counted before the first await, and by a guard: a dropped future counts its work out.
        shared.began();
        let work = InFlight {
            shared: Some(Arc::clone(shared)),
        };
        if self.mode == Mode::Required {
            shared.protected().await?;
        } else {
            shared.first_answer().await;
        }
        Ok(work)
    }

    /// At the end of the process: clears protection, whatever is in flight, and waits three seconds
    /// at most for that. Nothing is protected afterwards.
    pub(crate) async fn idle(&self) {
        if let Some(shared) = &self.shared {
            shared.close();
            shared.settled().await;
        }
    }
}

impl InFlight {
    /// Counts the work out. After the last one, waits three seconds at most until protection is
    /// cleared.
    pub(crate) async fn end(mut self) {
        if let Some(shared) = self.shared.take()
            && shared.ended()
        {
            shared.settled().await;
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.take() {
            shared.ended();
        }
    }
}

#[cfg(test)]
mod tests;
