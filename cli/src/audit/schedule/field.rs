//! The fields of a cron expression, as EventBridge documents them
//! (<https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-scheduled-rule-pattern.html>).
//!
//! A field is `*` or a list of values, of ranges and of steps that begin at one of the two. What Quartz takes and no page
//! of AWS shows, such as a range that goes backwards, is refused here.

use super::expression::matches_text;

/// A field: its values, and what else it takes.
#[derive(Debug)]
pub(super) struct Field {
    /// As the syntax of an expression names it.
    name: &'static str,
    first: u32,
    last: u32,
    /// Names of the values in ascending order. The first name stands for `first`.
    names: &'static [&'static str],
    /// The longest step; `None` for a field without steps.
    longest_step: Option<u32>,
    alone: Option<Alone>,
}

/// What a field takes if it has nothing else.
#[derive(Debug)]
struct Alone {
    pattern: &'static str,
    text: &'static str,
}

const MONTHS: [&str; 12] = [
    "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
];
const DAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// The fields in their order.
pub(super) static FIELDS: [Field; 6] = [
    numbers("MINUTES", 0, 59, 59),
    numbers("HOURS", 0, 23, 23),
    Field {
        alone: Some(Alone {
            pattern: "L|LW|(0?[1-9]|[12][0-9]|3[01])W",
            text: "L, LW or a day with W",
        }),
        ..numbers("DAY-OF-MONTH", 1, 31, 31)
    },
    Field {
        names: &MONTHS,
        ..numbers("MONTH", 1, 12, 12)
    },
    Field {
        names: &DAYS,
        longest_step: None,
        alone: Some(Alone {
            pattern: "L|([1-7]|SUN|MON|TUE|WED|THU|FRI|SAT)(L|#[1-5])",
            text: "L, a day with L, or a day with # and 1 to 5",
        }),
        ..numbers("DAY-OF-WEEK", 1, 7, 0)
    },
    numbers("YEAR", 1970, 2199, 229),
];

const fn numbers(name: &'static str, first: u32, last: u32, longest_step: u32) -> Field {
    Field {
        name,
        first,
        last,
        names: &[],
        longest_step: Some(longest_step),
        alone: None,
    }
}

impl Field {
    /// Checks the text of this field.
    ///
    /// # Errors
    /// The rule that the text breaks, with the name of the field and the text.
    pub(super) fn check(&self, text: &str) -> Result<(), String> {
        let is_alone = |alone: &Alone| matches_text(text, alone.pattern);
        let takes = text == "*"
            || self.alone.as_ref().is_some_and(is_alone)
            || text.split(',').all(|item| self.takes_item(item));
        match takes {
            true => Ok(()),
            false => Err(self.rule(text)),
        }
    }

    fn rule(&self, text: &str) -> String {
        let Self {
            name, first, last, ..
        } = self;
        let names = match self.names {
            [first, .., last] => format!(" or {first} to {last}"),
            _ => String::new(),
        };
        let steps = match self.longest_step {
            Some(longest) => format!(" and steps of 1 to {longest} such as {first}/{longest}"),
            None => String::new(),
        };
        let alone = match &self.alone {
            Some(alone) => format!(", or one of {}", alone.text),
            None => String::new(),
        };
        format!(
            "must be a schedule with another {name} than {text:?}: *, or a list of {first} to {last}{names}, with ranges \
             that go upwards{steps}{alone}"
        )
    }

    /// Returns whether an entry of a list is a value or a range, either of them with or without a step, or every value
    /// with a step.
    fn takes_item(&self, item: &str) -> bool {
        let (range, step) = match item.split_once('/') {
            Some((range, step)) => (range, Some(step)),
            None => (item, None),
        };
        let is_step = |step| {
            let longest = self.longest_step.unwrap_or(0);
            self.number(step)
                .is_some_and(|step| (1..=longest).contains(&step))
        };
        let is_range = match range.split_once('-') {
            Some((from, to)) => match (self.value(from), self.value(to)) {
                (Some(from), Some(to)) => from <= to,
                _ => false,
            },
            None => self.value(range).is_some() || (range == "*" && step.is_some()),
        };
        is_range && step.is_none_or(is_step)
    }

    /// Returns the value that a number or a name stands for.
    fn value(&self, text: &str) -> Option<u32> {
        let named = (self.first..).zip(self.names);
        let mut named = named.filter(|(_, name)| **name == text);
        let value = named.next().map(|(value, _)| value);
        let value = value.or_else(|| self.number(text));
        value.filter(|value| (self.first..=self.last).contains(value))
    }

    /// Parses a number with no more digits than the last value has.
    fn number(&self, text: &str) -> Option<u32> {
        let is_short = text.len() <= self.last.to_string().len();
        let is_number = is_short && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|_| is_number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_takes_what_eventbridge_documents_for_it() {
        for (at, good, bad) in [
            (
                0,
                "* 0 59 00 0,5,10 0-15 30-30 0/15 */15 5-30/5 0-15/1,45 0/59",
                "60 -1 0,,5 ,5 5, 5-1 0-60 0/0 */0 0/60 */60 /5 5/ 0/-1 *,5 ? L 1W 1-2-3 1/2/3 +5 005 00005 MON",
            ),
            (1, "* 23 8-8 0/23", "24 23-0 0/24 L"),
            (
                2,
                "* 1 31 1-31/30 1,15 L LW 3W 31W",
                "0 32 W 0W 32W L,1 L-3 1,3W 1-3W WL ? 5L 2#1 15-1 1/32",
            ),
            (
                3,
                "* 1 12 JAN DEC JAN-MAR SEP,OCT 1-12/3 JAN/3",
                "0 13 JANUARY jan DEC-JAN SUN JAN-13 1/13",
            ),
            (
                4,
                "* 1 7 MON SAT 2-6 MON-FRI MON,WED MON-6 L 6L FRIL 3#2 SUN#5",
                "0 8 mon FRI-MON MON/2 */2 2/2 3#0 3#6 3#1,6#3 L,2 #1 JAN ? 1W",
            ),
            (
                5,
                "* 1970 2199 2026-2030 2026,2028 2026/2",
                "1969 2200 26 2030-2026 2026/0 2026/230 20260 ?",
            ),
        ] {
            for text in good.split(' ') {
                assert_eq!(FIELDS[at].check(text), Ok(()), "{:?}", FIELDS[at]);
            }
            for text in bad.split(' ').chain(["", " "]) {
                let refused = FIELDS[at].check(text).unwrap_err();
                let begin = format!("another {} than {text:?}: ", FIELDS[at].name);
                assert!(refused.contains(&begin), "{refused}");
            }
        }
    }

    #[test]
    fn the_rule_of_a_field_names_its_values_and_what_it_takes_alone() {
        let rule = FIELDS[4].check("MON/2").unwrap_err();

        let expected = "must be a schedule with another DAY-OF-WEEK than \"MON/2\": *, or a list of 1 to 7 or SUN to SAT, \
                        with ranges that go upwards, or one of L, a day with L, or a day with # and 1 to 5";
        assert_eq!(rule, expected);
    }
}
