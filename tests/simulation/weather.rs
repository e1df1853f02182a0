//! What goes wrong for a while and for everybody: the table is away, Lambda throttles, a function
//! is being deployed or is not upgraded yet, or no service describes anything.

use crate::functions::Function;
use crate::trial::{Trial, Trials};
use fastrand::Rng;

/// The bad times of one world.
#[derive(Default)]
pub(crate) struct Weather {
    spells: Vec<Spell>,
}

/// A trouble, with its first and last time in milliseconds since 1970.
struct Spell {
    from: u64,
    until: u64,
    what: Trouble,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Every request to the table fails.
    TableAway,
    /// Every request to the table is throttled.
    TableThrottled,
    /// Every invocation is throttled.
    LambdaThrottled,
    /// Every invocation of one function fails.
    Deployed(Function),
    /// Step Functions and ECS deny every description.
    Hidden,
    /// Step Functions and ECS fail to describe anything, and may succeed soon.
    Unanswered,
    /// Step Functions and ECS deny every description, for longer than an hour.
    HiddenForHours,
    /// A function is not upgraded yet, and does not know one field of its requests.
    Old(Function, usize),
}

/// The kinds of trouble: in how many worlds of a thousand, and how long in seconds.
const KINDS: [(Trouble, u64, (u64, u64)); 8] = [
    (Trouble::TableAway, 400, (10, 600)),
    (Trouble::TableThrottled, 200, (30, 120)),
    (Trouble::LambdaThrottled, 200, (30, 120)),
    (Trouble::Deployed(Function::Acquire), 450, (5, 60)),
    (Trouble::Hidden, 550, (60, 600)),
    (Trouble::Unanswered, 400, (10, 300)),
    (Trouble::HiddenForHours, 300, (4_000, 9_000)),
    (Trouble::Old(Function::Heartbeat, 0), 600, (30, 900)),
];

impl Weather {
    /// Draws some spells between `from` and `until`. A table outage lasts up to ten leases.
    pub(crate) fn of(random: &mut Rng, from: u64, until: u64, trials: Trials) -> Self {
        let mut spells = Vec::new();
        for (what, share, (least, most)) in KINDS {
            let trial = match what {
                Trouble::HiddenForHours => Some(Trial::HiddenForHours),
                Trouble::Unanswered => Some(Trial::Unanswered),
                Trouble::Old(..) => Some(Trial::Upgrade),
                _ => None,
            };
            let begin = random.u64(from..until);
            let length = random.u64(least..=most) * 1000;
            let what = drawn(what, random);
            let there = random.u64(0..1000) < share;
            if there && trial.is_none_or(|trial| trials.has(trial)) {
                // A spell of hours outlasts the other troubles.
                let until = match what {
                    Trouble::HiddenForHours => begin + length,
                    _ => (begin + length).min(until),
                };
                spells.push(Spell {
                    from: begin,
                    until,
                    what,
                });
            }
        }
        Self { spells }
    }

    /// Returns weather in which no service describes anything between two times.
    pub(crate) fn hiding(from: u64, until: u64) -> Self {
        let what = Trouble::HiddenForHours;
        Self {
            spells: vec![Spell { from, until, what }],
        }
    }

    /// Returns what the services that describe executions and tasks meet at `now`, if they describe nothing.
    /// A denial comes before all other errors.
    pub(crate) fn hides(&self, now: u64) -> Option<Trouble> {
        let hides = [
            Trouble::HiddenForHours,
            Trouble::Hidden,
            Trouble::Unanswered,
        ];
        hides
            .into_iter()
            .find(|what| self.at(now).any(|there| there == *what))
    }

    /// Returns since when they have given no answer, if they give none for hours.
    pub(crate) fn hidden_since(&self, now: u64) -> Option<u64> {
        let hours = |spell: &&Spell| {
            spell.what == Trouble::HiddenForHours && (spell.from..spell.until).contains(&now)
        };
        self.spells.iter().find(hours).map(|spell| spell.from)
    }

    /// Returns the number of the field that `function` does not know at `now`.
    pub(crate) fn drops(&self, function: Function, now: u64) -> Option<usize> {
        self.at(now).find_map(|what| match what {
            Trouble::Old(old, field) if old == function => Some(field),
            _ => None,
        })
    }

    /// Returns the trouble that a request to the table meets at `now`.
    pub(crate) fn of_table(&self, now: u64) -> Option<Trouble> {
        let of_table = [Trouble::TableAway, Trouble::TableThrottled];
        self.at(now).find(|what| of_table.contains(what))
    }

    /// Returns the error that an invocation of `function` meets at `now`. While a function is
    /// deployed, there are two errors.
    pub(crate) fn of_function(&self, function: Function, now: u64) -> Option<&'static str> {
        self.at(now).find_map(|what| match what {
            Trouble::LambdaThrottled => Some("Lambda.TooManyRequestsException"),
            Trouble::Deployed(deployed) if deployed == function => Some(if now.is_multiple_of(2) {
                "Lambda.ResourceConflictException"
            } else {
                "Lambda.ResourceNotFoundException"
            }),
            _ => None,
        })
    }

    fn at(&self, now: u64) -> impl Iterator<Item = Trouble> {
        let spells = self.spells.iter();
        let there = spells.filter(move |spell| (spell.from..spell.until).contains(&now));
        there.map(|spell| spell.what)
    }
}

/// Draws the function that a trouble is about.
fn drawn(what: Trouble, random: &mut Rng) -> Trouble {
    match what {
        Trouble::Deployed(_) => Trouble::Deployed(deployed(random)),
        Trouble::Old(..) => {
            let functions = [Function::Heartbeat, Function::Heartbeat, Function::Release];
            Trouble::Old(
                functions[random.usize(0..functions.len())],
                random.usize(0..16),
            )
        }
        other => other,
    }
}

fn deployed(random: &mut Rng) -> Function {
    let functions = [
        Function::Acquire,
        Function::Heartbeat,
        Function::Heartbeat,
        Function::Release,
        Function::Reaper,
    ];
    functions[random.usize(0..functions.len())]
}
