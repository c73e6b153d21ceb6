//! An index that can't be read: it is named, thrown away and made again from the store.

use std::sync::{Arc, PoisonError};

use gbrain_core::fault::chain;
use gbrain_index::{DiskIndex, Index, IndexError};

use crate::{Brain, BrainError, OPEN_WAIT};

/// Whether an index is to be replaced: it is damaged, or of another version or store.
pub(crate) fn is_replaceable(error: &IndexError) -> bool {
    matches!(error, IndexError::Stale { .. } | IndexError::Corrupt { .. })
}

/// What the owner should know of an index that was replaced. One of another version or store is routine.
pub(crate) fn notice(error: &IndexError) -> Option<String> {
    let is_damaged = matches!(error, IndexError::Corrupt { .. })
        || matches!(error, IndexError::Stale { what: "its commit", .. });
    is_damaged.then(|| format!("{}; it is made again from the store", chain(error)))
}

impl Brain {
    /// The index. It is another one after a damaged one was replaced.
    pub(crate) fn index(&self) -> Arc<dyn Index> {
        self.index.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What was wrong with the index, if it was damaged and replaced. Told once.
    pub fn take_index_notice(&self) -> Option<String> {
        self.notice.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Puts an empty index in place of one that can't be read.
    pub(crate) fn replace_index(&self, error: &IndexError) -> Result<(), BrainError> {
        let Some(path) = &self.index_path else { return Ok(()) };
        let identity = self.store.identity();
        let made = DiskIndex::replace(path, identity, self.models.clone(), OPEN_WAIT)?;
        *self.index.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(made);
        *self.notice.lock().unwrap_or_else(PoisonError::into_inner) = notice(error);
        Ok(())
    }
}
