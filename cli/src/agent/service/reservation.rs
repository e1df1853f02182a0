//! Guards for the capacity that a job takes up before it is open.

use super::Service;
use crate::agent::registry::BeginRefused;
use lockstep::service::Ports;
use std::sync::Arc;

/// Capacity for a job that is being begun. A drop releases it, also if the begin panics or is cancelled.
/// Without that, a stopping agent would wait forever.
#[must_use = "a drop releases the capacity"]
pub(super) struct Reservation<P: Ports + 'static> {
    service: Arc<Service<P>>,
    /// Whether the capacity has been passed on to the job or to an [`UnconfirmedGrant`].
    is_consumed: bool,
}

/// Capacity of a job that did not begin but whose holder may have a permit. A drop releases it.
#[must_use = "a drop releases the capacity"]
pub(super) struct UnconfirmedGrant<P: Ports + 'static> {
    service: Arc<Service<P>>,
    holder: String,
}

impl<P: Ports + 'static> Reservation<P> {
    /// Reserves capacity in the registry of `service`.
    ///
    /// # Errors
    /// [`BeginRefused`].
    pub(super) fn reserve(service: &Arc<Service<P>>) -> Result<Self, BeginRefused> {
        service.registry().reserve()?;
        Ok(Self {
            service: Arc::clone(service),
            is_consumed: false,
        })
    }

    /// Passes the capacity on to the job, which is now in the registry.
    pub(super) fn consume(mut self) {
        self.is_consumed = true;
    }

    /// Passes the capacity on to the unconfirmed grant of `lock` to `holder`.
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
