//! Errors of an index.

use std::path::PathBuf;
use std::time::Duration;

use gbrain_core::fault::{Fault, FaultKind};

/// The result of an index operation.
pub type IndexResult<T> = Result<T, IndexError>;

/// Why an index operation failed.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// Another writer held the index for longer than the caller's wait limit.
    #[error("another process is writing the index: waited {waited:?}")]
    Busy { waited: Duration },
    /// The index was created by another version, from another store, or is not complete yet.
    #[error("the index in {dir} does not fit: {what} is {found}, not {expected}")]
    Stale {
        dir: PathBuf,
        /// The property that does not match.
        what: &'static str,
        /// Its value in the index.
        found: String,
        /// The value that the caller needs.
        expected: String,
    },
    /// Its files cannot be read as an index.
    #[error("the index in {dir} is damaged")]
    Corrupt {
        dir: PathBuf,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The index holds vectors of another model than the query's.
    #[error("the index holds vectors of {held}, and the query is one of {query}")]
    OtherModel {
        /// The model of the stored vectors.
        held: String,
        /// The model of the query.
        query: String,
    },
    /// A model could not compute vectors.
    #[error(transparent)]
    Embed(#[from] gbrain_embed::EmbedError),
    /// The file system returned an error.
    #[error("the index in {dir} cannot be read or written")]
    Io {
        dir: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

impl From<IndexError> for Fault {
    fn from(error: IndexError) -> Self {
        if let IndexError::Busy { .. } = error {
            return Self::of(FaultKind::Busy, &error);
        }
        let fault = Self::of(FaultKind::Index, &error);
        // A full disk has its own hint, and no space for a new index.
        match fault.hints.is_empty() {
            true => fault
                .hint("the index can be made again from the store at any time: `gbrain reindex`"),
            false => fault,
        }
    }
}
