//! Clients of AWS services that are built at their first call.
//!
//! Each client of the SDK parses the list of all AWS partitions when it is built, and most events need no
//! client but that of the lock table.

use aws_config::SdkConfig;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

type Build<C> = Box<dyn FnOnce() -> C + Send>;

/// A client that is built when it is first dereferenced.
pub(crate) struct LazyClient<C>(Arc<LazyLock<C, Build<C>>>);

impl<C: 'static> LazyClient<C> {
    /// Creates a client that `build` builds at its first use, with the settings of `sdk`.
    pub(crate) fn new(sdk: &SdkConfig, build: fn(&SdkConfig) -> C) -> Self {
        let sdk = sdk.clone();
        let build: Build<C> = Box::new(move || build(&sdk));
        Self(Arc::new(LazyLock::new(build)))
    }
}

impl<C> Deref for LazyClient<C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.0
    }
}

impl<C> Clone for LazyClient<C> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<C> fmt::Debug for LazyClient<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LazyClient")
    }
}
