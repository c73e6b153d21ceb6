//! Wire structs: what is printed, sent and stored, with its version.
//!
//! Core types do not derive serde. Each wire struct is made by taking a core value apart field by
//! field, so that a field added there fails to compile here instead of being lost.

mod answer;
pub mod capture;
pub mod compare;
pub mod gate;
pub(crate) mod qrels;
pub mod replay;
pub mod result;
mod run;
mod score;

pub use answer::{ANSWER_VERSION, Answer, Served, StageTime};
pub use run::{RUN_VERSION, Retrieved, RunRow};
pub use score::{Counts, PerQuery, QueryScore, SCORE_VERSION, Score, TiedQueries, Warning};
