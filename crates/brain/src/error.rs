//! What can go wrong in the brain.

use std::path::PathBuf;

use gbrain_core::id::{IdError, PageKey};
use gbrain_core::page::PageError;
use gbrain_core::search::SettingError;
use gbrain_index::IndexError;
use gbrain_store::StoreError;

/// Why the brain could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum BrainError {
    /// The store could not.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The index could not.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The text is not a page.
    #[error("page `{key}` can't be read")]
    Page {
        /// Which page.
        key: PageKey,
        /// Why.
        #[source]
        source: PageError,
    },
    /// A name is not valid.
    #[error(transparent)]
    Id(#[from] IdError),
    /// A file could not be read or written.
    #[error("{}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A stored setting is not valid.
    #[error("stored setting `{key}`")]
    Setting {
        /// Its key.
        key: String,
        /// Why.
        #[source]
        source: SettingError,
    },
    /// Files could not be watched.
    #[error("files can't be watched: {0}")]
    Watch(String),
    /// Threads could not be started.
    #[error("threads can't be started: {0}")]
    Threads(String),
    /// There is no such page.
    #[error("there is no page `{key}`")]
    NoPage {
        /// What was asked for.
        key: PageKey,
        /// Names that are close to it.
        near: Vec<PageKey>,
    },
}
