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
mod problem;
pub mod reading;
mod rules;
mod shown;
mod summary;
mod title;
mod title_figure;
mod verify;

pub use abstention::Abstention;
pub use baseline::{Order, newest_first, oracle, random};
pub(crate) use catalogue::known_name;
pub use catalogue::{CATALOGUE, Catalogued, KNOWN_FILES, KnownFile, known_as};
pub use document::{Body, Document, Granularity, Haystack, Question, Turn};
pub use label::{Label, Labelled, headline, label, measured, measured_by_type, run_id, title_of};
pub use outcome::{Outcome, Ranked, Scoring, Timings, measures, outcome, score};
pub use problem::{DataProblem, DataProblemKind, count_problems};
pub(crate) use rules::is_collection;
pub use rules::{Benchmark, abstention, dataset_name, depth, measures_of, unit};
pub use shown::{DocumentText, Shown, ShownDocument, document_page};
pub use summary::{BY_TYPE_SUMMARY, ByType, Figured, Group, Mean, Recall, Summary, summarise};
pub use title::{TitleError, check_title};
pub(crate) use verify::figures_of_ranks;
pub use verify::{AnswerMode, figures_of_order, row_mismatches};
