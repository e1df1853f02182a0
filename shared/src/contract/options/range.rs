//! The range of an option that is a number.

use crate::contract::parse::InvalidRequest;
use lockstep_core::domain::Seconds;
use std::ops::RangeInclusive;

/// Range of a number, with both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The least value.
    pub least: u32,
    /// The greatest value.
    pub most: u32,
}

impl Range {
    /// Creates the range from `least` to `most`, both included.
    #[must_use]
    pub const fn new(least: u32, most: u32) -> Self {
        Self { least, most }
    }

    /// Returns the values in the range.
    #[must_use]
    pub fn values(self) -> RangeInclusive<i64> {
        self.least.into()..=self.most.into()
    }

    /// Checks the `value` of `field`.
    ///
    /// # Errors
    /// [`InvalidRequest`] with the range. The unit is seconds if the name of the field ends in `Seconds`.
    pub fn check(self, field: &str, value: i64) -> Result<u32, InvalidRequest> {
        let Self { least, most } = self;
        let in_range = u32::try_from(value).ok();
        let in_range = in_range.filter(|value| (least..=most).contains(value));
        in_range.ok_or_else(|| {
            let unit = match field.ends_with("Seconds") {
                true => " of seconds",
                false => "",
            };
            let rule = format!("a whole number{unit} from {least} to {most}");
            InvalidRequest::new(field, value, rule)
        })
    }

    /// Checks a length of time, if one is given.
    pub(crate) fn seconds(
        self,
        field: &str,
        value: Option<i64>,
    ) -> Result<Option<Seconds>, InvalidRequest> {
        let checked = value.map(|value| self.check(field, value));
        Ok(checked.transpose()?.map(Seconds::of))
    }
}
