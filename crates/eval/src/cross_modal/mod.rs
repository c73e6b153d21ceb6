//! A panel of models that is asked.
//!
//! What a judge sees, what its reply is worth, who is asked next and what the votes add up to is
//! `core/cross_modal`; here is what asks ([`Jury`]), one case or the rows of a file ([`judge_batch`]).
//!
//! Promises: a call that failed is recorded as one, and one that was not made as that; neither becomes a
//! score. What a question cost is told even if it could not be judged. A panel that can't be asked says so
//! before anybody is.

mod batch;
mod jury;

pub use batch::judge_batch;
pub use jury::{Jury, JuryCost, JuryError};
