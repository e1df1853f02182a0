//! The deployed stack, end to end: Step Functions, Lambda functions, ECS containers.
//!
//! Each test has locks of its own, so all may run at once. What a batch did is read from what its
//! container recorded.

mod bad_input;
mod exclusion;
mod failures;
mod telemetry;

use lockstep_tests::stack::Stack;

/// The deployed stack.
async fn stack() -> Stack {
    Stack::connect()
        .await
        .unwrap_or_else(|problem| panic!("{problem}"))
}
