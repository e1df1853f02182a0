//! What goes wrong for a while and for everybody: the table is away, Lambda throttles, a function is
//! being deployed.

use crate::functions::Function;
use fastrand::Rng;

/// The bad times of one world.
#[derive(Default)]
pub(crate) struct Weather {
    spells: Vec<Spell>,
}

/// From when until when, in milliseconds since 1970, and what.
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
}

impl Weather {
    /// Some spells between `from` and `until`. A table outage lasts up to ten leases.
    pub(crate) fn of(random: &mut Rng, from: u64, until: u64) -> Self {
        let mut spells = Vec::new();
        for _ in 0..random.u64(0..=3) {
            let (what, least, most) = match random.u8(0..8) {
                0 | 1 => (Trouble::TableAway, 10, 600),
                2 => (Trouble::TableThrottled, 30, 120),
                3 => (Trouble::LambdaThrottled, 30, 120),
                _ => (Trouble::Deployed(deployed(random)), 5, 60),
            };
            let begin = random.u64(from..until);
            let length = random.u64(least..=most) * 1000;
            spells.push(Spell {
                from: begin,
                until: (begin + length).min(until),
                what,
            });
        }
        Self { spells }
    }

    /// What a request to the table meets at `now`.
    pub(crate) fn of_table(&self, now: u64) -> Option<Trouble> {
        let of_table = [Trouble::TableAway, Trouble::TableThrottled];
        self.at(now).find(|what| of_table.contains(what))
    }

    /// The error that an invocation of `function` meets at `now`. While a function is deployed, it
    /// has two.
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
