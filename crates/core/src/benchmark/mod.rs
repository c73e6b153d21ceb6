//! Public benchmarks: documents to search, questions about them, and what may be said of the
//! answers.
//!
//! Promises: ids are compared as they are and never indexed; a question nobody can answer is never
//! counted as found; numbers under another evaluator's names come from its formulas; a report
//! carries what its numbers depend on.
//!
//! Deliberately absent: files, models, a score of answers. Retrieval that found the evidence has
//! not answered anything.

mod abstention;
mod baseline;
mod catalogue;
mod document;
mod label;
pub mod official;
mod outcome;
pub mod reading;
mod summary;

pub use abstention::Abstention;
pub use baseline::{Order, newest_first, oracle, random};
pub use catalogue::{CATALOGUE, Catalogued};
pub use document::{Body, Document, Granularity, Haystack, Question, Turn};
pub use label::{Label, Labelled, Mislabelled, check_title, label};
pub use outcome::{CUTOFFS, Outcome, Ranked, Timings, measures, score};
pub use summary::{ByType, Figured, Group, Mean, Recall, Summary, summarise};
