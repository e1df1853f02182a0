//! What an item means to the decisions, in units of their own: points in time in milliseconds since 1970, lengths in
//! seconds. An item that is written back as it was may still mean something else than it did, if reading and writing
//! changed together.
//!
//! Each struct is taken apart field by field, so that a new field has to be added here. A field without a value is left out.

use lockstep_core::domain::{
    Act, EndingCause, Exit, Expectation, Gate, Lease, LockRecord, Mode, Run, Seconds, Terms,
    Timestamp, Waiter, Work,
};
use serde_json::{Value, json};

fn at(time: Option<Timestamp>) -> Value {
    json!(time.map(|time| time.millis()))
}

fn seconds(length: Option<Seconds>) -> Value {
    json!(length.map(|length| length.millis() / 1000))
}

/// Returns the fields that have a value.
fn fields(fields: Value) -> Value {
    let Value::Object(mut fields) = fields else {
        panic!("an object: {fields}");
    };
    fields.retain(|_, value| !value.is_null());
    Value::Object(fields)
}

pub(super) fn record(record: &LockRecord) -> Value {
    let LockRecord {
        version,
        last_token,
        last_ticket,
        front_ticket,
        permits,
        holders,
        queue,
        gate,
        last_success,
        last_failure,
        expectation,
        due,
    } = record;
    let Gate {
        mode: closed,
        not_before,
    } = gate;
    let holders = holders
        .iter()
        .map(|(holder, one)| (holder.to_string(), lease(one)));
    let queue = queue
        .iter()
        .map(|(id, ticket)| (id.to_string(), json!(ticket.number())));
    let expectation = expectation.as_ref().map(|Expectation { every, from, missed_at }| {
        fields(json!({ "every": seconds(Some(*every)), "from": at(Some(*from)), "missedAt": at(*missed_at) }))
    });
    fields(json!({
        "version": version, "lastToken": last_token.number(), "lastTicket": last_ticket.number(),
        "frontTicket": front_ticket.number(), "permits": permits.get(),
        "holders": holders.collect::<serde_json::Map<_, _>>(), "queue": queue.collect::<serde_json::Map<_, _>>(),
        "gate": mode(closed), "notBefore": not_before.millis(), "lastSuccess": at(*last_success),
        "lastFailure": at(*last_failure), "expectation": expectation, "due": at(*due),
    }))
}

pub(super) fn mode(mode: &Mode) -> Value {
    fields(match mode {
        Mode::Open => json!({ "mode": "open" }),
        Mode::Paused { note, until } => {
            json!({ "mode": "paused", "note": note, "until": at(*until) })
        }
        Mode::Frozen { note } => json!({ "mode": "frozen", "note": note }),
    })
}

fn work(work: Option<&Work>) -> Value {
    match work {
        Some(Work::Tasks(tasks)) => fields(json!({
            "cluster": tasks.cluster, "family": tasks.family, "container": tasks.container,
        })),
        Some(Work::Workflow(machine)) => json!({ "stateMachine": machine.as_str() }),
        Some(Work::States) => json!("states"),
        None => Value::Null,
    }
}

fn lease(lease: &Lease) -> Value {
    let Lease {
        token,
        expires_at,
        pace,
        run_until,
        max_run,
        no_progress,
        stalls_at,
        progress,
        stale,
        expect_every,
        run_key,
        work: of_run,
        beat,
        call,
        exit,
        redrives,
        parent,
    } = lease;
    let Exit {
        suspect,
        replaced_by,
        ending,
    } = exit;
    let ending = ending.as_ref().map(|ending| {
        let cause = match &ending.cause {
            EndingCause::Over => json!("over"),
            EndingCause::Stopped => json!("stopped"),
            EndingCause::Evicted(why) => json!({ "evicted": why }),
        };
        json!({ "since": ending.since.millis(), "cause": cause })
    });
    let call = call.as_ref().map(|call| {
        let token = call.task_token.as_ref().map(|token| token.reveal());
        fields(json!({ "taskToken": token, "since": call.since.millis() }))
    });
    fields(json!({
        "token": token.number(), "expiresAt": expires_at.millis(), "length": seconds(Some(pace.length)),
        "heartbeat": seconds(Some(pace.heartbeat)), "runUntil": at(*run_until), "maxRun": seconds(*max_run),
        "noProgress": seconds(*no_progress), "stallsAt": at(*stalls_at), "progress": progress,
        "stale": format!("{stale:?}"), "expectEvery": seconds(*expect_every),
        "runKey": run_key.as_ref().map(|key| key.as_str()), "work": work(of_run.as_ref()),
        "beat": beat.as_ref().map(|token| token.reveal()), "call": call, "suspect": at(*suspect),
        "replacedBy": replaced_by.as_ref().map(|by| by.as_str()), "ending": ending, "redrives": redrives,
        "parent": parent.as_ref().map(|parent| parent.as_str()),
    }))
}

pub(super) fn waiter(waiter: &Waiter) -> Value {
    let Waiter {
        terms,
        task_token,
        wait_until,
        since,
        queued_at,
    } = waiter;
    let Terms {
        holder,
        permits,
        lease,
        heartbeat,
        max_run,
        no_progress,
        stale,
        min_interval,
        expect_every,
        run_key,
        work: of_run,
        retention,
        parent,
        redrives,
    } = terms;
    fields(json!({
        "holder": holder.as_str(), "permits": permits.get(), "length": seconds(Some(*lease)),
        "heartbeat": seconds(Some(*heartbeat)), "maxRun": seconds(*max_run), "noProgress": seconds(*no_progress),
        "stale": format!("{stale:?}"), "minInterval": seconds(*min_interval), "expectEvery": seconds(*expect_every),
        "runKey": run_key.as_ref().map(|key| key.as_str()), "work": work(of_run.as_ref()),
        "history": seconds(Some(retention.history)), "runKeys": seconds(Some(retention.run_keys)),
        "parent": parent.as_ref().map(|parent| parent.as_str()), "redrives": redrives,
        "taskToken": task_token.as_ref().map(|token| token.reveal()), "waitUntil": at(*wait_until),
        "since": since.millis(), "queuedAt": queued_at.millis(),
    }))
}

pub(super) fn run(run: &Run) -> Value {
    let Run {
        holder,
        token,
        run_key,
        end,
        task,
        lease: kept,
        beat,
    } = run;
    let end = end.as_ref().map(|end| {
        fields(json!({
            "outcome": end.outcome.as_str(), "at": end.at.millis(), "retainUntil": end.retain_until.millis(),
            "evidence": end.evidence,
        }))
    });
    let task = task.as_ref().map(|task| {
        fields(json!({
            "arn": task.arn, "version": task.version, "runtimeId": task.runtime_id, "exitCode": task.exit_code,
            "reason": task.reason,
        }))
    });
    fields(json!({
        "holder": holder.as_str(), "token": token.number(), "runKey": run_key.as_ref().map(|key| key.as_str()),
        "end": end, "task": task, "lease": kept.as_deref().map(lease),
        "beat": beat.as_ref().map(|token| token.reveal()),
    }))
}

pub(super) fn act(act: &Act) -> Value {
    let Act {
        version,
        kind,
        actor,
        token,
        at,
        retain_until,
        note,
    } = act;
    fields(json!({
        "version": version, "kind": kind.as_str(), "actor": actor.as_str(), "token": token.number(), "at": at.millis(),
        "retainUntil": retain_until.millis(), "note": note,
    }))
}
