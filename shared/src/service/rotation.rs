//! Which of many holders or waiters a call checks first, if it cannot check all.

/// Rotates the items, so that calls with different steps begin at different ones. `step` counts the calls, or the
/// time between them.
pub(super) fn rotate<T>(items: &mut [T], step: u64) {
    items.rotate_left(first_of(items.len(), step));
}

/// Returns the index of the first one of `count`.
///
/// The multiples of the golden ratio are spread evenly between 0 and 1, and so are the multiples of each of
/// them. A remainder of `step` would begin at the same one again if calls are `count` steps apart.
fn first_of(count: usize, step: u64) -> usize {
    /// The fraction of the golden ratio, in units of 2^-64.
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    let spread = step.wrapping_mul(GOLDEN);
    let first = (u128::from(spread) * count as u128) >> 64;
    usize::try_from(first).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstep_core::domain::Permits;
    use std::collections::BTreeSet;

    /// A minute of 2026.
    const STEP: u64 = 29_539_080;

    fn found(count: usize, steps: usize, checked: usize) -> usize {
        let steps = (STEP..).take(steps);
        let found =
            steps.flat_map(|step| (0..checked).map(move |i| (first_of(count, step) + i) % count));
        found.collect::<BTreeSet<_>>().len()
    }

    #[test]
    fn each_holder_comes_first_within_three_times_as_many_steps() {
        for count in 1..=usize::from(Permits::MAX) {
            assert_eq!(found(count, 3 * count, 1), count, "{count}");
        }
    }

    #[test]
    fn steps_that_check_eight_holders_each_soon_come_to_all() {
        for count in [10, 20, 25, 50, 60, 100] {
            let steps = 2 * usize::div_ceil(count, 8) + 2;
            assert_eq!(found(count, steps, 8), count, "{count}");
        }
    }
}
