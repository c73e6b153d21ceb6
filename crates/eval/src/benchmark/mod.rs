//! Public benchmarks: datasets read as they are published, every haystack in a brain of its own.

mod answer;
mod dataset;
mod hermetic;
mod reproduce;
mod rows;
mod run;
mod spec;
mod values;

pub use answer::{ANSWER_TOKENS, Reader};
pub use dataset::{Collection, DatasetError, LongMemEval, locomo, of, open, read_entry, sha256};
pub use reproduce::{Changed, Difference, Reproduction, reproduction};
pub use rows::{Resumed, RowFile, summary_line};
pub use run::{Answerer, Asking, Done, Expander, Next, Retrieval, ask_all, run};
pub use spec::{How, Ran, Spec, SpecError};
pub use values::{Values, ValuesError};
