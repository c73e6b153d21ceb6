//! Where an import writes its pages: directly into the store, or under the lease of a job.

use gbrain_core::id::PageKey;
use gbrain_store::{PageWrite, StoreError, WriteOutcome};
use jiff::Timestamp;

use super::ImportCheckpoint;
use crate::Brain;

pub trait ImportDestination: Sync {
    /// Writes pages in the order of `writes`, all or none. `reached` gives the checkpoint after
    /// them.
    fn write(
        &self,
        writes: &[PageWrite<'_>],
        reached: &(dyn Fn(&[WriteOutcome]) -> ImportCheckpoint + Sync),
    ) -> Result<Vec<WriteOutcome>, StoreError>;

    /// Deletes pages, all or none, with the checkpoint after them.
    fn delete(&self, keys: &[PageKey], reached: &ImportCheckpoint) -> Result<(), StoreError>;
}

/// Writes directly to the store. Checkpoints are not stored: the next import compares files with
/// the store.
pub(super) struct DirectWriter<'a> {
    pub(super) brain: &'a Brain,
    pub(super) now: Timestamp,
}

impl ImportDestination for DirectWriter<'_> {
    fn write(
        &self,
        writes: &[PageWrite<'_>],
        _: &(dyn Fn(&[WriteOutcome]) -> ImportCheckpoint + Sync),
    ) -> Result<Vec<WriteOutcome>, StoreError> {
        self.brain.store().write_pages(self.brain.workspace(), writes, self.now)
    }

    fn delete(&self, keys: &[PageKey], _: &ImportCheckpoint) -> Result<(), StoreError> {
        self.brain.store().delete_pages(self.brain.workspace(), keys, self.now).map(|_| ())
    }
}
