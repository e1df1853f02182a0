//! The places of jobs that are being begun.

use super::Service;
use crate::agent::book::NoRoom;
use crate::agent::table::Table;
use std::sync::Arc;

/// A place for a job that is being begun. It is given back by a drop, so that nothing that becomes
/// of the begin can keep it: an agent that counted it for ever would never stop.
#[must_use = "dropped, it is free again"]
pub(super) struct Place<T: Table> {
    /// None once it is the job's.
    service: Option<Arc<Service<T>>>,
}

impl<T: Table> Place<T> {
    /// A place in the book of `service`.
    ///
    /// # Errors
    /// [`NoRoom`].
    pub(super) fn reserve(service: &Arc<Service<T>>) -> Result<Self, NoRoom> {
        service.book().reserve()?;
        Ok(Self {
            service: Some(Arc::clone(service)),
        })
    }

    /// The book has the job in it.
    pub(super) fn taken(mut self) {
        self.service = None;
    }
}

impl<T: Table> Drop for Place<T> {
    fn drop(&mut self) {
        if let Some(service) = self.service.take() {
            service.book().not_begun();
            service.changed.send_replace(());
        }
    }
}
