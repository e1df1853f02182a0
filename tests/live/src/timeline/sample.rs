//! A small timeline for the tests: a demo that came out as it should, with two deliveries in the
//! burst.

use super::journal::Journal;
use super::{Execution, Fate, Millis, Scene, Timeline};
use crate::stack::Run;
use lockstep::domain::{Timestamp, rfc3339};

const START: Millis = 1_772_344_800_000;
/// When the last execution ends.
pub(crate) const END: Millis = START + 46_000;

/// Returns the timeline.
pub(crate) fn sample() -> Timeline {
    let held = |name: &str| Fate::Skipped {
        holder: arn(name),
        message: format!("lock nightly is held by {}", arn(name)),
    };
    let failed = |error: &str, cause: &str| Fate::Failed {
        error: error.into(),
        cause: cause.into(),
    };
    let done = Fate::Duplicate {
        holder: arn("a2"),
        message: "the run key has had its success".into(),
    };
    let exit = r#"{"Containers":[{"Name":"batch","ExitCode":1}]}"#;
    let executions = [
        (Scene::Burst, "a1", 0, 1, held("a2")),
        (Scene::Burst, "a2", 0, 11, Fate::Succeeded),
        (Scene::Overlap, "b1", 4, 5, held("a2")),
        (Scene::Redelivery, "c1", 12, 13, done),
        (Scene::Next, "d1", 14, 17, Fate::Succeeded),
        (
            Scene::Failure,
            "e1",
            18,
            21,
            failed("States.TaskFailed", exit),
        ),
        (Scene::Failure, "e2", 22, 25, Fate::Succeeded),
        (
            Scene::Eviction,
            "f1",
            26,
            30,
            failed("Lockstep.LeaseLost", "gone"),
        ),
        (Scene::Eviction, "f2", 31, 34, Fate::Succeeded),
        (Scene::Kill, "g1", 35, 38, failed("ABORTED", "")),
        (Scene::Kill, "g2", 36, 42, Fate::Succeeded),
        (Scene::Kill, "g3", 37, 46, Fate::Succeeded),
    ];
    let mut containers = ["a2", "d1", "e1", "e2", "f1", "f2", "g1", "g2", "g3"]
        .into_iter()
        .zip([
            (101, 1, 10),
            (102, 15, 16),
            (103, 19, 20),
            (104, 23, 24),
            (105, 27, 29),
            (106, 32, 33),
            (107, 36, 38),
            (108, 40, 41),
            (109, 44, 45),
        ])
        .map(|(name, (token, from, to))| container(name, token, from, to))
        .collect::<Vec<_>>();
    for stopped in [4, 6] {
        containers[stopped].sigterm = containers[stopped].end;
    }
    Timeline {
        lock: "nightly".into(),
        lease_seconds: 3,
        executions: executions.map(execution).into(),
        journal: Journal::read(log(&containers).iter().map(String::as_str), "nightly"),
        containers,
        evictions: vec![(arn("f1"), START + 28_300)],
        kills: vec![(arn("g1"), START + 38_000)],
    }
}

/// Returns the ARN of an execution.
pub(crate) fn arn(name: &str) -> String {
    format!("arn:aws:states:eu-west-1:111122223333:execution:exclusive-run:{name}")
}

fn execution(parts: (Scene, &str, Millis, Millis, Fate)) -> Execution {
    let (scene, name, from, to, fate) = parts;
    Execution {
        scene,
        name: name.into(),
        arn: arn(name),
        started: START + from * 1000,
        ended: START + to * 1000,
        fate,
    }
}

fn container(name: &str, token: u64, from: Millis, to: Millis) -> Run {
    let variables = [
        ("LOCKSTEP_HOLDER", arn(name)),
        ("LOCKSTEP_FENCING_TOKEN", token.to_string()),
    ];
    Run {
        id: format!("container-{name}"),
        task: name.into(),
        start: START + from * 1000,
        sigterm: None,
        end: Some(START + to * 1000),
        env: variables.map(|(name, value)| (name.into(), value)).into(),
    }
}

/// Returns the log lines: a grant before each container, a release after it, and two renewals of
/// the longest one. The killed one is recovered, and two wait for it.
fn log(containers: &[Run]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut say = |at: Millis, event: &str, of: &Run| {
        let (at, expires) = (
            Timestamp::from_millis(at),
            Timestamp::from_millis(at + 3000),
        );
        lines.push(format!(
            r#"{{"timestamp":"{}","event":"{event}","lock":"nightly","holder":"{}","token":{},"expires_at":"{}","action":"Recover"}}"#,
            rfc3339(at), of.holder(), of.token(), rfc3339(expires)
        ));
    };
    for container in containers {
        let ended = container.end.expect("all of them end");
        say(container.start - 400, "granted", container);
        for beat in (container.start + 3000..ended).step_by(4000) {
            say(beat, "renewed", container);
        }
        let killed = container.holder() == arn("g1");
        let (after, event) = match killed {
            true => (1200, "holder_checked"),
            false => (200, "released"),
        };
        say(ended + after, event, container);
    }
    say(START + 37_000, "queued", &containers[7]);
    say(START + 37_200, "queued", &containers[8]);
    lines
}
