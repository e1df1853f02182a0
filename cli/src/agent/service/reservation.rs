//! The places of jobs that are being begun, or that may have begun unseen.

use super::Service;
use crate::agent::registry::NoRoom;
use crate::lease::table::LockTable;
use std::sync::Arc;

/// A place for a job that is being begun. It is given back by a drop, so that nothing that becomes
/// of the begin can keep it: an agent that counted it for ever would never stop.
#[must_use = "dropped, it is free again"]
pub(super) struct Reservation<T: LockTable> {
    service: Arc<Service<T>>,
    /// It is somebody else's by now.
    is_taken: bool,
}

/// The place of a job that nobody works on, and whose holder may have a permit all the same.
#[must_use = "dropped, it is free again"]
pub(super) struct UnconfirmedGrant<T: LockTable> {
    service: Arc<Service<T>>,
    holder: String,
}

impl<T: LockTable> Reservation<T> {
    /// A place in the book of `service`.
    ///
    /// # Errors
    /// [`NoRoom`].
    pub(super) fn reserve(service: &Arc<Service<T>>) -> Result<Self, NoRoom> {
        service.book().reserve()?;
        Ok(Self {
            service: Arc::clone(service),
            is_taken: false,
        })
    }

    /// The book has the job in it.
    pub(super) fn taken(mut self) {
        self.is_taken = true;
    }

    /// The job does not begin, and nobody knows whether `holder` has a permit of `lock`.
    pub(super) fn doubted(mut self, holder: &str, lock: &str) -> UnconfirmedGrant<T> {
        self.service.book().places.doubted(holder, lock);
        self.is_taken = true;
        UnconfirmedGrant {
            service: Arc::clone(&self.service),
            holder: holder.to_owned(),
        }
    }
}

impl<T: LockTable> Drop for Reservation<T> {
    fn drop(&mut self) {
        if !self.is_taken {
            self.service.book().places.left();
            self.service.changed.send_replace(());
        }
    }
}

impl<T: LockTable> Drop for UnconfirmedGrant<T> {
    fn drop(&mut self) {
        self.service.book().places.resolved(&self.holder);
        self.service.changed.send_replace(());
    }
}
