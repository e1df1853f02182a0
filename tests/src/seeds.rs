//! Random tests that can be repeated: the seed is printed first, and `LOCKSTEP_SEED` sets it.

use lockstep::clock::{Clock, SystemClock};
use lockstep::config::variable;
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

/// Checks `rule` on `cases` random values. If one breaks the rule, proptest shrinks it, and the panic shows
/// the result.
///
/// # Panics
/// When a value breaks the rule, or `LOCKSTEP_SEED` is not a whole number.
pub fn check<S: Strategy>(
    cases: u32,
    values: &S,
    rule: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let seed = variable("LOCKSTEP_SEED").map_or_else(
        || SystemClock.now().millis(),
        |seed| seed.parse().expect("LOCKSTEP_SEED is a whole number"),
    );
    println!("seed: LOCKSTEP_SEED={seed}");
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 2000,
        ..Config::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let checked = TestRunner::new_with_rng(config, rng).run(values, rule);
    checked.unwrap_or_else(|broken| panic!("LOCKSTEP_SEED={seed}: {broken}"));
}
