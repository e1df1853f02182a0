//! Counts the work in flight and keeps the task protected while there is some.

use super::counter::Counter;
use super::endpoint::{Agent, Endpoint};
use super::reason::Refused;
use super::runner;
use std::sync::Arc;
use std::time::Duration;
use tracing::info;

/// Whether work wants its task protected.
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
    /// Starts to keep protection, for work under leases of this length. It asks nothing of the
    /// agent before work begins, but for the state it finds. Needs a tokio runtime.
    ///
    /// Without `agent_uri` (`ECS_AGENT_URI`) this is no task of ECS and nothing scales it in: it
    /// says so, and work starts in every mode.
    pub(crate) fn start(mode: Mode, agent_uri: Option<String>, lease: Duration) -> Self {
        let agent_uri = agent_uri.filter(|uri| !uri.trim().is_empty());
        match (mode, agent_uri) {
            (Mode::Off, _) => Self { mode, shared: None },
            (_, None) => {
                info!("not on ECS (no ECS_AGENT_URI): the task is not protected, work goes on");
                Self { mode, shared: None }
            }
            (_, Some(uri)) => Self::with(mode, Endpoint::new(&uri), lease),
        }
    }

    fn with<A: Agent + 'static>(mode: Mode, agent: A, lease: Duration) -> Self {
        let shared = Arc::new(Counter::new(lease));
        let agent = Arc::new(agent);
        tokio::spawn(runner::tell_state(Arc::clone(&agent)));
        tokio::spawn(runner::keep(Arc::clone(&shared), agent));
        Self {
            mode,
            shared: Some(shared),
        }
    }

    /// Counts a piece of work in and sees to its protection.
    ///
    /// Required: returns once the task is protected. Refusals that pass by themselves are waited
    /// out for 30 seconds, but no longer than a quarter of the lease: whoever holds it has to
    /// renew it. Best effort: waits for the first answer, three seconds or that quarter at most.
    ///
    /// # Errors
    /// [`Refused`], when protection is required and not to be had; the work is not counted then.
    pub(crate) async fn begin(&self) -> Result<InFlight, Refused> {
        let Some(shared) = &self.shared else {
            return Ok(InFlight { shared: None });
        };
        // Counted before anything is awaited, and by a guard: whoever drops this future counts out.
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

    /// At the end of the process: clears protection if it is still set, whatever is in flight, and
    /// waits three seconds at most for that. Nothing is protected afterwards.
    pub(crate) async fn idle(&self) {
        if let Some(shared) = &self.shared {
            shared.close();
            shared.settled().await;
        }
    }
}

impl InFlight {
    /// Counts the work out. If it was the last, waits three seconds at most until protection is
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
