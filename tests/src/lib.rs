//! What the test levels share.

use std::path::PathBuf;

pub mod dynamodb_local;
pub mod generate;
pub mod history;
pub mod judge;
pub mod schemas;
pub mod seeds;
pub mod stack;
pub mod timeline;
pub mod wire;

/// The root of the checkout.
///
/// # Panics
/// Never: this crate is a folder below the root.
#[must_use]
pub fn repository() -> PathBuf {
    let tests = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    tests
        .parent()
        .expect("tests/ is a folder below the root")
        .to_owned()
}
