//! Errors of the brain.

use std::path::PathBuf;

use gbrain_core::fault::{Fault, FaultKind, chain};
use gbrain_core::id::{IdError, PageKey};
use gbrain_core::page::PageError;
use gbrain_core::search::SettingError;
use gbrain_index::IndexError;
use gbrain_store::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum BrainError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Index(#[from] IndexError),
    #[error("page `{key}` cannot be parsed")]
    Page {
        key: PageKey,
        #[source]
        source: PageError,
    },
    #[error(transparent)]
    Id(#[from] IdError),
    #[error("{}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("stored setting `{key}`")]
    Setting {
        key: String,
        #[source]
        source: SettingError,
    },
    #[error("cannot watch files: {0}")]
    Watch(String),
    #[error("cannot start threads: {0}")]
    Threads(String),
    /// The caller cancelled the operation.
    #[error("the operation was cancelled")]
    Halted,
    #[error("there is no page `{key}`")]
    NoPage {
        key: PageKey,
        /// Existing names that are similar.
        near: Vec<PageKey>,
    },
}

/// How many similar names are suggested.
const MAX_SUGGESTIONS: usize = 3;

impl From<BrainError> for Fault {
    fn from(error: BrainError) -> Self {
        let message = chain(&error);
        match error {
            BrainError::Store(error) => error.into(),
            BrainError::Index(error) => error.into(),
            BrainError::Id(error) => error.into(),
            BrainError::NoPage { near, .. } => {
                let fault = Self::not_found(message);
                near.iter()
                    .take(MAX_SUGGESTIONS)
                    .fold(fault, |fault, key| fault.hint(format!("did you mean `{key}`?")))
            }
            BrainError::Setting { key, .. } => {
                Self::config(message).hint(format!("set it again, or `gbrain config unset {key}`"))
            }
            BrainError::Page { .. } => Self::new(FaultKind::Page, message),
            BrainError::Halted => Self::cancelled(message),
            BrainError::Io { .. } | BrainError::Watch(_) | BrainError::Threads(_) => {
                Self::new(FaultKind::Io, message)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_faults_of_a_kind() {
        let key = |slug: &str| PageKey::parse(slug, &Default::default()).unwrap();
        let check = |error: BrainError, kind: FaultKind, hint: &str| {
            let fault = Fault::from(error);
            assert_eq!(fault.kind, kind, "{fault:?}");
            assert_eq!(fault.hints.first().map_or("", String::as_str), hint);
        };
        let near = vec![key("ada"), key("adb"), key("adc"), key("add")];
        let missing = Fault::from(BrainError::NoPage { key: key("adx"), near: near.clone() });
        assert_eq!(missing.hints.len(), MAX_SUGGESTIONS);
        check(
            BrainError::NoPage { key: key("adx"), near },
            FaultKind::NotFound,
            "did you mean `default::ada`?",
        );
        check(BrainError::Store(StoreError::Busy), FaultKind::Busy, "");
        check(IndexError::Busy { waited: std::time::Duration::ZERO }.into(), FaultKind::Busy, "");
        let source = std::io::Error::other("gone");
        let index = IndexError::Io { dir: PathBuf::from("i"), source };
        let remedy = "the index can be made again from the store at any time: `gbrain reindex`";
        check(index.into(), FaultKind::Index, remedy);
        check(BrainError::Threads("none".to_owned()), FaultKind::Io, "");
        let source = SettingError::Unknown { name: "x".to_owned(), nearest: "y" };
        let setting = BrainError::Setting { key: "search.x".to_owned(), source };
        check(setting, FaultKind::Config, "set it again, or `gbrain config unset search.x`");
    }
}
