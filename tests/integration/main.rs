//! The store and the protocol on AWS's own DynamoDB Local.

mod agreement;
mod conformance;
mod corrupt;
mod failures;
mod fixture;
mod listing;
mod lost_responses;
mod race;
mod requests;
