//! The memory of one request.
//!
//! Its limit depends on the size of the documents that it reads: its body and stored documents. Its
//! memory is counted in the shared budget until the request ends.

use std::cell::{Cell, RefCell};

use gbrain_core::fault::Fault;
use gbrain_core::reading::shape::{ReadingCost, Shape, allowance};
use tokio::sync::OwnedSemaphorePermit;

use super::body::{MemoryBudget, no_memory, refused};
use crate::telemetry::metrics::Metrics;

/// Memory accounting of one request.
pub(crate) struct RequestMemoryAccount<'a> {
    budget: &'a MemoryBudget,
    metrics: &'a Metrics,
    /// Size of the body, which was counted as it arrived.
    body: usize,
    /// Total size of all documents.
    documents: Cell<usize>,
    /// Bytes in use, including the body.
    taken: Cell<usize>,
    permit: RefCell<Option<OwnedSemaphorePermit>>,
}

/// Bytes that are released when this is dropped.
#[must_use]
pub(crate) struct MemoryReservation<'m, 'a> {
    memory: &'m RequestMemoryAccount<'a>,
    bytes: usize,
}

impl Drop for MemoryReservation<'_, '_> {
    fn drop(&mut self) {
        self.memory.shrink_to(self.memory.taken.get().saturating_sub(self.bytes));
    }
}

impl<'a> RequestMemoryAccount<'a> {
    pub(crate) fn new(budget: &'a MemoryBudget, metrics: &'a Metrics, body: usize) -> Self {
        let (documents, taken) = (Cell::new(body), Cell::new(body));
        Self { budget, metrics, body, documents, taken, permit: RefCell::default() }
    }

    /// Counts the memory for parsing the body, or fails if it exceeds the limit.
    pub(crate) fn read_body(&self, body: &[u8], cost: ReadingCost) -> Result<(), Fault> {
        #[cfg(test)]
        if let Some(hold) = self.budget.before_reading.get() {
            hold();
        }
        let memory = cost.of(Shape::of(body)).map_err(refused)?;
        self.take(memory.saturating_sub(body.len()))
    }

    /// Counts a stored document, which may be as large as a body.
    pub(crate) fn add_document(&self, bytes: usize) -> Result<MemoryReservation<'_, 'a>, Fault> {
        self.documents.set(self.documents.get().saturating_add(bytes));
        self.reserve(bytes)
    }

    /// Reserves bytes until the request ends.
    pub(crate) fn take(&self, bytes: usize) -> Result<(), Fault> {
        let taken = self.taken.get().saturating_add(bytes);
        let limit = allowance(self.documents.get());
        if taken > limit {
            return Err(Fault::too_large(format!(
                "reading {} bytes would take more than the allowed {} MiB",
                self.documents.get(),
                limit >> 20
            ))
            .hint("send it in parts"));
        }
        let mut permit = self.permit.borrow_mut();
        let counted = permit.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let needed = kib(taken.saturating_sub(self.body)).saturating_sub(counted);
        if needed > 0 {
            let more = self.budget.acquire(needed).ok_or_else(|| no_memory(self.metrics))?;
            match permit.as_mut() {
                Some(permit) => permit.merge(more),
                None => *permit = Some(more),
            }
        }
        self.taken.set(taken);
        Ok(())
    }

    /// Reserves bytes until the reservation is dropped.
    pub(crate) fn reserve(&self, bytes: usize) -> Result<MemoryReservation<'_, 'a>, Fault> {
        self.take(bytes)?;
        Ok(MemoryReservation { memory: self, bytes })
    }

    /// The permit for the reserved memory, so that it can outlive this.
    pub(super) fn into_permit(self) -> Option<OwnedSemaphorePermit> {
        self.permit.into_inner()
    }

    /// Releases all but this many bytes.
    pub(crate) fn shrink_to(&self, bytes: usize) {
        let taken = self.taken.get().min(bytes);
        self.taken.set(taken);
        let mut permit = self.permit.borrow_mut();
        let needed = kib(taken.saturating_sub(self.body));
        if let Some(held) = permit.as_mut() {
            drop(held.split(held.num_permits().saturating_sub(needed)));
        }
    }
}

fn kib(bytes: usize) -> usize {
    bytes >> 10
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace_registry::WorkspaceRegistry;

    const MIB: usize = 1 << 20;

    #[test]
    fn a_request_takes_what_its_documents_allow() {
        let dir = tempfile::tempdir().unwrap();
        let registry = WorkspaceRegistry::in_dir(dir.path());
        let (budget, metrics) = (MemoryBudget::new(), registry.metrics());
        let all = budget.available();
        let memory = RequestMemoryAccount::new(&budget, metrics, MIB);
        memory.take(9 * MIB).unwrap();
        let refused = memory.take(2 * MIB).unwrap_err();
        assert_eq!((refused.kind.name(), all - budget.available()), ("too_large", 9 << 10));
        {
            let stored = memory.add_document(MIB).unwrap();
            let part = memory.reserve(4 * MIB).unwrap();
            assert_eq!(all - budget.available(), 14 << 10);
            drop((part, stored));
        }
        assert_eq!(all - budget.available(), 9 << 10);
        memory.shrink_to(2 * MIB);
        assert_eq!(all - budget.available(), 1 << 10);
        drop(memory);
        assert_eq!(budget.available(), all);
    }

    #[test]
    fn requests_share_one_budget() {
        let dir = tempfile::tempdir().unwrap();
        let registry = WorkspaceRegistry::in_dir(dir.path());
        let (budget, metrics) = (MemoryBudget::new(), registry.metrics());
        let first = RequestMemoryAccount::new(&budget, metrics, 15 * MIB);
        let second = RequestMemoryAccount::new(&budget, metrics, 15 * MIB);
        first.take(130 * MIB).unwrap();
        assert_eq!(second.take(130 * MIB).unwrap_err().kind.name(), "overloaded");
        drop(first);
        second.take(130 * MIB).unwrap();
    }
}
