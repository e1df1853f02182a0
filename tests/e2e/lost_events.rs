//! Events of AWS that never come: the sweep finds what they would have reported.

use crate::support::{at_work, in_queue, runs_after};
use crate::{ran_alone, stack};
use lockstep::domain::RunOutcome;
use lockstep_tests::stack::{deadline, ending, now, pause, unique};
use serde_json::json;

#[tokio::test]
async fn without_events_the_sweep_recovers_a_dead_run() {
    let (stack, lock) = (stack().await, unique("sweep"));
    let input = stack.batch_input(&lock).short_lease().seconds(0.5);
    stack.drop_events(&lock).await;
    let first = at_work(&stack, &input.clone().seconds(60.0)).await;
    let next = in_queue(&stack, &input, 1).await;
    let killed = now();
    stack.abort(&first.arn).await;
    stack.wait_fired(&lock, 1, 10).await;
    let reaper = stack.output("ReaperFunctionArn");
    // A sweep that comes before the task has stopped, or finds a heartbeat that was under way at the
    // end of the execution, leaves the lock to one that is 30 s later.
    let (mut sweeps, deadline) = (0, deadline(30));
    while stack.waiting(&lock).await > 0 {
        assert!(now() < deadline, "{sweeps} sweeps granted no permit");
        let swept = stack.invoke(reaper, &json!({ "sweep": true })).await;
        assert!(swept.is_ok(), "{swept:?}");
        sweeps += 1;
        pause(500).await;
    }
    runs_after(&stack, "a death without events", &lock, &next, killed).await;
    stack.deliver_events(&lock).await;
    ran_alone(&stack, &lock, 2).await;
    let entry = stack.whole_entry(&lock, first.token, 5).await;
    let (outcome, evidence) = ending(&entry);
    assert_eq!(outcome, RunOutcome::Recovered, "{entry:?}");
    assert!(evidence.contains("ABORTED"), "{evidence}");
    let task = entry.task.expect("the sweep notes the task");
    assert!(task.arn.ends_with(&first.task), "{task:?}");
    assert_eq!(task.exit_code, Some(143), "{task:?}");
}

#[tokio::test]
async fn a_deployed_schedule_sweeps() {
    let (stack, lock) = (stack().await, unique("schedule-sweep"));
    let input = stack.batch_input(&lock).short_lease();
    stack.drop_events(&lock).await;
    let first = at_work(&stack, &input.clone().seconds(60.0)).await;
    let killed = now();
    stack.abort(&first.arn).await;
    let (reaper, deadline) = (stack.output("ReaperFunctionArn"), deadline(30));
    while stack.held(&lock).await > 0 {
        // Once a minute by itself. A lease that has just run out is for the next sweep.
        stack.fire_schedule(reaper).await;
        assert!(now() < deadline, "the schedule recovers nothing");
        pause(1000).await;
    }
    let millis = now() - killed;
    eprintln!("figure: a death without events or waiter: free {millis} ms after it");
    stack.deliver_events(&lock).await;
    assert!(stack.run(&input.seconds(0.2), 30).await.ran());
    ran_alone(&stack, &lock, 2).await;
}
