//! What tests may rely on when Step Functions is in memory.

use super::*;
use lockstep_core::testing::now;

fn arn(name: &str) -> ExecutionArn {
    let arn = format!("arn:aws:states:eu-west-1:1:execution:report:{name}");
    ExecutionArn::new(arn).unwrap()
}

fn running(name: &str) -> Execution {
    Execution {
        arn: arn(name),
        started_at: Timestamp::from_millis(5),
    }
}

#[test]
fn a_stopped_execution_is_aborted_and_no_longer_runs() {
    let executions = MemoryExecutions::with_running(vec![running("a"), running("b")]);
    let machine = arn("a").state_machine();

    now(executions.stop(&arn("a"), "Lockstep.LeaseLost", "hung")).unwrap();

    let aborted = ExecutionState::Ended(ExecutionEnd::Aborted);
    assert_eq!(
        now(executions.describe(&arn("a"))),
        Ok(Some(aborted.into()))
    );
    assert_eq!(now(executions.running(&machine)), Ok(vec![running("b")]));
    assert_eq!(executions.stops()[0].error, "Lockstep.LeaseLost");
}

#[test]
fn a_stop_does_not_change_an_ended_or_unknown_execution() {
    let executions = MemoryExecutions::default();
    let succeeded = ExecutionState::Ended(ExecutionEnd::Succeeded);
    executions.set(&arn("a"), succeeded);

    for name in ["a", "b"] {
        assert_eq!(now(executions.stop(&arn(name), "e", "c")), Ok(()));
    }

    assert_eq!(
        now(executions.describe(&arn("a"))),
        Ok(Some(succeeded.into()))
    );
    assert_eq!(now(executions.describe(&arn("b"))), Ok(None));
}

#[test]
fn a_state_ends_once_and_a_closed_one_never() {
    let executions = MemoryExecutions::default();
    let token = |name: &str| TaskToken::new(name).unwrap();
    executions.close(&token("gone"));
    let lock = LockKey::new("lock").unwrap();

    let end = |name| now(executions.end_state(&lock, &token(name), "{\"n\":1}"));

    let ends = ["a", "a", "gone"].map(|name| end(name).unwrap());
    let not = StateEnd::NotWaiting;
    assert_eq!(ends, [StateEnd::Ended, not, not]);
    assert_eq!(executions.ended(), [token("a")]);
    assert_eq!(executions.output(&token("a")).as_deref(), Some("{\"n\":1}"));
    assert_eq!(executions.output(&token("gone")), None);
}

#[test]
fn a_failed_call_is_not_recorded() {
    let executions = MemoryExecutions::with_running(vec![running("a")]);
    let down = ExecutionsError::Unavailable("down".into());
    executions.fail_next(ExecutionsCall::Stop, down.clone());

    assert_eq!(now(executions.stop(&arn("a"), "e", "c")), Err(down));

    let state = now(executions.describe(&arn("a")));
    assert_eq!(state, Ok(Some(ExecutionState::Running.into())));
    assert_eq!(executions.stops(), []);
}
