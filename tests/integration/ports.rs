//! The adapters to Step Functions, ECS, EventBridge and DynamoDB, as their clients talk and listen. The
//! answers are scripted, because the emulator neither throttles, nor refuses, nor holds more than
//! fits on a page.

mod events;
mod executions;
mod protection;
mod scripted;
mod table;
mod tasks;
