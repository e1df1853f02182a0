//! Links into the AWS console.
//!
//! Each partition has its own console
//! (<https://docs.aws.amazon.com/whitepapers/latest/aws-fault-isolation-boundaries/partitions.html>,
//! <https://docs.aws.amazon.com/govcloud-us/latest/UserGuide/using-govcloud-arns.html>). AWS does not
//! document the paths. If a path changes, the link leads to the start page of the service.

use lockstep_core::domain::{ExecutionArn, TaskArn};

/// Returns the link to the page of an execution, or `None` in a partition whose console is not known.
#[must_use]
pub fn execution(arn: &ExecutionArn) -> Option<String> {
    let (host, region) = host(arn.as_str())?;
    Some(format!(
        "https://{host}/states/home?region={region}#/v2/executions/details/{arn}"
    ))
}

/// Returns the link to the logs of a task, or `None` in a partition whose console is not known.
#[must_use]
pub fn task_logs(arn: &TaskArn) -> Option<String> {
    let (host, region) = host(arn.as_str())?;
    let (_, id) = arn.as_str().rsplit_once('/')?;
    let cluster = arn.cluster();
    Some(format!(
        "https://{host}/ecs/v2/clusters/{cluster}/tasks/{id}/logs?region={region}"
    ))
}

/// Returns the host of the console for the partition and the Region of `arn`, and the Region.
fn host(arn: &str) -> Option<(String, &str)> {
    let mut parts = arn.split(':').skip(1);
    let (partition, region) = (parts.next()?, parts.nth(1)?);
    let domain = match partition {
        "aws" => "console.aws.amazon.com",
        "aws-cn" => "console.amazonaws.cn",
        "aws-us-gov" => "console.amazonaws-us-gov.com",
        _ => return None,
    };
    Some((format!("{region}.{domain}"), region))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_exist_only_for_partitions_with_a_known_console() {
        for (partition, region, domain) in [
            ("aws", "eu-west-1", Some("console.aws.amazon.com")),
            ("aws-cn", "cn-north-1", Some("console.amazonaws.cn")),
            (
                "aws-us-gov",
                "us-gov-west-1",
                Some("console.amazonaws-us-gov.com"),
            ),
            ("aws-iso", "us-iso-east-1", None),
        ] {
            let run = format!("arn:{partition}:states:{region}:1:execution:report:a");
            let task = format!("arn:{partition}:ecs:{region}:1:task/batch/4f0c");

            let links = (
                execution(&ExecutionArn::new(run.clone()).unwrap()),
                task_logs(&TaskArn::new(task).unwrap()),
            );

            let expected = |path: String| Some(format!("https://{region}.{}/{path}", domain?));
            let details = format!("states/home?region={region}#/v2/executions/details/{run}");
            let logs = format!("ecs/v2/clusters/batch/tasks/4f0c/logs?region={region}");
            assert_eq!(links, (expected(details), expected(logs)), "{partition}");
        }
    }
}
