//! Where the pages of an import go: straight into the store, or into it under the lease of a job.

use gbrain_core::id::PageKey;
use gbrain_store::{PageWrite, StoreError, WriteOutcome};
use jiff::Timestamp;

use super::Reached;
use crate::Brain;

/// Takes the pages of an import.
pub trait Destination: Sync {
    /// Writes pages, all or none, in the order of `writes`. `reached` says where the import stands
    /// with them.
    fn write(
        &self,
        writes: &[PageWrite<'_>],
        reached: &(dyn Fn(&[WriteOutcome]) -> Reached + Sync),
    ) -> Result<Vec<WriteOutcome>, StoreError>;

    /// Deletes pages, all or none; the import stands at `reached` then.
    fn delete(&self, keys: &[PageKey], reached: &Reached) -> Result<(), StoreError>;
}

/// The store of a brain. Where the import stands is not kept: the next one finds out by comparing.
pub(super) struct Straight<'a> {
    pub(super) brain: &'a Brain,
    pub(super) now: Timestamp,
}

impl Destination for Straight<'_> {
    fn write(
        &self,
        writes: &[PageWrite<'_>],
        _: &(dyn Fn(&[WriteOutcome]) -> Reached + Sync),
    ) -> Result<Vec<WriteOutcome>, StoreError> {
        self.brain.store().write_pages(self.brain.workspace(), writes, self.now)
    }

    fn delete(&self, keys: &[PageKey], _: &Reached) -> Result<(), StoreError> {
        self.brain.store().delete_pages(self.brain.workspace(), keys, self.now).map(|_| ())
    }
}
