//! What can go wrong with an index.

use std::path::PathBuf;
use std::time::Duration;

use gbrain_core::fault::{Fault, FaultKind};

/// The result of an index operation.
pub type Result<T> = std::result::Result<T, IndexError>;

/// Why an index operation failed.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// Another writer held the index for longer than the caller would wait.
    #[error("another process is writing the index: waited {waited:?}")]
    Busy {
        /// How long was waited.
        waited: Duration,
    },
    /// The index was made by another version, from another store, or from nothing yet.
    #[error("the index in {dir} does not fit: {what} is {found}, not {expected}")]
    Stale {
        dir: PathBuf,
        /// What does not fit.
        what: &'static str,
        /// What the index says.
        found: String,
        /// What the caller needs.
        expected: String,
    },
    /// Its files cannot be read as an index.
    #[error("the index in {dir} is damaged")]
    Corrupt {
        dir: PathBuf,
        /// What reading it said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The vectors held are of another model than the query's.
    #[error("the index holds vectors of {held}, and the query is one of {asked}")]
    OtherModel {
        /// Whose vectors are held.
        held: String,
        /// Whose vector was asked with.
        asked: String,
    },
    /// A model could not make vectors.
    #[error(transparent)]
    Embed(#[from] gbrain_embed::EmbedError),
    /// The file system refused.
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
        // A disk that is full has a remedy of its own, and has no room for another index.
        match fault.hints.is_empty() {
            true => fault
                .hint("the index can be made again from the store at any time: `gbrain reindex`"),
            false => fault,
        }
    }
}
