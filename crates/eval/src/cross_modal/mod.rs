//! Asks a panel of models for votes.
//!
//! `core/cross_modal` decides what a judge sees, how its reply is scored, which model is asked next
//! and how the votes add up. This module makes the calls ([`Jury`]), for one case or for the rows
//! of a file ([`judge_batch`]).
//!
//! Promises: a failed call is recorded as failed and a skipped call as skipped; neither becomes a
//! score. The cost of a question is reported even if it could not be judged. A panel that cannot be
//! asked is refused before the first call.

mod batch;
mod jury;

pub use batch::judge_batch;
pub use jury::{Jury, JuryCost, JuryError};
