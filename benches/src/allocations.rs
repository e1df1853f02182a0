//! Counts what a decision allocates: lockstep-bench-allocations FOLDER

use lockstep_bench::results::Measurement;
use lockstep_bench::scenes;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::hint::black_box;
use std::path::Path;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const NOTE: &str = "Counted by the allocator during one call of `decide`, its result included.";

fn main() {
    let folder = std::env::args().nth(1).expect("the folder of the results");
    let mut measurement = Measurement::new(
        "decide-allocations",
        "Allocations of one decision",
        "",
        NOTE,
    );
    for scene in scenes::all() {
        let region = Region::new(ALLOCATOR);
        let decision = black_box(scene.decide());
        let change = region.change();
        drop(decision);
        let calls = (change.allocations + change.reallocations) as u64;
        let bytes = change.bytes_allocated as u64;
        let figure = &scene.figure;
        measurement.add_exact(figure, "Lockstep", "allocations", calls);
        measurement.add_exact(&format!("{figure}: memory"), "Lockstep", "bytes", bytes);
    }
    measurement.write(Path::new(&folder));
}
