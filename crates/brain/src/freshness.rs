//! Keeps the index fresh: it follows the store's change feed and can be rebuilt at any time.
//!
//! A crash between the store's commit and the index's loses nothing: the index records the last
//! change it holds and continues from there.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use gbrain_core::id::Generation;
use gbrain_core::ranking::{DegradedStage, INDEX};
use gbrain_embed::EmbedError;
use gbrain_index::{Corpus, Index, IndexError, Urgency, View, Writer};
use gbrain_store::{ChangeBatch, CorpusHead};
use schemars::JsonSchema;
use serde::Serialize;

use crate::import::ImportProgress;
use crate::retrieve::reason_of;
use crate::stale::{HiddenPages, StaleView};
use crate::{Brain, BrainError};

/// How much of the feed is held in memory at once.
pub(crate) const BATCH_CHANGES: usize = 2_000;
pub(crate) const BATCH_BYTES: usize = 32 << 20;
/// How long an answer waits for another process that is indexing, before it uses an older
/// generation and reports that.
pub(crate) const ANSWER_WAIT: Duration = Duration::from_millis(250);
/// How long work that must end with a fresh index waits.
pub(crate) const WORK_WAIT: Duration = Duration::from_secs(600);
/// How often a wait for the index calls the progress callback, which may cancel it.
const WAIT_STEP: Duration = Duration::from_millis(500);
/// How often an import commits the index. A commit costs syncs and small segments.
const COMMIT_EVERY: Duration = Duration::from_secs(20);
const FOLLOW_PAUSE: Duration = Duration::from_millis(20);
/// Minimum number of changes per batch during an import: the first batch determines the writer's
/// segment size.
const BULK_CHANGES: i64 = BATCH_CHANGES as i64;

/// The generation and the size of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "IndexFigures")]
pub struct IndexReport {
    /// The last change that the index contains.
    pub generation: i64,
    /// Size on disk in bytes.
    pub bytes: u64,
}

/// A view, and how many changes behind the store it was.
pub(crate) struct FreshView {
    pub(crate) view: Arc<dyn View>,
    pub(crate) behind: i64,
    /// Why the index could not catch up, if its embedder is the reason.
    pub(crate) degraded: Option<DegradedStage>,
    /// The store's head at that time.
    pub(crate) head: Generation,
}

/// An embedder outage during catch-up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EmbedderOutage {
    /// The degradation reason of answers given meanwhile.
    degraded: &'static str,
    /// When to call the embedder again.
    until: Instant,
}

/// The pause after a failed attempt, as a multiple of its duration: callers of a server spend at
/// most a fifth of their time on an unavailable embedder.
const OUTAGE_PAUSE: u32 = 4;
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Progress callback: changes indexed and total; an error stops the work.
pub(crate) type OnProgress<'a> = &'a dyn Fn(i64, i64) -> Result<(), BrainError>;

/// A progress callback's reply: continue, or stop.
pub trait ProgressControl {
    /// An error to stop.
    fn into_result(self) -> Result<(), BrainError>;
}

impl ProgressControl for () {
    fn into_result(self) -> Result<(), BrainError> {
        Ok(())
    }
}

impl ProgressControl for Result<(), BrainError> {
    fn into_result(self) -> Result<(), BrainError> {
        self
    }
}

/// How to handle indexed batches when the work is stopped between two of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnHalt {
    /// Commit them, so that later callers continue from there: repeatedly cancelled queries still
    /// bring the index up to date.
    Commit,
    Discard,
}

impl Brain {
    /// A view of the newest corpus, or an older one if another process is indexing and does not
    /// finish soon, or if a remote embedder does not answer.
    pub(crate) fn fresh_view(&self, progress: OnProgress<'_>) -> Result<FreshView, BrainError> {
        match self.newest_view(progress) {
            Err(BrainError::Index(error)) => self.recover(error, progress),
            other => other,
        }
    }

    pub(crate) fn newest_view(&self, progress: OnProgress<'_>) -> Result<FreshView, BrainError> {
        let view = self.index().view()?;
        let head = self.store.head(&self.workspace)?;
        if is_at(&view.corpus(), head.generation, head.root) {
            self.remember_view(&view);
            return Ok(FreshView { view, behind: 0, degraded: None, head: head.generation });
        }
        if let Some(reason) = self.outage() {
            return self.stale_view(self.newest_readable_view()?, head, Some(reason));
        }
        let started = Instant::now();
        match self.catch_up(ANSWER_WAIT, Urgency::Answer, progress) {
            Ok(corpus) => {
                let view = self.index().view()?;
                self.remember_view(&view);
                Ok(FreshView { view, behind: 0, degraded: None, head: corpus.generation })
            }
            Err(BrainError::Index(IndexError::Busy { .. })) => {
                self.stale_view(self.newest_readable_view()?, head, None)
            }
            Err(BrainError::Index(IndexError::Embed(error @ EmbedError::Remote { .. }))) => {
                let reason = self.record_outage(&error, started.elapsed());
                self.stale_view(self.newest_readable_view()?, head, Some(reason))
            }
            Err(error) => Err(error),
        }
    }

    /// An older corpus without the pages that callers may no longer see.
    pub(crate) fn stale_view(
        &self,
        view: Arc<dyn View>,
        head: CorpusHead,
        reason: Option<&'static str>,
    ) -> Result<FreshView, BrainError> {
        let corpus = view.corpus();
        if is_at(&corpus, head.generation, head.root) {
            return Ok(FreshView { view, behind: 0, degraded: None, head: head.generation });
        }
        let behind = (head.generation.0 - corpus.generation.0).max(0);
        let degraded = reason.map(|reason| DegradedStage { stage: INDEX, reason });
        let generation = head.generation;
        let hidden = self.hidden_at(corpus, head)?;
        let view: Arc<dyn View> = Arc::new(StaleView { view, hidden });
        Ok(FreshView { view, behind, degraded, head: generation })
    }

    /// [`hidden_in`](Self::hidden_in), cached for a corpus and a head.
    fn hidden_at(&self, corpus: Corpus, head: CorpusHead) -> Result<Arc<HiddenPages>, BrainError> {
        let key = (corpus, head);
        let mut known = self.hidden.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, hidden)) = &*known
            && *at == key
        {
            return Ok(hidden.clone());
        }
        let hidden = Arc::new(self.hidden_in(&key.0)?);
        *known = Some((key, hidden.clone()));
        Ok(hidden)
    }

    /// The degradation reason while an outage lasts.
    fn outage(&self) -> Option<&'static str> {
        let outage = *self.outage.lock().unwrap_or_else(PoisonError::into_inner);
        outage.filter(|outage| Instant::now() < outage.until).map(|outage| outage.degraded)
    }

    fn record_outage(&self, error: &EmbedError, took: Duration) -> &'static str {
        let degraded = reason_of(error.cause());
        let pause = took.saturating_mul(OUTAGE_PAUSE).min(LONGEST_PAUSE);
        let outage = EmbedderOutage { degraded, until: Instant::now() + pause };
        *self.outage.lock().unwrap_or_else(PoisonError::into_inner) = Some(outage);
        degraded
    }

    /// Applies the store's changes to the index.
    pub(crate) fn catch_up(
        &self,
        wait: Duration,
        urgency: Urgency,
        progress: OnProgress<'_>,
    ) -> Result<Corpus, BrainError> {
        let mut writer = wait_for_writer(self.index().as_ref(), wait, progress)?;
        writer.set_urgency(urgency);
        let corpus = self.follow_feed(writer.as_mut(), progress)?;
        writer.settle()?;
        Ok(corpus)
    }

    /// Clears and rebuilds the index. A rebuild that is stopped changes nothing.
    pub fn reindex<P: ProgressControl>(
        &self,
        progress: &dyn Fn(i64, i64) -> P,
    ) -> Result<Corpus, BrainError> {
        let progress: OnProgress<'_> = &|done, total| progress(done, total).into_result();
        let mut writer = wait_for_writer(self.index().as_ref(), WORK_WAIT, progress)?;
        writer.clear()?;
        let corpus = self.follow_from(writer.as_mut(), Generation(0), progress, OnHalt::Discard)?;
        writer.settle()?;
        Ok(corpus)
    }

    /// The figures of the index on disk.
    pub fn index_report(&self) -> Result<IndexReport, BrainError> {
        let generation = self.index().view()?.corpus().generation.0;
        Ok(IndexReport { generation, bytes: self.index_path.as_deref().map_or(0, directory_bytes) })
    }

    fn follow_feed(
        &self,
        writer: &mut dyn Writer,
        progress: OnProgress<'_>,
    ) -> Result<Corpus, BrainError> {
        let at = writer.corpus();
        let known = self.store.head_at(&self.workspace, at.generation)?;
        let fits = at.generation == Generation(0) || known.is_some_and(|head| head.root == at.root);
        if fits {
            return self.follow_from(writer, at.generation, progress, OnHalt::Commit);
        }
        // The store was restored from a backup, or a page was purged below this generation: the
        // index is not a past state of this store.
        writer.clear()?;
        self.follow_from(writer, Generation(0), progress, OnHalt::Commit)
    }

    fn follow_from(
        &self,
        writer: &mut dyn Writer,
        from: Generation,
        progress: OnProgress<'_>,
        on_halt: OnHalt,
    ) -> Result<Corpus, BrainError> {
        let mut at = from;
        loop {
            let batch = self.store.changes(&self.workspace, at, BATCH_CHANGES, BATCH_BYTES)?;
            writer.apply(&batch.upserts, &batch.removals)?;
            let is_last = batch.upto >= batch.head || batch.upto == at;
            at = batch.upto;
            if let Err(halt) = progress(at.0, batch.head.0) {
                if on_halt == OnHalt::Commit {
                    writer.commit(corpus_of(&batch))?;
                }
                return Err(halt);
            }
            if is_last {
                let corpus = corpus_of(&batch);
                // If nothing was added since the last commit, no commit is needed.
                if at != from || writer.corpus() != corpus {
                    writer.commit(corpus)?;
                }
                return Ok(corpus);
            }
        }
    }

    /// Runs `work`, which writes to the store, while a thread indexes the changes. A remote
    /// embedder outage is returned beside the result: writes are durable, and the index catches up
    /// when the embedder answers.
    pub(crate) fn while_indexing<T>(
        &self,
        progress: &(dyn Fn(ImportProgress) -> Result<(), BrainError> + Sync),
        work: impl FnOnce(&Self) -> Result<T, BrainError>,
    ) -> Result<(T, Option<EmbedError>), BrainError> {
        let stop = AtomicBool::new(false);
        let (done, followed) = std::thread::scope(|scope| {
            let follower = scope.spawn(|| self.follow_until(&stop));
            let done = work(self);
            stop.store(true, Ordering::Release);
            (done, follower.join().expect("the follower does not panic"))
        });
        let done = done?;
        if let Some(outage) = remote_outage(followed)? {
            return Ok((done, Some(outage)));
        }
        let on_progress = |done, total| progress(ImportProgress::Indexing { done, total });
        let caught_up = self.catch_up(WORK_WAIT, Urgency::Work, &on_progress);
        Ok((done, remote_outage(caught_up.map(|_| ()))?))
    }

    fn follow_until(&self, stop: &AtomicBool) -> Result<(), BrainError> {
        let mut writer = match self.index().writer(Duration::ZERO) {
            Ok(writer) => writer,
            // Another process is indexing; the rest is done at the end.
            Err(IndexError::Busy { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let mut corpus = self.follow_feed(writer.as_mut(), &|_, _| Ok(()))?;
        let mut committed = Instant::now();
        let mut is_dirty = false;
        while !stop.load(Ordering::Acquire) {
            let head = self.store.head(&self.workspace)?.generation;
            if head.0 - corpus.generation.0 < BULK_CHANGES {
                std::thread::sleep(FOLLOW_PAUSE);
                continue;
            }
            let batch = self.store.changes(
                &self.workspace,
                corpus.generation,
                BATCH_CHANGES,
                BATCH_BYTES,
            )?;
            writer.apply(&batch.upserts, &batch.removals)?;
            corpus = corpus_of(&batch);
            is_dirty = true;
            if committed.elapsed() > COMMIT_EVERY {
                writer.commit(corpus)?;
                (committed, is_dirty) = (Instant::now(), false);
            }
        }
        if is_dirty {
            let no_progress: OnProgress<'_> = &|_, _| Ok(());
            self.follow_from(writer.as_mut(), corpus.generation, no_progress, OnHalt::Commit)?;
        }
        writer.settle()?;
        Ok(())
    }
}

/// Separates remote embedder outages from other errors.
fn remote_outage(indexed: Result<(), BrainError>) -> Result<Option<EmbedError>, BrainError> {
    match indexed {
        Ok(()) => Ok(None),
        Err(BrainError::Index(IndexError::Embed(error @ EmbedError::Remote { .. }))) => {
            Ok(Some(error))
        }
        Err(error) => Err(error),
    }
}

/// Waits for the index writer; the progress callback may cancel the wait.
pub(crate) fn wait_for_writer(
    index: &dyn Index,
    wait: Duration,
    progress: OnProgress<'_>,
) -> Result<Box<dyn Writer>, BrainError> {
    let started = Instant::now();
    loop {
        let left = wait.saturating_sub(started.elapsed());
        match index.writer(left.min(WAIT_STEP)) {
            Err(IndexError::Busy { .. }) if left > WAIT_STEP => progress(0, 0)?,
            Err(IndexError::Busy { .. }) => {
                return Err(IndexError::Busy { waited: started.elapsed() }.into());
            }
            taken => return Ok(taken?),
        }
    }
}

fn is_at(corpus: &Corpus, generation: Generation, root: gbrain_core::hash::Hash) -> bool {
    corpus.generation == generation && corpus.root == root
}

pub(crate) fn corpus_of(batch: &ChangeBatch) -> Corpus {
    Corpus { generation: batch.upto, root: batch.root, pages: batch.pages, chunks: batch.chunks }
}

fn directory_bytes(path: &std::path::Path) -> u64 {
    let entries = walkdir::WalkDir::new(path).into_iter().filter_map(Result::ok);
    entries.filter_map(|entry| entry.metadata().ok()).filter(|m| m.is_file()).map(|m| m.len()).sum()
}
