//! The lock table, given by its name or its ARN.

use aws_config::SdkConfig;

/// The rule for the name or the ARN of a table
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html>).
pub(crate) const RULE: &str = "3 to 255 characters out of A-Z a-z 0-9 _ . -, or the ARN of a table";

/// A table, with its Region and account if it was given as an ARN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Table<'a> {
    pub(crate) name: &'a str,
    /// Region and account.
    place: Option<(&'a str, &'a str)>,
}

impl<'a> Table<'a> {
    /// Parses the value of `LOCKSTEP_TABLE` or `--table`.
    ///
    /// # Errors
    /// A message with the value and the rule that it breaks.
    pub(crate) fn of(text: &'a str) -> Result<Self, String> {
        let table = Self::parse(text);
        table.ok_or_else(|| format!("LOCKSTEP_TABLE (or --table) is {text:?}, but must be {RULE}"))
    }

    fn parse(text: &'a str) -> Option<Self> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        let is_name = |name: &str| (3..=255).contains(&name.len()) && name.chars().all(is_part);
        let Some(arn) = text.strip_prefix("arn:") else {
            return is_name(text).then_some(Self {
                name: text,
                place: None,
            });
        };
        let parts: Vec<_> = arn.splitn(5, ':').collect();
        let [_, "dynamodb", region, account, resource] = parts[..] else {
            return None;
        };
        let is_account = account.len() == 12 && account.chars().all(|c| c.is_ascii_digit());
        let name = resource.strip_prefix("table/")?;
        let is_region = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let is_region = !region.is_empty() && region.chars().all(is_region);
        (is_name(name) && is_account && is_region).then_some(Self {
            name,
            place: Some((region, account)),
        })
    }

    /// Checks that requests with the settings of `sdk` go to the Region of the table.
    ///
    /// # Errors
    /// A message with both Regions.
    pub(crate) fn check_region(&self, sdk: &SdkConfig) -> Result<(), String> {
        let asked = sdk.region().map_or("", |region| region.as_ref());
        match self.place {
            Some((region, _)) if region != asked => Err(format!(
                "the ARN of table {} names the Region {region}, but requests go to {asked}: set AWS_REGION={region}",
                self.name
            )),
            _ => Ok(()),
        }
    }

    /// Checks that the table is in `account`, the account of the credentials.
    ///
    /// # Errors
    /// A message with both accounts.
    pub(crate) fn check_account(&self, account: &str) -> Result<(), String> {
        match self.place {
            Some((_, own)) if own != account => Err(format!(
                "the ARN of table {} names the account {own}, but the credentials are for {account}",
                self.name
            )),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_config::{BehaviorVersion, Region};

    const ARN: &str = "arn:aws:dynamodb:eu-west-1:111122223333:table/locks";

    #[test]
    fn a_table_has_a_name_or_an_arn() {
        for (good, name) in [("locks", "locks"), ("a.b_c-D9", "a.b_c-D9"), (ARN, "locks")] {
            assert_eq!(Table::of(good).unwrap().name, name);
        }
        for bad in [
            "ab",
            "lock table",
            "locks!",
            "arn:aws:dynamodb:eu-west-1:111122223333:table/",
            "arn:aws:dynamodb:eu-west-1:111122223333:table/locks/index/due",
            "arn:aws:dynamodb:eu-west-1::table/locks",
            "arn:aws:dynamodb::111122223333:table/locks",
            "arn:aws:dynamodb:*:111122223333:table/locks",
            "arn:aws:dynamodb::111122223333:global-table/locks",
            "arn:aws:sqs:eu-west-1:111122223333:table/locks",
            "arn:aws:sqs:eu-west-1:111122223333:locks",
            " arn:aws:dynamodb:eu-west-1:111122223333:table/locks",
            &"a".repeat(256),
        ] {
            let error = Table::of(bad).unwrap_err();
            assert!(error.contains(RULE) && error.contains(bad), "{error}");
        }
    }

    #[test]
    fn a_table_of_another_region_or_account_is_refused() {
        let sdk = |region: &'static str| {
            let sdk = SdkConfig::builder().behavior_version(BehaviorVersion::latest());
            sdk.region(Region::new(region)).build()
        };
        let (named, table) = (Table::of("locks").unwrap(), Table::of(ARN).unwrap());

        assert!(named.check_region(&sdk("us-east-1")).is_ok());
        assert!(named.check_account("444455556666").is_ok());
        assert!(table.check_region(&sdk("eu-west-1")).is_ok());
        assert!(table.check_account("111122223333").is_ok());
        let region = table.check_region(&sdk("us-east-1")).unwrap_err();
        assert!(region.contains("eu-west-1") && region.contains("us-east-1"));
        let account = table.check_account("444455556666").unwrap_err();
        assert!(account.contains("111122223333") && account.contains("444455556666"));
    }
}
