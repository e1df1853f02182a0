//! The mails of the stack: whether those who are to get them have confirmed their subscriptions.

use super::super::stack::output_of;
use super::check::Check;
use aws_config::SdkConfig;
use aws_sdk_cloudformation::types::Stack;

/// Checks the subscriptions of the topic of mails. SNS sends nothing to a subscription that is not confirmed,
/// and deletes it after some days
/// (<https://docs.aws.amazon.com/sns/latest/dg/sns-email-notifications.html>).
pub(super) async fn check_mails(sdk: &SdkConfig, stack: &Stack) -> Check {
    let name = "mails";
    let Some(topic) = output_of(stack, "MailTopicArn") else {
        return Check::passed(name, "none: AlarmEmail is empty");
    };
    let call = aws_sdk_sns::Client::new(sdk).get_topic_attributes();
    let found = match call.topic_arn(topic).send().await {
        Ok(found) => found,
        Err(failure) => {
            return Check::unread(
                name,
                &format!("SNS GetTopicAttributes of {topic}"),
                &failure,
            );
        }
    };
    let count = |attribute: &str| {
        let count = found.attributes().and_then(|all| all.get(attribute));
        count.and_then(|count| count.parse().ok()).unwrap_or(0)
    };
    of_counts(
        count("SubscriptionsConfirmed"),
        count("SubscriptionsPending"),
    )
}

fn of_counts(confirmed: u64, pending: u64) -> Check {
    Check::new(
        "mails",
        confirmed > 0 && pending == 0,
        format!("confirmed subscriptions: {confirmed}, not confirmed: {pending}"),
        match pending {
            0 => {
                "the subscription of AlarmEmail is gone: set AlarmEmail to an empty text, deploy, set it again, and \
                  confirm the mail of SNS"
            }
            _ => {
                "the owner of each address has to follow the link in the mail of SNS, \"AWS Notification - \
                  Subscription Confirmation\""
            }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::super::check::Status;
    use super::*;

    #[test]
    fn mails_need_a_confirmation_of_every_address() {
        for (confirmed, pending, status) in [
            (1, 0, Status::Ok),
            (0, 1, Status::Failed),
            (1, 1, Status::Failed),
            (0, 0, Status::Failed),
        ] {
            let check = of_counts(confirmed, pending);
            assert_eq!(check.status, status, "{}", check.found);
        }
    }
}
