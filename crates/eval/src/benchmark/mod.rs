//! Public benchmarks: datasets read as they are published, every haystack in a brain of its own.

mod dataset;
mod hermetic;
mod rows;
mod run;
mod values;

pub use dataset::{Collection, DatasetError, LongMemEval, locomo, of, open, read_entry, sha256};
pub use rows::{Resumed, RowFile, summary_line};
pub use run::{Answerer, Asking, DEPTH, Done, Next, Retrieval, ask_all, run};
pub use values::{Values, ValuesError};
