//! Decides again and again, for a count of instructions: repeat FIGURE TIMES

use lockstep_tests::scenes;
use std::hint::black_box;
use std::process::ExitCode;

const USAGE: &str = "repeat [FIGURE TIMES]
  without arguments, prints the figures: one decision each";

fn main() -> ExitCode {
    let given: Vec<_> = std::env::args().skip(1).collect();
    let scenes = scenes::all();
    let (figure, times) = match &given[..] {
        [] => {
            for scene in scenes {
                println!("{}", scene.figure);
            }
            return ExitCode::SUCCESS;
        }
        [figure, times] => (figure, times.parse::<u32>()),
        _ => (&String::new(), "".parse()),
    };
    let scene = scenes.iter().find(|scene| scene.figure == *figure);
    let (Some(scene), Ok(times)) = (scene, times) else {
        eprintln!("{USAGE}");
        return ExitCode::from(64);
    };
    for _ in 0..times {
        drop(black_box(black_box(scene).decide()));
    }
    ExitCode::SUCCESS
}
