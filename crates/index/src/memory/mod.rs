//! The index in memory: for hermetic and tiny brains, and the oracle that the one on disk is
//! tested against. Every search is exhaustive and nothing is clever.

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
use crate::error::{IndexError, Result};
use crate::models::Models;
use state::State;
use view::MemoryView;

/// An index that lives and dies with its process.
#[derive(Debug, Clone, Default)]
pub struct MemoryIndex {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    committed: Mutex<Arc<State>>,
    has_writer: Mutex<bool>,
    writer_left: Condvar,
}

struct MemoryWriter {
    shared: Arc<Shared>,
    /// The pages with changes since the last commit, if there are any.
    draft: Option<State>,
    urgency: Urgency,
}

impl MemoryIndex {
    /// An empty index.
    pub fn new(models: Models) -> Self {
        let index = Self::default();
        *lock(&index.shared.committed) = Arc::new(State::new(models));
        index
    }
}

impl Index for MemoryIndex {
    fn view(&self) -> Result<Arc<dyn View>> {
        Ok(Arc::new(MemoryView::new(lock(&self.shared.committed).clone())))
    }

    fn writer(&self, wait: Duration) -> Result<Box<dyn Writer>> {
        self.shared.enter(wait)?;
        Ok(Box::new(MemoryWriter {
            shared: self.shared.clone(),
            draft: None,
            urgency: Urgency::default(),
        }))
    }

    fn check_files(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn wanted_vectors(&self) -> Result<(u64, u64)> {
        let held = lock(&self.shared.committed).corpus.chunks;
        Ok((held, held))
    }

    fn make_wanted_vectors(&self, _progress: &dyn Fn(u64, u64)) -> Result<()> {
        // There never are others.
        Ok(())
    }
}

impl MemoryWriter {
    fn draft(&mut self) -> &mut State {
        self.draft.get_or_insert_with(|| State::clone(&lock(&self.shared.committed)))
    }
}

impl Writer for MemoryWriter {
    fn corpus(&self) -> Corpus {
        lock(&self.shared.committed).corpus
    }

    fn set_urgency(&mut self, urgency: Urgency) {
        self.urgency = urgency;
    }

    fn apply(&mut self, upserts: &[StoredPage], removals: &[PageId]) -> Result<()> {
        let urgency = self.urgency;
        self.draft().apply(upserts, removals, urgency)
    }

    fn clear(&mut self) -> Result<()> {
        let models = self.draft().models.clone();
        self.draft = Some(State::new(models));
        Ok(())
    }

    fn commit(&mut self, corpus: Corpus) -> Result<()> {
        self.draft().corpus = corpus;
        if let Some(draft) = self.draft.take() {
            *lock(&self.shared.committed) = Arc::new(draft);
        }
        Ok(())
    }

    fn adopt_wanted_model(&mut self) -> Result<()> {
        Ok(())
    }

    fn settle(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Drop for MemoryWriter {
    fn drop(&mut self) {
        *lock(&self.shared.has_writer) = false;
        self.shared.writer_left.notify_one();
    }
}

impl Shared {
    /// Becomes the writer, after the one there is.
    fn enter(&self, wait: Duration) -> Result<()> {
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
