//! Public benchmarks: documents to search, questions about them, and the claims that the results
//! support.
//!
//! Promises: ids are compared as they are and never indexed; a question without an answer is never
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
pub use baseline::{ReferenceOrder, newest_first, oracle, random};
pub(crate) use catalogue::known_name;
pub use catalogue::{CATALOGUE, CatalogueEntry, KNOWN_FILES, KnownFile, known_as};
pub use document::{
    DatasetDocument, DatasetQuestion, DatasetTurn, DocumentBody, Granularity, Haystack,
};
pub use label::{
    DatasetRunLabel, LabelText, describe_configuration, describe_summary_by_type, headline, label,
    run_id, title_of,
};
pub use outcome::{
    HaystackRanking, QuestionOutcome, QuestionTimings, ScoringRules, measures, outcome, score,
};
pub use problem::{DataProblem, DataProblemKind, count_problems};
pub(crate) use rules::is_collection;
pub use rules::{Benchmark, abstention, dataset_name, depth, measures_of, unit};
pub use shown::{DocumentText, ShownDocument, ShownPassages, document_page};
pub use summary::{
    BY_TYPE_SUMMARY, BenchmarkSummary, ByType, FigureMeans, GroupMeans, Mean, Recall, summarise,
};
pub use title::{TitleError, check_title};
pub(crate) use verify::figures_of_ranks;
pub use verify::{AnswerMode, figures_of_order, row_mismatches};
