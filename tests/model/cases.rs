//! The configurations: small worlds, each with one thing that may go wrong in every way.

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

/// Its lease names a heartbeat state, as that of a run that can be redriven.
const BEATS: Plan = Plan {
    beat: true,
    ..REFUSE
};
/// A start of the tick that all runs with a key are of.
const TICK: Plan = Plan {
    run_key: Some("tick"),
    ..REFUSE
};

/// The same, and it waits for its turn.
const TICK_QUEUE: Plan = Plan {
    run_key: Some("tick"),
    ..QUEUE
};

/// A world of so many permits and these plans: what may go wrong how often, and what else it is.
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

/// A table of worlds that keep all promises. Each row is a test, named by its rule: the world, how
/// many states it has, and the answers that come up in them, in alphabetical order.
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

/// A table of worlds with a fault. Each row is a test, named by its fault: the world, the fault, and
/// the properties that the model must find broken.
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
