//! Public benchmarks: published datasets, with a separate brain for every haystack.

mod answer;
mod dataset;
mod hermetic;
mod reproduce;
mod rows;
mod run;
mod spec;
mod values;

pub use answer::{ANSWER_TOKENS, AnswerReader};
pub use dataset::{Collection, DatasetError, LongMemEval, locomo, of, open, read_entry, sha256};
pub use reproduce::{ProvenanceChange, Reproduction, RowDifference, reproduction};
pub use rows::{ResumeState, RowFile, summary_line};
pub use run::{
    Answerer, BenchmarkOptions, Expander, NextHaystack, QuestionResult, Retrieval, ask_all, run,
};
pub use spec::{BenchmarkRun, BenchmarkRunSpec, BenchmarkSpecError, RunOptions};
pub use values::{DatasetObjectError, DatasetObjectReader};
