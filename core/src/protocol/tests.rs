//! An attempt meets other writes between any two of its requests, and replies that fail or are lost.

mod bench;
mod conflicts;
mod replies;
mod restored;
mod retries;
mod side_items;
