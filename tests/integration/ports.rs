//! The requests of the adapters to Step Functions, ECS, EventBridge and DynamoDB, and how they take
//! the answers. The answers are scripted, because the emulator does not throttle or refuse, and
//! holds no more than fits on a page.

mod events;
mod executions;
mod protection;
mod scripted;
mod table;
mod tasks;
