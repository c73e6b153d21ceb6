//! The index in memory: for hermetic tests and tiny brains, and the oracle against which the index
//! on disk is tested. Every search is exhaustive and the code is kept simple.

mod nearest;
mod state;
mod view;
mod words;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gbrain_core::id::PageId;
use gbrain_core::page::StoredPage;

use gbrain_embed::Urgency;

use crate::contract::{Corpus, Index, View, Writer};
use crate::error::{IndexError, IndexResult};
use crate::models::Models;
use state::MemoryState;
use view::MemoryView;

/// An index that exists only in its process.
#[derive(Debug, Clone, Default)]
pub struct MemoryIndex {
    shared: Arc<MemoryIndexState>,
}

#[derive(Debug, Default)]
struct MemoryIndexState {
    committed: Mutex<Arc<MemoryState>>,
    has_writer: Mutex<bool>,
    writer_left: Condvar,
}

struct MemoryWriter {
    shared: Arc<MemoryIndexState>,
    /// The state with uncommitted changes, if there are any.
    draft: Option<MemoryState>,
    urgency: Urgency,
}

impl MemoryIndex {
    pub fn new(models: Models) -> Self {
        let index = Self::default();
        *lock(&index.shared.committed) = Arc::new(MemoryState::new(models));
        index
    }
}

impl Index for MemoryIndex {
    fn view(&self) -> IndexResult<Arc<dyn View>> {
        Ok(Arc::new(MemoryView::new(lock(&self.shared.committed).clone())))
    }

    fn writer(&self, wait: Duration) -> IndexResult<Box<dyn Writer>> {
        self.shared.enter(wait)?;
        Ok(Box::new(MemoryWriter {
            shared: self.shared.clone(),
            draft: None,
            urgency: Urgency::default(),
        }))
    }

    fn check_files(&self) -> IndexResult<Vec<String>> {
        Ok(Vec::new())
    }

    fn wanted_vectors(&self) -> IndexResult<(u64, u64)> {
        let held = lock(&self.shared.committed).corpus.chunks;
        Ok((held, held))
    }

    fn make_wanted_vectors(&self, _progress: &dyn Fn(u64, u64)) -> IndexResult<()> {
        // All vectors are of the wanted model.
        Ok(())
    }
}

impl MemoryWriter {
    fn draft(&mut self) -> &mut MemoryState {
        self.draft.get_or_insert_with(|| MemoryState::clone(&lock(&self.shared.committed)))
    }
}

impl Writer for MemoryWriter {
    fn corpus(&self) -> Corpus {
        lock(&self.shared.committed).corpus
    }

    fn set_urgency(&mut self, urgency: Urgency) {
        self.urgency = urgency;
    }

    fn apply(&mut self, upserts: &[StoredPage], removals: &[PageId]) -> IndexResult<()> {
        let urgency = self.urgency;
        self.draft().apply(upserts, removals, urgency)
    }

    fn clear(&mut self) -> IndexResult<()> {
        let models = self.draft().models.clone();
        self.draft = Some(MemoryState::new(models));
        Ok(())
    }

    fn commit(&mut self, corpus: Corpus) -> IndexResult<()> {
        self.draft().corpus = corpus;
        if let Some(draft) = self.draft.take() {
            *lock(&self.shared.committed) = Arc::new(draft);
        }
        Ok(())
    }

    fn adopt_wanted_model(&mut self) -> IndexResult<()> {
        Ok(())
    }

    fn settle(&mut self) -> IndexResult<()> {
        Ok(())
    }
}

impl Drop for MemoryWriter {
    fn drop(&mut self) {
        *lock(&self.shared.has_writer) = false;
        self.shared.writer_left.notify_one();
    }
}

impl MemoryIndexState {
    /// Becomes the writer, waiting for the current one to finish.
    fn enter(&self, wait: Duration) -> IndexResult<()> {
        let started = Instant::now();
        let busy = |taken: &mut bool| *taken;
        let (mut taken, _) = self
            .writer_left
            .wait_timeout_while(lock(&self.has_writer), wait, busy)
            .unwrap_or_else(PoisonError::into_inner);
        if *taken {
            return Err(IndexError::Busy { waited: started.elapsed() });
        }
        *taken = true;
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
