//! Attempts that meet other writes between two of their requests, and replies that fail or are lost.

mod bench;
mod conflicts;
mod replies;
mod restored;
mod retries;
mod side_items;
