//! A caller's retry that asks for the permit or the run key of an attempt whose end is not known yet.
//!
//! The answer `skipped` or `duplicate` ends the caller's retry without a run. So the earlier attempt is looked for behind
//! other holders, checked again for some seconds, and in doubt answered with an error that the caller retries.

mod behind_three;
mod forgotten;
mod hidden;
mod of_yielded;
mod second_answer_lost;
mod siblings;
mod silent_process;
mod silent_recheck;
mod unread_record;
mod yielded_process;
mod yields_and_lags;
mod yields_meanwhile;
