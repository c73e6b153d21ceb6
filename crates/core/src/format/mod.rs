//! Wire structs: what is printed, sent and stored, with its version.
//!
//! Core types do not derive serde. Each wire struct is made by taking a core value apart field by
//! field, so that a field added there fails to compile here instead of being lost.

pub mod alert;
mod answer;
pub mod ask;
pub mod baseline;
pub mod benchmark;
pub mod body;
pub mod calibration;
pub mod capture;
pub mod captured;
pub mod compare;
pub mod contradiction;
pub mod cross_modal;
pub mod doctor;
pub mod feedback;
pub mod gate;
pub mod incident;
pub mod logs;
pub mod page;
pub mod probe;
pub mod prompts;
pub mod qrels;
pub mod replay;
pub mod result;
mod run;
pub mod schema;
mod score;
pub mod selftest;
pub mod serving;
pub mod suite;
pub mod target;
pub mod triage;
pub mod work;

pub use answer::{ANSWER_VERSION, Answer};
pub use run::{RUN_VERSION, Retrieved, RunRow};
pub use score::{
    Counts, NO_JUDGED_HIT, PerQuery, QueryScore, SCORE_VERSION, Score, SegmentScore, Segments,
    TiedQueries, Warning,
};
