use super::{Deployment, Seen, Work};
use crate::judge::{Container, Stop};
use crate::upgrade::plan::{Plan, Stage};

/// Returns what is seen of twenty runs that work one after the other, a second each, and without a fault.
fn good() -> Seen {
    let plan = Plan::new("p", 20, 9.0);
    let all = plan.runs.clone().into_iter();
    let first_of_key = |id: usize| {
        let key = &plan.runs[id].run_key;
        key.is_none()
            || plan.runs[..id]
                .iter()
                .all(|earlier| earlier.run_key != *key)
    };
    let works = all.filter(|run| first_of_key(run.id)).map(|run| Work {
        run: run.id,
        container: Container {
            task: run.id.to_string(),
            lock: plan.locks[run.lock].name.clone(),
            holder: format!("holder-{}", run.id),
            token: run.id as u64,
            run_key: run.run_key.clone(),
            started: 1000 * run.id as u64,
            ended: Some(1000 * run.id as u64 + 900),
            exit_code: Some(0),
            stopped: None,
        },
    });
    let works: Vec<_> = works.collect();
    let told = plan
        .runs
        .iter()
        .map(|run| (run.id, Some("SUCCEEDED".to_owned())));
    let deployment = Deployment {
        began: 8_100,
        ended: 8_200,
        waiting: 3,
    };
    Seen {
        told: told.collect(),
        works,
        deployments: [deployment, deployment],
        changed: 7,
        refused: Vec::new(),
        lacks: Vec::new(),
        plan,
    }
}

/// Returns how many faults of each kind there are.
fn count(seen: &Seen) -> [usize; 6] {
    seen.faults().kinds().map(|(_, lines)| lines.len())
}

#[test]
fn runs_that_work_once_and_one_after_the_other_have_no_fault() {
    let seen = good();
    assert_eq!(count(&seen), [0; 6], "{:?}", seen.faults());
    assert!(seen.faults().is_empty());
    assert_eq!(seen.json()["faults"]["lost"], serde_json::json!([]));
}

#[test]
fn each_kind_of_fault_is_found() {
    let [overlaps, lost, twice, cut_off, tokens, refused] = [0, 1, 2, 3, 4, 5].map(|kind| {
        let mut only = [0; 6];
        only[kind] = 1;
        only
    });
    type Change = fn(&mut Seen);
    // Runs 0 and 9 have the same lock.
    let changes: [(Change, &[[usize; 6]]); 7] = [
        (|seen| seen.works[9].container.started = 500, &[overlaps]),
        (|seen| drop(seen.works.remove(3)), &[lost]),
        (
            |seen| {
                let mut again = seen.works[3].clone();
                (again.container.started, again.container.token) = (30_000, 99);
                (again.container.ended, again.container.task) = (Some(30_100), "again".into());
                seen.works.push(again);
            },
            &[twice],
        ),
        (
            |seen| seen.works[3].container.exit_code = Some(143),
            &[lost, cut_off],
        ),
        (
            |seen| {
                seen.works[3].container.stopped = Some(Stop {
                    at: 1,
                    reason: "evicted".into(),
                })
            },
            &[lost, cut_off],
        ),
        (|seen| seen.works[0].container.token = 99, &[tokens]),
        (|seen| seen.refused.push("show".into()), &[refused]),
    ];
    for (number, (change, expected)) in changes.into_iter().enumerate() {
        let mut seen = good();

        change(&mut seen);

        let mut sum = [0; 6];
        for kind in expected {
            sum = std::array::from_fn(|index| sum[index] + kind[index]);
        }
        assert_eq!(count(&seen), sum, "{number}: {:?}", seen.faults());
        assert!(!seen.faults().is_empty(), "{number}");
    }
}

#[test]
fn a_run_that_still_waits_is_lost_and_one_that_was_not_started_is_none() {
    let mut seen = good();
    let [waits, unknown] = [18, 19];
    seen.works.retain(|work| work.run < waits);
    seen.told.insert(waits, None);
    seen.told.remove(&unknown);

    let faults = seen.faults();

    assert_eq!(count(&seen)[1], 1, "{faults:?}");
    assert!(faults.lost[0].contains("still runs"), "{faults:?}");
}

#[test]
fn the_table_counts_what_was_in_flight_at_a_deployment() {
    let mut seen = good();
    // Run 8 works during both deployments, and the runs behind it wait.
    seen.works[8].container.ended = Some(8_900);

    let (table, all) = (seen.to_string(), seen.json()["runs"]["all"].clone());

    assert_eq!(all["atWorkAcrossUpgrade"], 1, "{all}");
    let first = seen.plan.of(Stage::First).count();
    assert_eq!(
        all["waitedAcrossUpgrade"], 0,
        "run 8 is the last of {first}: {all}"
    );
    assert_eq!(all["waitedAcrossRollback"], 9, "{all}");
    assert!(table.contains("| all | 20 | 1 |"), "{table}");
    assert_eq!(seen.not_shown(), [""; 0]);
    seen.works[8].container.ended = Some(8_150);
    assert_eq!(seen.not_shown().len(), 2, "{:?}", seen.not_shown());
}
