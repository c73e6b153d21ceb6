//! What can go wrong while measuring, as opposed to what can be found.

use std::path::PathBuf;

use gbrain_brain::BrainError;
use gbrain_core::baseline::BaselineError;

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
pub enum EvalError {
    /// The brain could not be asked at all.
    #[error(transparent)]
    Brain(#[from] BrainError),
    /// A file could not be read or written.
    #[error("{}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A file of captures or a baseline can't be used.
    #[error("{}", path.display())]
    Baseline {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: BaselineError,
    },
    /// A file is not text.
    #[error("{}: line {line} is not UTF-8", path.display())]
    NotText {
        /// Which.
        path: PathBuf,
        /// From 1.
        line: usize,
    },
    /// A line is longer than any row.
    #[error("{}: line {line} is longer than {} MiB; is it NDJSON, one row a line?", path.display(), limit >> 20)]
    LongLine {
        /// Which.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// In bytes.
        limit: usize,
    },
    /// A document is larger than what is read whole.
    #[error("{} is larger than {} MiB, which is the most that is read as one document", path.display(), limit >> 20)]
    LargeDocument {
        /// Which.
        path: PathBuf,
        /// In bytes.
        limit: u64,
    },
}
