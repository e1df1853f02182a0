//! The store and the protocol on AWS's own DynamoDB Local.

mod agreement;
mod corrupt;
mod cost;
mod failures;
mod fixture;
mod history;
mod linear;
mod lost_queue;
mod lost_responses;
mod ports;
mod queue_requests;
mod race;
mod requests;
mod restored;
mod service_task;
mod storm;
mod too_large;
mod unknown;
mod wire_faults;
