//! The ARN of a task.

use crate::domain::{HolderId, Invalid};
use std::fmt;

/// The ARN of an ECS task in the long format, which contains the name of the cluster
/// (<https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-account-settings.html>).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskArn(String);

impl TaskArn {
    /// The rule for task ARNs.
    pub const RULE: &'static str = "the ARN of an ECS task with its cluster, \
                                    arn:<partition>:ecs:<region>:<account>:task/<cluster>/<id>";

    /// Creates an ARN that follows [`Self::RULE`].
    ///
    /// # Errors
    /// [`Invalid`] with the rule.
    pub fn new(arn: impl Into<String>) -> Result<Self, Invalid> {
        let arn = arn.into();
        let parts: Vec<_> = arn.split(':').collect();
        let is_arn = match parts[..] {
            ["arn", partition, "ecs", region, account, resource] => {
                let task: Vec<_> = resource.split('/').collect();
                let is_task =
                    matches!(task[..], ["task", cluster, id] if plain(cluster) && plain(id));
                is_task && [partition, region, account].into_iter().all(plain)
            }
            _ => false,
        };
        if is_arn && arn.len() <= Self::LENGTH_MAX {
            Ok(Self(arn))
        } else {
            Err(Invalid { rule: Self::RULE })
        }
    }

    /// Length of the longest ARN, in characters. A cluster's name has at most 255
    /// (<https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateCluster.html>).
    pub const LENGTH_MAX: usize = 512;

    /// Returns the ARN as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the name of the cluster that the task runs in.
    #[must_use]
    pub fn cluster(&self) -> &str {
        self.0.split('/').nth(1).unwrap_or_default()
    }

    /// Returns the ARN of that cluster.
    #[must_use]
    pub fn cluster_arn(&self) -> String {
        let parts: Vec<_> = self.0.split(':').collect();
        format!("{}:cluster/{}", parts[..5].join(":"), self.cluster())
    }

    /// Returns the task in the name of `holder`, `<task ARN>#<runtime id>/<job>`; `None` if the holder
    /// is not a task. No ARN of a task contains a `#`.
    #[must_use]
    pub fn of_holder(holder: &HolderId) -> Option<Self> {
        let arn = holder.as_str().split('#').next()?;
        Self::new(arn).ok()
    }

    /// Returns the id of the container in its runtime, from the name of a holder `<task ARN>#<runtime
    /// id>/<job>`; `None` if the holder is not a task, or its name contains no runtime id.
    #[must_use]
    pub fn container_of(holder: &HolderId) -> Option<&str> {
        Self::of_holder(holder)?;
        let (_, suffix) = holder.as_str().split_once('#')?;
        let id = suffix.split('/').next()?;
        Some(id).filter(|id| !id.is_empty())
    }
}

fn plain(part: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-_".contains(&b);
    !part.is_empty() && part.bytes().all(allowed)
}

impl fmt::Display for TaskArn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARN: &str = "arn:aws:ecs:eu-west-1:123456789012:task/batch/4f0c";

    #[test]
    fn a_task_knows_its_cluster() {
        let task = TaskArn::new(ARN).unwrap();

        assert_eq!(task.cluster(), "batch");
        let arn = "arn:aws:ecs:eu-west-1:123456789012:cluster/batch";
        assert_eq!(task.cluster_arn(), arn);
    }

    #[test]
    fn the_arn_of_a_task_has_at_most_512_characters() {
        let of_length = |length: usize| format!("{ARN}{}", "0".repeat(length - ARN.len()));

        assert!(TaskArn::new(of_length(512)).is_ok());
        assert!(TaskArn::new(of_length(513)).is_err());
    }

    #[test]
    fn all_jobs_of_one_task_lead_to_it_and_to_their_container() {
        let jobs = [
            (ARN.to_owned(), None),
            (format!("{ARN}#c0ffee-1/a1b2"), Some("c0ffee-1")),
            (format!("{ARN}#c0ffee-1"), Some("c0ffee-1")),
            (format!("{ARN}#/a1b2"), None),
        ];

        for (text, container) in jobs {
            let holder = crate::testing::holder(&text);

            let task = TaskArn::of_holder(&holder).unwrap();

            assert_eq!(task.to_string(), ARN, "{text}");
            assert_eq!(TaskArn::container_of(&holder), container, "{text}");
        }
    }

    #[test]
    fn a_holder_that_is_no_task_leads_to_none() {
        for text in [
            "host:worker#17/a1b2",
            "#c0ffee/a1b2",
            "arn:aws:states:eu-west-1:1:execution:report:a#2",
            "arn:aws:ecs:eu-west-1:1:cluster/batch",
            "arn:aws:ecs:eu-west-1:1:service/batch/api",
            // The short format names no cluster.
            "arn:aws:ecs:eu-west-1:1:task/4f0c#c0ffee/a1b2",
            "arn:aws:ecs:eu-west-1:1:task//4f0c",
            "arn:aws:ecs:eu-west-1:1:task/batch/4f0c/more",
            "arn:aws:ecs::1:task/batch/4f0c",
            "xarn:aws:ecs:eu-west-1:1:task/batch/4f0c",
        ] {
            let holder = crate::testing::holder(text);

            assert_eq!(TaskArn::of_holder(&holder), None, "{text}");
            assert_eq!(TaskArn::container_of(&holder), None, "{text}");
        }
    }
}
