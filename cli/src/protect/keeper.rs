//! Counts the work in flight, and keeps the task protected while the count is above zero.

use super::counter::Counter;
use super::endpoint::{Agent, Endpoint};
use super::reason::Refused;
use super::runner;
use std::sync::Arc;
use std::time::Duration;

/// Whether the task is protected while work is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Mode {
    /// Do not protect the task
    Off,
    /// Protect the task; if that fails, log a warning and start the work
    BestEffort,
    /// Protect the task; if that fails, start no work
    Required,
}

/// The protection of the task that this process runs in. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Protection {
    mode: Mode,
    /// The shared counter; `None` if nothing is protected.
    shared: Option<Arc<Counter>>,
}

/// A piece of work in flight. The task stays protected until the last of these is ended or dropped.
#[derive(Debug)]
#[must_use = "if it is dropped, the work no longer counts as in flight"]
pub(crate) struct InFlight {
    shared: Option<Arc<Counter>>,
}

impl Protection {
    /// Starts protection for work under leases of this length. Until work begins, it only reads the current
    /// state from the agent. Needs a tokio runtime.
    ///
    /// Without `agent_uri` (`ECS_AGENT_URI`) the process is not in an ECS task, so nothing scales it in. Then
    /// work starts in every mode, and unless the mode is `off`, a log line says so.
    pub(crate) fn start(mode: Mode, agent_uri: Option<String>, lease: Duration) -> Self {
        let agent_uri = agent_uri.filter(|uri| !uri.trim().is_empty());
        match (mode, agent_uri) {
            (Mode::Off, _) => Self { mode, shared: None },
            (_, None) => {
                tracing::info!(
                    event = "protection_unavailable",
                    "ECS_AGENT_URI is not set, so this process is not in an ECS task: work starts without protection"
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
    /// - Required: returns when the task is protected. Temporary refusals are retried for 30 seconds, but at
    ///   most for a quarter of the lease, because the holder has to renew the lease.
    /// - Best effort: waits for the first answer, at most three seconds and at most a quarter of the lease.
    ///
    /// # Errors
    /// [`Refused`], if protection is required and refused; the work is then not counted.
    pub(crate) async fn begin(&self) -> Result<InFlight, Refused> {
        let Some(shared) = &self.shared else {
            return Ok(InFlight { shared: None });
        };
        // Counted before the first await, and by a guard, so that a dropped future counts its work out.
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

    /// Ends protection at the end of the process: clears it, whatever is in flight, and waits at most three
    /// seconds for that. Nothing is protected afterwards.
    pub(crate) async fn idle(&self) {
        if let Some(shared) = &self.shared {
            shared.close();
            shared.settled().await;
        }
    }
}

impl InFlight {
    /// Counts the work out. If it was the last, waits at most three seconds until protection is cleared.
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
