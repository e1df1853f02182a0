//! How long one decision takes.

use crate::clock::Stopwatch;
use crate::results::Measurement;
use crate::scenes::{self, Scene};
use std::hint::black_box;
use std::path::Path;
use std::thread;
use std::time::Duration;

const NOTE: &str = "Time of one call of `decide` and of dropping its result, compiled as the functions are: for size. \
    A release with waiters hands the permit over. Allocation is slower in a process that has had a second thread, as a \
    function has after its first connection; so the first subject has had one. A heap in use is slower yet where there \
    are waiters.";
const ROUNDS: usize = 150;
const BLOCK: Duration = Duration::from_millis(1);

/// Measures and writes `decide`. The process must not have had a second thread.
///
/// # Panics
/// When a thread cannot be started.
pub fn measure(folder: &Path) {
    let mut measurement = Measurement::new("decide", "Time of one decision", "", NOTE);
    let scenes = scenes::all();
    let alone = times(&scenes);
    thread::spawn(|| ()).join().expect("a thread that ends");
    let beside = times(&scenes);
    for (subject, all) in [("Lockstep", beside), ("Lockstep, no second thread", alone)] {
        for (scene, times) in scenes.iter().zip(all) {
            measurement.add(&scene.figure, subject, "ns", times);
        }
    }
    measurement.write(folder);
}

/// Nanoseconds of each scene.
fn times(scenes: &[Scene]) -> Vec<Vec<f64>> {
    let calls: Vec<u32> = scenes.iter().map(calls_in_a_block).collect();
    let mut times = vec![Vec::new(); scenes.len()];
    for _ in 0..ROUNDS {
        for ((scene, calls), times) in scenes.iter().zip(&calls).zip(&mut times) {
            let watch = Stopwatch::start();
            for _ in 0..*calls {
                drop(black_box(black_box(scene).decide()));
            }
            times.push(watch.elapsed().as_secs_f64() * 1e9 / f64::from(*calls));
        }
    }
    times
}

fn calls_in_a_block(scene: &Scene) -> u32 {
    let watch = Stopwatch::start();
    let mut calls = 0;
    while watch.elapsed() < 10 * BLOCK {
        drop(black_box(black_box(scene).decide()));
        calls += 1;
    }
    (calls / 10).max(1)
}
