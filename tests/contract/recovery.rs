//! acquire-lock at a lock whose holder's heartbeat is overdue: it gathers evidence, and acts on it.

use crate::functions::Functions;
use crate::scene::{
    LATE, arn, ask_with, assert_has, assert_says, execution, merged, waiting_alone,
};
use lockstep::contract::EventKind;
use lockstep::domain::{ExecutionEnd, RunOutcome};
use serde_json::{Value, json};

/// What happens to the execution that holds the lock.
#[derive(Clone, Copy)]
enum Fate {
    Ends(ExecutionEnd),
    RunsOn,
    /// Step Functions does not know it.
    IsUnknown,
}

impl Functions {
    fn set_fate(&self, name: &str, fate: Fate) {
        match fate {
            Fate::Ends(end) => self.end(name, end),
            Fate::RunsOn => {}
            Fate::IsUnknown => self.executions.forget(&arn(name)),
        }
    }
}

#[tokio::test]
async fn an_acquire_recovers_only_a_holder_that_evidence_shows_dead() {
    use ExecutionEnd::{Aborted, Failed};
    use Fate::{Ends, IsUnknown, RunsOn};
    let (none, key) = (json!({}), json!({ "permits": 3, "runKey": "m" }));
    let (fails, wide) = (json!({ "overlap": "fail" }), json!({ "permits": 3 }));
    let (dead, failed) = (Ends(Aborted), Ends(Failed));
    let timed_out = Ends(ExecutionEnd::TimedOut);
    let (skipped, duplicate) = (Err("skipped"), Err("duplicate"));
    // Columns:
    // - the case,
    // - the terms of both runs,
    // - further terms of the second run,
    // - what happens to the first run,
    // - for how many seconds the first run is silent,
    // - the evidence on which the first run loses its permit, or the answer to the second run.
    for (case, both, more, fate, silent, expected) in [
        ("dead", &none, &none, timed_out, LATE, Ok("TIMED_OUT")),
        ("in time", &none, &none, failed, 20, skipped),
        ("alive", &none, &none, RunsOn, LATE, skipped),
        ("may be new", &none, &none, IsUnknown, LATE, skipped),
        ("forgotten", &none, &none, IsUnknown, 62, Ok("not know")),
        ("else fails", &none, &fails, dead, LATE, Ok("ABORTED")),
        ("else wide", &none, &wide, dead, LATE, Ok("ABORTED")),
        ("dead, same key", &key, &none, dead, LATE, Ok("ABORTED")),
        ("in time, same key", &key, &none, failed, 20, Ok("FAILED")),
        ("alive, same key", &key, &none, RunsOn, LATE, duplicate),
    ] {
        // The acquire of the first run may arrive after its execution has ended.
        for is_late in [false, true] {
            let functions = Functions::running(&["a", "b"]);
            if is_late {
                functions.set_fate("a", fate);
            }
            let grant = functions.granted_with(ask_with("a", both.clone())).await;
            functions.set_fate("a", fate);
            functions.wait(silent);
            let before = functions.record("nightly").await;

            let request = ask_with("b", merged(both.clone(), more));
            let answer = functions.acquire(request).await.unwrap();

            let status = expected.map_or_else(|status| status, |_| "granted");
            assert_eq!(answer["status"], status, "{case}: {answer}");
            match expected {
                Ok(evidence) => assert_made_way(&functions, &grant, &answer, evidence),
                Err(status) => {
                    assert_eq!(answer["holder"], execution("a"), "{case}");
                    assert_eq!(functions.record("nightly").await, before, "{case}");
                    let kind = match status {
                        "skipped" => EventKind::RunSkipped,
                        _ => EventKind::RunDuplicate,
                    };
                    assert_eq!(functions.events.kinds(), [kind], "{case}");
                }
            }
            assert!(functions.executions.stops().is_empty(), "{case}");
        }
    }
}

/// Checks that `a` lost the permit of `grant` on `evidence` to the run that got `answer`.
fn assert_made_way(functions: &Functions, grant: &Value, answer: &Value, evidence: &str) {
    assert_eq!(answer["takenFrom"], execution("a"));
    assert!(answer["grant"]["token"].as_u64() > grant["token"].as_u64());
    let end = functions.run_of(grant).unwrap().end.unwrap();
    assert_eq!(end.outcome, RunOutcome::Recovered);
    assert_says(&end.evidence.unwrap(), evidence);
    let metrics = functions.metrics.all();
    assert_eq!(metrics.last().unwrap()["Recovered"], 1.0);
}

#[tokio::test]
async fn of_several_holders_only_the_dead_one_loses_its_permit() {
    let two = json!({ "permits": 2 });
    let (functions, _) = Functions::held_with(&["a", "b", "c"], two.clone()).await;
    functions.wait(1);
    functions.granted_with(ask_with("b", two.clone())).await;
    functions.end("b", ExecutionEnd::Failed);
    functions.wait(LATE);

    let answer = functions.acquire(ask_with("c", two)).await.unwrap();

    assert_eq!(answer["takenFrom"], execution("b"));
    let holders = functions.holders("nightly").await;
    assert_eq!(holders, [execution("a"), execution("c")]);
}

#[tokio::test]
async fn a_full_queue_has_a_place_after_a_dead_holder_is_recovered() {
    let (functions, _) = Functions::held(&["a", "b", "c"]).await;
    let first = waiting_alone("b", "token-b");
    functions.acquire(first).await.unwrap();
    functions.end("a", ExecutionEnd::Failed);
    functions.wait(LATE);

    let second = waiting_alone("c", "token-c");
    let answer = functions.acquire(second).await.unwrap();

    assert_has(
        &answer,
        json!({ "status": "queued", "holder": execution("b") }),
    );
    assert_eq!(functions.output("token-b").unwrap()["status"], "granted");
}
