//! Which ends of jobs are messages to people.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_failure_is_a_message_if_the_job_had_begun_and_failed() {
    for (outcome, failure, expected) in [
        (ReleaseOutcome::Failed, Some("why"), &["why"][..]),
        (ReleaseOutcome::Succeeded, None, &[]),
    ] {
        let table = MemoryTable::default();
        let service = service(&table).await;
        let Ok(Begun::Granted(granted)) = begin(&service).await else {
            panic!("no job");
        };

        let end = service.end(&granted.job, outcome, failure);
        end.await.unwrap();

        assert_eq!(table.failures(), expected, "{outcome:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_program_is_why_its_open_jobs_failed() {
    let table = MemoryTable::default();
    let service = service(&table).await;
    begin(&service).await.unwrap();

    service.end_all().await;

    released(&table).await;
    assert_eq!(table.failures(), ["the program of the job has ended"]);
}
