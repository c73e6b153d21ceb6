//! Keeping the index fresh: it follows the store's feed and can be made again at any time.
//!
//! A crash between the store's commit and the index's loses nothing: the index remembers the last
//! change it holds and goes on from there.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use gbrain_core::id::Generation;
use gbrain_core::ranking::{Degraded, INDEX};
use gbrain_embed::EmbedError;
use gbrain_index::{Corpus, Index, IndexError, Urgency, View, Writer};
use gbrain_store::{ChangeBatch, Head};
use schemars::JsonSchema;
use serde::Serialize;

use crate::import::ImportProgress;
use crate::retrieve::reason_of;
use crate::stale::{Hidden, StaleView};
use crate::{Brain, BrainError};

/// How much of the feed is held in memory at once.
pub(crate) const BATCH_CHANGES: usize = 2_000;
pub(crate) const BATCH_BYTES: usize = 32 << 20;
/// How long an answer waits for another process that is indexing before it answers from an older
/// generation and says so.
pub(crate) const ANSWER_WAIT: Duration = Duration::from_millis(250);
/// How long work that must end with a fresh index waits.
pub(crate) const WORK_WAIT: Duration = Duration::from_secs(600);
/// How often whoever waits for the index is asked whether to go on.
const LOOK_UP: Duration = Duration::from_millis(500);
/// While importing, how often what is indexed becomes visible. A commit costs syncs and small
/// segments, so not often.
const COMMIT_EVERY: Duration = Duration::from_secs(20);
const FOLLOW_PAUSE: Duration = Duration::from_millis(20);
/// While importing, how many changes are taken at once at least: a writer that begins with little
/// sets out to write little.
const BULK_CHANGES: i64 = BATCH_CHANGES as i64;

/// The index in figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "IndexFigures")]
pub struct IndexReport {
    /// The last change it holds.
    pub generation: i64,
    /// Bytes on disk.
    pub bytes: u64,
}

/// A view, and how many changes the store was ahead of it when it was taken.
pub(crate) struct Fresh {
    pub(crate) view: Arc<dyn View>,
    pub(crate) behind: i64,
    /// Why the index could not catch up, where its embedder is the reason.
    pub(crate) degraded: Option<Degraded>,
    /// The store's head when it was looked at.
    pub(crate) head: Generation,
}

/// An embedder that did not answer while the index caught up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outage {
    /// The stage of the answers that were given all the same.
    degraded: &'static str,
    /// When the embedder is asked again.
    until: Instant,
}

/// How many times as long as a failed attempt took the next one waits: callers of a server spend at most
/// a fifth of their time on an embedder that is down.
const OUTAGE_PAUSE: u32 = 4;
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Told how many changes of how many are indexed; may say that the work must stop.
pub(crate) type OnProgress<'a> = &'a dyn Fn(i64, i64) -> Result<(), BrainError>;

/// What somebody who is told of progress says to it: nothing, or that the work must stop.
pub trait Onward {
    /// Whether to go on.
    fn onward(self) -> Result<(), BrainError>;
}

impl Onward for () {
    fn onward(self) -> Result<(), BrainError> {
        Ok(())
    }
}

impl Onward for Result<(), BrainError> {
    fn onward(self) -> Result<(), BrainError> {
        self
    }
}

/// What becomes of the batches that are indexed when the work is stopped between two of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnHalt {
    /// They stay, so that those who come next go on from there: answers that are given up one after the
    /// other still bring the index up to the store.
    Commit,
    Discard,
}

impl Brain {
    /// A view of the newest corpus. When another process is indexing and does not finish soon, or a remote
    /// embedder does not answer, an older one.
    pub(crate) fn fresh_view(&self, progress: OnProgress<'_>) -> Result<Fresh, BrainError> {
        match self.newest_view(progress) {
            Err(BrainError::Index(error)) => self.recover(error, progress),
            other => other,
        }
    }

    pub(crate) fn newest_view(&self, progress: OnProgress<'_>) -> Result<Fresh, BrainError> {
        let view = self.index().view()?;
        let head = self.store.head(&self.workspace)?;
        if is_at(&view.corpus(), head.generation, head.root) {
            self.keep_view(&view);
            return Ok(Fresh { view, behind: 0, degraded: None, head: head.generation });
        }
        if let Some(reason) = self.outage() {
            return self.stale_view(self.held_view()?, head, Some(reason));
        }
        let started = Instant::now();
        match self.catch_up(ANSWER_WAIT, Urgency::Answer, progress) {
            Ok(corpus) => {
                let view = self.index().view()?;
                self.keep_view(&view);
                Ok(Fresh { view, behind: 0, degraded: None, head: corpus.generation })
            }
            Err(BrainError::Index(IndexError::Busy { .. })) => {
                self.stale_view(self.held_view()?, head, None)
            }
            Err(BrainError::Index(IndexError::Embed(error @ EmbedError::Remote { .. }))) => {
                let reason = self.note_outage(&error, started.elapsed());
                self.stale_view(self.held_view()?, head, Some(reason))
            }
            Err(error) => Err(error),
        }
    }

    /// A corpus that the index holds or held, without the pages that changed their readers since.
    pub(crate) fn stale_view(
        &self,
        view: Arc<dyn View>,
        head: Head,
        reason: Option<&'static str>,
    ) -> Result<Fresh, BrainError> {
        let corpus = view.corpus();
        if is_at(&corpus, head.generation, head.root) {
            return Ok(Fresh { view, behind: 0, degraded: None, head: head.generation });
        }
        let behind = (head.generation.0 - corpus.generation.0).max(0);
        let degraded = reason.map(|reason| Degraded { stage: INDEX, reason });
        let generation = head.generation;
        let hidden = self.hidden_at(corpus, head)?;
        let view: Arc<dyn View> = Arc::new(StaleView { view, hidden });
        Ok(Fresh { view, behind, degraded, head: generation })
    }

    /// [`hidden_in`](Self::hidden_in), found once for a corpus and a head.
    fn hidden_at(&self, corpus: Corpus, head: Head) -> Result<Arc<Hidden>, BrainError> {
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

    /// Why the embedder is not asked again yet.
    fn outage(&self) -> Option<&'static str> {
        let outage = *self.outage.lock().unwrap_or_else(PoisonError::into_inner);
        outage.filter(|outage| Instant::now() < outage.until).map(|outage| outage.degraded)
    }

    fn note_outage(&self, error: &EmbedError, took: Duration) -> &'static str {
        let degraded = reason_of(error.cause());
        let pause = took.saturating_mul(OUTAGE_PAUSE).min(LONGEST_PAUSE);
        let outage = Outage { degraded, until: Instant::now() + pause };
        *self.outage.lock().unwrap_or_else(PoisonError::into_inner) = Some(outage);
        degraded
    }

    /// Brings the index up to the store's head.
    pub(crate) fn catch_up(
        &self,
        wait: Duration,
        urgency: Urgency,
        progress: OnProgress<'_>,
    ) -> Result<Corpus, BrainError> {
        let mut writer = patient_writer(self.index().as_ref(), wait, progress)?;
        writer.set_urgency(urgency);
        let corpus = self.follow_feed(writer.as_mut(), progress)?;
        writer.settle()?;
        Ok(corpus)
    }

    /// Throws the index's content away and makes it again. One that is stopped half-way changes
    /// nothing.
    pub fn reindex<P: Onward>(
        &self,
        progress: &dyn Fn(i64, i64) -> P,
    ) -> Result<Corpus, BrainError> {
        let progress: OnProgress<'_> = &|done, total| progress(done, total).onward();
        let mut writer = patient_writer(self.index().as_ref(), WORK_WAIT, progress)?;
        writer.clear()?;
        let corpus = self.follow_from(writer.as_mut(), Generation(0), progress, OnHalt::Discard)?;
        writer.settle()?;
        Ok(corpus)
    }

    /// The state of the index as it is on disk.
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
        // The store was put back from a backup, or the page was purged from under this
        // generation: what the index holds is not a past of this store.
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
                // What is already committed and nothing was added to needs no commit.
                if at != from || writer.corpus() != corpus {
                    writer.commit(corpus)?;
                }
                return Ok(corpus);
            }
        }
    }

    /// Runs `work`, which writes to the store, while a thread indexes what it writes. A remote embedder that
    /// does not answer is named beside the result: what was written is durable, and the index catches up
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
            // Somebody else is indexing; what is left is done at the end.
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
            let go_on: OnProgress<'_> = &|_, _| Ok(());
            self.follow_from(writer.as_mut(), corpus.generation, go_on, OnHalt::Commit)?;
        }
        writer.settle()?;
        Ok(())
    }
}

/// Takes a remote embedder that did not answer out of the errors.
fn remote_outage(indexed: Result<(), BrainError>) -> Result<Option<EmbedError>, BrainError> {
    match indexed {
        Ok(()) => Ok(None),
        Err(BrainError::Index(IndexError::Embed(error @ EmbedError::Remote { .. }))) => {
            Ok(Some(error))
        }
        Err(error) => Err(error),
    }
}

/// The writer of an index, after whoever has it now. Whoever waits for it may change their mind.
pub(crate) fn patient_writer(
    index: &dyn Index,
    wait: Duration,
    progress: OnProgress<'_>,
) -> Result<Box<dyn Writer>, BrainError> {
    let started = Instant::now();
    loop {
        let left = wait.saturating_sub(started.elapsed());
        match index.writer(left.min(LOOK_UP)) {
            Err(IndexError::Busy { .. }) if left > LOOK_UP => progress(0, 0)?,
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
