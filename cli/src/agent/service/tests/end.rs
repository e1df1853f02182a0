//! Which ends of jobs are messages to people.

use super::*;
use crate::agent::job::JobOutcome;

#[tokio::test(start_paused = true)]
async fn a_failure_is_a_message_if_the_job_had_begun_and_failed() {
    for (outcome, failure, expected) in [
        (JobOutcome::Failed, Some("why"), &["why"][..]),
        (JobOutcome::Succeeded, None, &[]),
    ] {
        let twins = Twins::default();
        let service = service(&twins).await;
        let Ok(Begun::Granted(granted)) = begin(&service).await else {
            panic!("no job");
        };

        let end = service.end(&granted.job, outcome, failure);
        end.await.unwrap();

        assert_eq!(twins.failures(), expected, "{outcome:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_program_is_why_its_open_jobs_failed() {
    let twins = Twins::default();
    let service = service(&twins).await;
    begin(&service).await.unwrap();

    service.end_all().await;

    released(&twins).await;
    assert_eq!(twins.failures(), ["the program of the job has ended"]);
}
