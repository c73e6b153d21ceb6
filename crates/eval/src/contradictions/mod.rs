//! The contradiction probe: asks a brain, pairs what it answers, has the pairs judged.
//!
//! What pairs there are, what a judge sees and how answers add up is `core/contradiction`; here is what
//! touches a brain ([`gather()`]), a judge and what is remembered of it ([`Hearing`]), captures and files
//! ([`read_queries`], [`most_frequent`]), and what of an old finding still stands ([`standing()`]).
//!
//! Promises: the brain is not changed; a judgement that was paid for is kept at once; a search that fails
//! fails its query and not the run.

mod gather;
mod hearing;
mod queries;
mod standing;

pub use gather::{Gathering, gather};
pub use hearing::{Heard, Hearing, Judge, Memory, planted_for};
pub use queries::{most_frequent, read_queries};
pub use standing::standing;
