//! Guards of the capacity that a job takes up before it is open.

use super::Service;
use crate::agent::registry::NoRoom;
use lockstep::service::Ports;
use std::sync::Arc;

/// Capacity for a job that is being begun. A drop releases it, even if the begin panics or is cancelled:
/// otherwise the agent could never stop.
#[must_use = "a drop releases the capacity"]
pub(super) struct Reservation<P: Ports + 'static> {
    service: Arc<Service<P>>,
    /// Whether the job or an [`UnconfirmedGrant`] has taken the capacity over.
    is_consumed: bool,
}

/// Capacity of a job that did not begin, but whose holder may have a permit. A drop releases it.
#[must_use = "a drop releases the capacity"]
pub(super) struct UnconfirmedGrant<P: Ports + 'static> {
    service: Arc<Service<P>>,
    holder: String,
}

impl<P: Ports + 'static> Reservation<P> {
    /// Reserves capacity in the registry of `service`.
    ///
    /// # Errors
    /// [`NoRoom`].
    pub(super) fn reserve(service: &Arc<Service<P>>) -> Result<Self, NoRoom> {
        service.registry().reserve()?;
        Ok(Self {
            service: Arc::clone(service),
            is_consumed: false,
        })
    }

    /// Leaves the capacity to the job, which is in the registry.
    pub(super) fn consume(mut self) {
        self.is_consumed = true;
    }

    /// Leaves the capacity to the unconfirmed grant of `lock` to `holder`.
    pub(super) fn into_unconfirmed(mut self, holder: &str, lock: &str) -> UnconfirmedGrant<P> {
        self.service
            .registry()
            .capacity
            .add_unconfirmed(holder, lock);
        self.is_consumed = true;
        UnconfirmedGrant {
            service: Arc::clone(&self.service),
            holder: holder.to_owned(),
        }
    }
}

impl<P: Ports + 'static> Drop for Reservation<P> {
    fn drop(&mut self) {
        if !self.is_consumed {
            self.service.registry().capacity.begin_finished();
            self.service.changed.send_replace(());
        }
    }
}

impl<P: Ports + 'static> Drop for UnconfirmedGrant<P> {
    fn drop(&mut self) {
        self.service
            .registry()
            .capacity
            .remove_unconfirmed(&self.holder);
        self.service.changed.send_replace(());
    }
}
