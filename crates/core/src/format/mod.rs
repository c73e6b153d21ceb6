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
pub mod json;
pub mod links;
pub mod meter;
pub mod page;
pub mod pages;
pub mod plain;
pub mod probe;
pub mod qrels;
pub mod replay;
pub mod result;
mod run;
pub mod schema;
mod score;
pub mod selftest;
pub mod serving;
pub mod shape;
pub mod sources;
pub mod stats;
pub mod suggest;
pub mod suite;
pub mod target;
pub mod triage;
pub mod work;

pub use answer::{ANSWER_VERSION, Answer, CacheUse, Served, StageTime};
pub use run::{RUN_VERSION, Retrieved, RunRow};
pub use score::{
    Counts, NO_JUDGED_HIT, PerQuery, QueryScore, SCORE_VERSION, Score, SegmentScore, Segments,
    TiedQueries, Warning,
};

/// What is wrong with a line of NDJSON. The parser counts every line as its first, which would
/// contradict the number that the file's reader gives.
pub(crate) fn in_line(error: &serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column ", " at column ")
}
