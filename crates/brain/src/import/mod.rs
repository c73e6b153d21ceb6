//! Taking files in: parallel, incremental by content hash, resumable at any moment.
//!
//! Promises: one bad file never stops the rest; an unchanged file writes nothing; what is reported
//! as added or changed is durable; ids, chunks and rankings do not depend on thread timing, because
//! files are taken in order of their paths, whichever thread reads them.
//!
//! A page whose file has vanished from an imported directory is deleted (softly: `restore` brings
//! it back). A file that can't be read keeps the page it had.

mod collect;
mod read;
mod watch;

use std::path::{Path, PathBuf};

use gbrain_core::id::{PageKey, SourceId};
use gbrain_store::{PageDigest, PageWrite, StoreError, WriteKind};
use jiff::Timestamp;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{Brain, BrainError};

use collect::{FileJob, collect};
use read::{Outcome, Parsed};

pub use watch::watch;

/// How many files are read and parsed between two store transactions, and how many bytes at most.
const BATCH_FILES: usize = 512;
const BATCH_BYTES: u64 = 16 << 20;

/// What to import, and how.
#[derive(Debug, Clone)]
pub struct ImportOptions {
    /// The source that the pages belong to.
    pub source: SourceId,
    /// How many threads read and parse; none for one per core.
    pub threads: Option<usize>,
    /// Whether a directory that holds no page any more deletes the pages it held before.
    pub allow_empty: bool,
    /// Asked between batches: whether to stop here. What is written stays.
    pub halt: Option<Halt>,
}

/// Says whether an import must stop.
#[derive(Clone)]
pub struct Halt(pub std::sync::Arc<dyn Fn() -> bool + Send + Sync>);

impl std::fmt::Debug for Halt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Halt(..)")
    }
}

/// What an import is doing, for a progress bar.
#[derive(Debug, Clone, Copy)]
pub enum ImportProgress {
    /// So many files were found.
    Found(usize),
    /// So many files are done.
    Done(usize),
    /// The index is so many changes behind the store.
    Indexing {
        /// Changes indexed.
        done: i64,
        /// Changes there are.
        total: i64,
    },
}

/// A file that could not be taken in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportFailure {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

/// What an import did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportSummary {
    /// Pages that are new.
    pub added: usize,
    /// Pages with a new version.
    pub changed: usize,
    /// Pages whose text is the same.
    pub unchanged: usize,
    /// Pages whose file has vanished.
    pub deleted: usize,
    /// Files that could not be taken in.
    pub failed: Vec<ImportFailure>,
    /// What the authors should know.
    pub warnings: Vec<ImportFailure>,
}

/// Imports files and directories.
pub fn import(
    brain: &Brain,
    paths: &[PathBuf],
    options: &ImportOptions,
    now: Timestamp,
    progress: &(dyn Fn(ImportProgress) + Sync),
) -> Result<ImportSummary, BrainError> {
    let collected = collect(paths)?;
    progress(ImportProgress::Found(collected.jobs.len()));
    let digests = digests(brain, &options.source)?;
    let mut summary = ImportSummary { failed: collected.failures, ..ImportSummary::default() };
    brain.while_indexing(progress, |brain| {
        let run = Run { brain, options, now, digests: &digests, progress };
        run.take_in(&collected.jobs, &mut summary)?;
        run.delete_vanished(&collected.roots, &collected.jobs, &mut summary)
    })?;
    Ok(summary)
}

fn digests(brain: &Brain, source: &SourceId) -> Result<FxHashMap<String, PageDigest>, BrainError> {
    let digests = brain.store().digests(brain.workspace(), source)?;
    Ok(digests.into_iter().map(|digest| (digest.slug.as_str().to_owned(), digest)).collect())
}

struct Run<'a> {
    brain: &'a Brain,
    options: &'a ImportOptions,
    now: Timestamp,
    digests: &'a FxHashMap<String, PageDigest>,
    progress: &'a (dyn Fn(ImportProgress) + Sync),
}

impl Run<'_> {
    /// Reads ahead by one batch while the last one is written.
    fn take_in(&self, jobs: &[FileJob], summary: &mut ImportSummary) -> Result<(), BrainError> {
        let pool = read::pool(self.options.threads)?;
        let batches = batches(jobs);
        let (sender, receiver) = crossbeam_channel::bounded::<Vec<Outcome>>(1);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let sender = sender;
                for batch in batches {
                    let outcomes =
                        pool.install(|| read::read_all(batch, &self.options.source, self.digests));
                    if sender.send(outcomes).is_err() {
                        return;
                    }
                }
            });
            let mut done = 0;
            for outcomes in receiver {
                if self.options.halt.as_ref().is_some_and(|Halt(halt)| halt()) {
                    return Err(BrainError::Halted);
                }
                done += outcomes.len();
                self.write(outcomes, summary)?;
                (self.progress)(ImportProgress::Done(done));
            }
            Ok(())
        })
    }

    fn write(&self, outcomes: Vec<Outcome>, summary: &mut ImportSummary) -> Result<(), BrainError> {
        let mut parsed = Vec::with_capacity(outcomes.len());
        for outcome in outcomes {
            match outcome {
                Outcome::Unchanged => summary.unchanged += 1,
                Outcome::Failed(failure) => summary.failed.push(failure),
                Outcome::Parsed(page) => parsed.push(*page),
            }
        }
        match self.write_batch(&parsed) {
            Ok(kinds) => {
                for (page, kind) in parsed.iter().zip(kinds) {
                    summary.count(page, kind);
                }
                Ok(())
            }
            Err(error) if concerns_one_page(&error) => self.write_one_by_one(&parsed, summary),
            Err(error) => Err(error.into()),
        }
    }

    fn write_batch(&self, parsed: &[Parsed]) -> Result<Vec<WriteKind>, StoreError> {
        if parsed.is_empty() {
            return Ok(Vec::new());
        }
        let writes: Vec<PageWrite<'_>> = parsed
            .iter()
            .map(|parsed| PageWrite { page: &parsed.page, origin: Some(&parsed.origin) })
            .collect();
        let outcomes = self.brain.store().write_pages(self.brain.workspace(), &writes, self.now)?;
        Ok(outcomes.into_iter().map(|outcome| outcome.kind).collect())
    }

    /// A page that the store refuses must not take its batch with it.
    fn write_one_by_one(
        &self,
        parsed: &[Parsed],
        summary: &mut ImportSummary,
    ) -> Result<(), BrainError> {
        for page in parsed {
            match self.write_batch(std::slice::from_ref(page)) {
                Ok(kinds) => kinds.into_iter().for_each(|kind| summary.count(page, kind)),
                Err(error) if concerns_one_page(&error) => {
                    summary
                        .failed
                        .push(ImportFailure { path: page.path.clone(), reason: error.to_string() });
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn delete_vanished(
        &self,
        roots: &[PathBuf],
        jobs: &[FileJob],
        summary: &mut ImportSummary,
    ) -> Result<(), BrainError> {
        let seen: FxHashSet<&str> = jobs.iter().map(|job| job.slug.as_str()).collect();
        let failed: FxHashSet<&Path> =
            summary.failed.iter().map(|failure| failure.path.as_path()).collect();
        let mut vanished = Vec::new();
        for root in roots {
            let gone = self.vanished_from(root, &seen, &failed);
            let is_empty = !jobs.iter().any(|job| job.path.starts_with(root));
            if is_empty && !gone.is_empty() && !self.options.allow_empty {
                let reason = format!(
                    "holds no page now, but {} were imported from it: nothing was deleted (say --allow-empty to delete them)",
                    gone.len()
                );
                summary.failed.push(ImportFailure { path: root.clone(), reason });
                return Ok(());
            }
            vanished.extend(gone);
        }
        vanished.sort();
        vanished.dedup();
        for keys in vanished.chunks(BATCH_FILES) {
            self.brain.store().delete_pages(self.brain.workspace(), keys, self.now)?;
            summary.deleted += keys.len();
        }
        Ok(())
    }

    fn vanished_from(
        &self,
        root: &Path,
        seen: &FxHashSet<&str>,
        failed: &FxHashSet<&Path>,
    ) -> Vec<PageKey> {
        self.digests
            .values()
            .filter(|digest| !digest.deleted && !seen.contains(digest.slug.as_str()))
            .filter(|digest| {
                let origin = digest.origin.as_deref().map(Path::new);
                origin.is_some_and(|origin| origin.starts_with(root) && !failed.contains(origin))
            })
            .map(|digest| PageKey::new(self.options.source.clone(), digest.slug.clone()))
            .collect()
    }
}

impl ImportSummary {
    /// Whether nothing happened that is worth telling.
    pub fn is_empty(&self) -> bool {
        self.added + self.changed + self.deleted == 0 && self.failed.is_empty()
    }

    fn count(&mut self, parsed: &Parsed, kind: WriteKind) {
        match kind {
            WriteKind::Added | WriteKind::Restored => self.added += 1,
            WriteKind::Changed => self.changed += 1,
            WriteKind::Unchanged => self.unchanged += 1,
        }
        for warning in &parsed.page.warnings {
            self.warnings
                .push(ImportFailure { path: parsed.path.clone(), reason: warning.clone() });
        }
    }
}

/// Errors that are about the page at hand rather than about the store.
fn concerns_one_page(error: &StoreError) -> bool {
    matches!(error, StoreError::Constraint { .. } | StoreError::Id(_))
}

/// Cuts the files into runs of bounded count and size, in order.
fn batches(jobs: &[FileJob]) -> Vec<&[FileJob]> {
    let mut batches = Vec::new();
    let (mut from, mut bytes) = (0, 0);
    for (at, job) in jobs.iter().enumerate() {
        if at > from && (at - from == BATCH_FILES || bytes + job.bytes > BATCH_BYTES) {
            batches.push(&jobs[from..at]);
            (from, bytes) = (at, 0);
        }
        bytes += job.bytes;
    }
    if from < jobs.len() {
        batches.push(&jobs[from..]);
    }
    batches
}
