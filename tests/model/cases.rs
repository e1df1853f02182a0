//! The configurations: small worlds, in each of which a few things may go wrong at any point.

use crate::world::Plan;

mod evidence;
mod lease;
mod mutants;
mod operator;
mod queue;
mod run_key;
mod travel;

const REFUSE: Plan = Plan::REFUSE;
const QUEUE: Plan = Plan::QUEUE;
const REPLACE: Plan = Plan::REPLACE;

/// A run with a heartbeat state, as every run that can be redriven has.
const BEATS: Plan = Plan {
    beat: true,
    ..REFUSE
};
/// A run with the run key `tick`, which all runs with a key share.
const TICK: Plan = Plan {
    run_key: Some("tick"),
    ..REFUSE
};

/// A run with the run key `tick` that waits in the queue.
const TICK_QUEUE: Plan = Plan {
    run_key: Some("tick"),
    ..QUEUE
};

/// Makes a world from its number of permits and its plans. `may` has the counts of the budget: what may go
/// wrong, and how often. `with` has further fields of the world.
macro_rules! world {
    ($permits:literal, [$($plan:expr),+] $(, may { $($may:ident: $times:literal),+ })?
     $(, with { $($field:ident: $value:expr),+ })?) => {{
        let budget = $crate::state::Budget {
            $($($may: $times,)+)?
            ..$crate::state::Budget::default()
        };
        let world = $crate::world::World::new($permits, &[$($plan),+], budget);
        $(let world = $crate::world::World { $($field: $value,)+ ..world };)?
        world
    }};
}

/// A table of worlds that keep all properties. Each row is a test, named by its rule. The row has the world,
/// the number of its states, and the answers that are reached in them, in alphabetical order.
macro_rules! worlds {
    ($($(#[$why:meta])* fn $rule:ident: $permits:literal, [$($plan:expr),+]
       $(, may $may:tt)? $(, with $with:tt)? => $states:literal, $($answers:literal),+;)+) => {$(
        $(#[$why])*
        #[test]
        fn $rule() {
            let world = $crate::cases::world!($permits, [$($plan),+] $(, may $may)? $(, with $with)?);
            $crate::check::check(world, $states, &[$($answers),+]);
        }
    )+};
}

/// A table of worlds with a fault. Each row is a test, named by its fault. The row has the world, the fault,
/// and the properties that the model must find broken.
macro_rules! faults {
    ($(fn $rule:ident: $permits:literal, [$($plan:expr),+]
       $(, may $may:tt)? $(, with $with:tt)? => $mutant:ident, $($property:ident),+;)+) => {$(
        #[test]
        fn $rule() {
            for property in [$($property),+] {
                let world = $crate::cases::world!($permits, [$($plan),+] $(, may $may)? $(, with $with)?);
                let mutant = $crate::mutant::Mutant::$mutant;
                $crate::check::finds($crate::world::World { mutant, ..world }, property);
            }
        }
    )+};
}

use {faults, world, worlds};
