//! A caller's retry that asks for the permit or the run key of an attempt whose end is not known yet.
//!
//! The answer `skipped` or `duplicate` ends the caller's retry without a run. So the earlier attempt is looked for behind
//! other holders, checked again for some seconds, and in doubt answered with an error that the caller retries.

mod behind_siblings;
mod behind_ten_checked;
mod behind_three;
mod called_after_its_end;
mod dead_at_its_turn;
mod dead_in_a_row;
mod dead_in_the_queue;
mod ending_beside_sibling;
mod forgotten;
mod freed_beside_sibling;
mod freed_sibling;
mod freed_under_a_look;
mod hidden;
mod hidden_for_an_hour;
mod many_siblings;
mod many_with_one_ending;
mod newly_ending;
mod of_yielded;
mod other_holders;
mod second_answer_lost;
mod siblings;
mod silent_once;
mod silent_process;
mod silent_read;
mod silent_wait;
mod slow_once;
mod yielded_after_its_end;
mod yielded_process;
mod yields_and_lags;
mod yields_meanwhile;

use crate::functions::Answer;
use crate::scene::status_of;

/// Returns whether the caller's retry still comes to a run: it has the permit, is tried again, or waits for the end of a
/// holder.
fn comes_to_a_run(answer: &Answer) -> bool {
    let is_ending = answer.as_ref().is_ok_and(|answer| answer["ending"] == true);
    is_ending || ["granted", "Lockstep.Unavailable"].contains(&status_of(answer))
}
