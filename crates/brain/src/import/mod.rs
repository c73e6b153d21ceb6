//! Imports files: in parallel, incrementally by content hash, resumable at any time.
//!
//! Promises: one bad file never stops the rest; an unchanged file writes nothing; pages reported as
//! added or changed are durable; ids, chunks and rankings do not depend on thread timing, because
//! files are processed in order of their paths.
//!
//! A page whose file has vanished from an imported directory is soft-deleted (`restore` brings it
//! back), unless it was written meanwhile. A file that cannot be read keeps its page.

mod collect;
mod destination;
mod read;
mod recheck;
mod watch;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gbrain_core::id::{PageKey, SourceId};
use gbrain_store::{PageDigest, PageWrite, StoreError, WriteKind, WriteOutcome};
use jiff::Timestamp;
use rustc_hash::{FxHashMap, FxHashSet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::{Brain, BrainError};

use collect::{CollectedFiles, FileJob, collect};
use destination::DirectWriter;
use read::{FileOutcome, ParsedFile};

pub use destination::ImportDestination;
pub use watch::watch;

/// Batch size between two store transactions, in files and bytes.
const BATCH_FILES: usize = 512;
const BATCH_BYTES: u64 = 16 << 20;

/// Warning for an unchanged file whose stored text was rewritten.
const DAMAGED: &str = "the stored text was damaged and has been rewritten from the file; run `gbrain doctor --deep` to look for more damage";

#[derive(Debug, Clone)]
pub struct ImportOptions {
    /// The source of the imported pages.
    pub source: SourceId,
    /// How many threads read and parse; `None` for one per core.
    pub threads: Option<usize>,
    /// Whether a directory without pages deletes the pages that were imported from it.
    pub allow_empty: bool,
    /// Called between batches and while indexing: whether to stop. Written pages stay.
    pub halt: Option<StopCheck>,
    /// Whether to check the stored text of unchanged files.
    pub stored: StoredTexts,
}

/// How to treat the stored text of an unchanged file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StoredTexts {
    /// Hash it, and rewrite a damaged text.
    #[default]
    Check,
    /// Skip the check: it was made recently.
    Trust,
}

/// Callback that returns whether an import must stop.
#[derive(Clone)]
pub struct StopCheck(pub std::sync::Arc<dyn Fn() -> bool + Send + Sync>);

impl std::fmt::Debug for StopCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StopCheck(..)")
    }
}

impl ImportOptions {
    fn check_halt(&self) -> Result<(), BrainError> {
        match &self.halt {
            Some(StopCheck(halt)) if halt() => Err(BrainError::Halted),
            _ => Ok(()),
        }
    }
}

/// Progress of an import, for a progress bar.
#[derive(Debug, Clone, Copy)]
pub enum ImportProgress {
    /// The number of files found.
    Found(usize),
    /// The number of files processed.
    Done(usize),
    /// Changes indexed, and changes in total.
    Indexing { done: i64, total: i64 },
}

/// A failure or warning about a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FileRemark")]
pub struct ImportFailure {
    /// Path of the file.
    #[serde(serialize_with = "display_path")]
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// The failure or warning.
    pub reason: String,
}

/// The output of `import --json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ImportBody")]
pub struct ImportSummary {
    /// The number of pages that did not exist before.
    pub added: usize,
    /// Pages with a new version.
    pub changed: usize,
    /// Pages whose text is the same.
    pub unchanged: usize,
    /// Pages deleted because their file has vanished.
    pub deleted: usize,
    /// Files that could not be imported.
    pub failed: Vec<ImportFailure>,
    /// Warnings for the authors of the files.
    pub warnings: Vec<ImportFailure>,
    // Hidden files are not counted.
    /// Skipped files by kind: the extension, or the type of a file that is not regular.
    #[serde(default)]
    pub skipped: BTreeMap<String, usize>,
}

fn display_path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

/// Checkpoint of an import, from which another can resume.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportCheckpoint {
    /// The last processed file; files are processed in order of their paths.
    pub after: Option<PathBuf>,
    pub summary: ImportSummary,
}

/// Imports files and directories.
pub fn import(
    brain: &Brain,
    paths: &[PathBuf],
    options: &ImportOptions,
    now: Timestamp,
    progress: &(dyn Fn(ImportProgress) + Sync),
) -> Result<ImportSummary, BrainError> {
    import_from(
        brain,
        paths,
        options,
        ImportCheckpoint::default(),
        &DirectWriter { brain, now },
        progress,
    )
}

/// Resumes an import from a checkpoint. Files before it are not read again, so later edits to their
/// pages stay.
pub fn import_from(
    brain: &Brain,
    paths: &[PathBuf],
    options: &ImportOptions,
    mut reached: ImportCheckpoint,
    destination: &dyn ImportDestination,
    progress: &(dyn Fn(ImportProgress) + Sync),
) -> Result<ImportSummary, BrainError> {
    let collected = collect(paths)?;
    progress(ImportProgress::Found(collected.jobs.len()));
    let digests = digests(brain, &options.source)?;
    let on_progress = |step: ImportProgress| {
        progress(step);
        options.check_halt()
    };
    let ((), outage) = brain.while_indexing(&on_progress, |brain| {
        let run = ImportRun { brain, options, destination, digests: &digests, progress };
        run.import_files(&collected.jobs, &mut reached)?;
        run.delete_vanished(&collected, &mut reached)
    })?;
    let ImportCheckpoint { after: _, mut summary } = reached;
    summary.failed.splice(0..0, collected.failures);
    summary.warnings.extend(outage.map(|error| ImportFailure {
        path: PathBuf::from("index"),
        reason: format!(
            "{error}; the pages are stored, but queries cannot find them until the embedder answers"
        ),
    }));
    summary.skipped = collected.skipped;
    Ok(summary)
}

fn digests(brain: &Brain, source: &SourceId) -> Result<FxHashMap<String, PageDigest>, BrainError> {
    let digests = brain.store().digests(brain.workspace(), source)?;
    Ok(digests.into_iter().map(|digest| (digest.slug.as_str().to_owned(), digest)).collect())
}

struct ImportRun<'a> {
    brain: &'a Brain,
    options: &'a ImportOptions,
    destination: &'a dyn ImportDestination,
    digests: &'a FxHashMap<String, PageDigest>,
    progress: &'a (dyn Fn(ImportProgress) + Sync),
}

impl ImportRun<'_> {
    /// Reads ahead by one batch while the previous one is written.
    fn import_files(
        &self,
        jobs: &[FileJob],
        reached: &mut ImportCheckpoint,
    ) -> Result<(), BrainError> {
        let pool = read::pool(self.options.threads)?;
        let is_done = |job: &FileJob| reached.after.as_ref().is_some_and(|last| job.path <= *last);
        let mut done = jobs.partition_point(is_done);
        let batches = batches(&jobs[done..]);
        let (sender, receiver) = crossbeam_channel::bounded::<Vec<FileOutcome>>(1);
        std::thread::scope(|scope| {
            let batches = &batches;
            scope.spawn(move || {
                let sender = sender;
                for batch in batches {
                    let ImportOptions { source, stored, .. } = self.options;
                    let outcomes =
                        pool.install(|| read::read_all(batch, source, self.digests, *stored));
                    if sender.send(outcomes).is_err() {
                        return;
                    }
                }
            });
            for (batch, mut outcomes) in batches.iter().zip(receiver) {
                self.options.check_halt()?;
                let ImportOptions { source, stored, .. } = self.options;
                if *stored == StoredTexts::Check {
                    recheck::recheck(self.brain, source, batch, &mut outcomes, self.digests)?;
                }
                self.write(batch, &outcomes, reached)?;
                done += batch.len();
                (self.progress)(ImportProgress::Done(done));
            }
            Ok(())
        })
    }

    /// Writes the pages of a batch of files.
    fn write(
        &self,
        jobs: &[FileJob],
        outcomes: &[FileOutcome],
        reached: &mut ImportCheckpoint,
    ) -> Result<(), BrainError> {
        let writes: Vec<PageWrite<'_>> = outcomes.iter().filter_map(FileOutcome::write).collect();
        if writes.is_empty() {
            *reached = reached.advanced_by(jobs, outcomes, &[]);
            return Ok(());
        }
        match self
            .destination
            .write(&writes, &|written| reached.advanced_by(jobs, outcomes, written))
        {
            Ok(written) => *reached = reached.advanced_by(jobs, outcomes, &written),
            // A page that the store rejects must not fail its batch.
            Err(error) if concerns_one_page(&error) && jobs.len() > 1 => {
                for (job, outcome) in jobs.iter().zip(outcomes) {
                    let (job, outcome) = (std::slice::from_ref(job), std::slice::from_ref(outcome));
                    self.write(job, outcome, reached)?;
                }
            }
            Err(error) if concerns_one_page(&error) => {
                let (path, reason) = (jobs[0].path.clone(), error.to_string());
                *reached = reached.advanced_by(jobs, &[], &[]);
                reached.summary.failed.push(ImportFailure { path, reason });
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn delete_vanished(
        &self,
        collected: &CollectedFiles,
        reached: &mut ImportCheckpoint,
    ) -> Result<(), BrainError> {
        self.options.check_halt()?;
        let jobs = &collected.jobs;
        let imported_slugs: FxHashSet<&str> = jobs.iter().map(|job| job.slug.as_str()).collect();
        let failures = collected.failures.iter().chain(&reached.summary.failed);
        let failed: FxHashSet<&Path> = failures.map(|failure| failure.path.as_path()).collect();
        let mut vanished = Vec::new();
        for root in &collected.roots {
            let vanished_here = self.vanished_from(root, &imported_slugs, &failed);
            let is_empty = !jobs.iter().any(|job| job.path.starts_with(root));
            if is_empty && !vanished_here.is_empty() && !self.options.allow_empty {
                let reason = format!(
                    "holds no page now, but {} were imported from it: nothing was deleted (use --allow-empty to delete them)",
                    vanished_here.len()
                );
                reached.summary.failed.push(ImportFailure { path: root.clone(), reason });
                return Ok(());
            }
            vanished.extend(vanished_here);
        }
        vanished.sort();
        vanished.dedup();
        self.delete(&self.retain_unmodified(vanished)?, reached)
    }

    fn delete(
        &self,
        vanished: &[PageKey],
        reached: &mut ImportCheckpoint,
    ) -> Result<(), BrainError> {
        for keys in vanished.chunks(BATCH_FILES) {
            self.options.check_halt()?;
            let mut next = reached.clone();
            next.summary.deleted += keys.len();
            self.destination.delete(keys, &next)?;
            *reached = next;
        }
        Ok(())
    }

    /// Keeps the pages that were not written since the import began.
    fn retain_unmodified(&self, mut keys: Vec<PageKey>) -> Result<Vec<PageKey>, BrainError> {
        if !keys.is_empty() {
            let now = digests(self.brain, &self.options.source)?;
            keys.retain(|key| now.get(key.slug.as_str()) == self.digests.get(key.slug.as_str()));
        }
        Ok(keys)
    }

    fn vanished_from(
        &self,
        root: &Path,
        imported_slugs: &FxHashSet<&str>,
        failed: &FxHashSet<&Path>,
    ) -> Vec<PageKey> {
        self.digests
            .values()
            .filter(|digest| !digest.deleted && !imported_slugs.contains(digest.slug.as_str()))
            .filter(|digest| {
                let origin = digest.origin.as_deref().map(Path::new);
                origin.is_some_and(|origin| origin.starts_with(root) && !failed.contains(origin))
            })
            .map(|digest| PageKey::new(self.options.source.clone(), digest.slug.clone()))
            .collect()
    }
}

impl ImportSummary {
    /// Whether there is nothing to report.
    pub fn is_empty(&self) -> bool {
        self.added + self.changed + self.deleted == 0 && self.failed.is_empty()
    }

    fn count(&mut self, parsed: &ParsedFile, kind: WriteKind) {
        match kind {
            WriteKind::Added | WriteKind::Restored => self.added += 1,
            WriteKind::Changed => self.changed += 1,
            // The warnings were reported when it was written.
            WriteKind::Unchanged => return self.unchanged += 1,
        }
        let damaged = parsed.is_known.then(|| DAMAGED.to_owned());
        for reason in damaged.into_iter().chain(parsed.page.warnings.iter().cloned()) {
            self.warnings.push(ImportFailure { path: parsed.path.clone(), reason });
        }
    }
}

impl ImportCheckpoint {
    /// The checkpoint after these files, whose pages were written with these outcomes.
    fn advanced_by(
        &self,
        jobs: &[FileJob],
        outcomes: &[FileOutcome],
        written: &[WriteOutcome],
    ) -> Self {
        let mut next = self.clone();
        let mut written = written.iter();
        for outcome in outcomes {
            match outcome {
                FileOutcome::Unchanged => next.summary.unchanged += 1,
                FileOutcome::Failed(failure) => next.summary.failed.push(failure.clone()),
                FileOutcome::Parsed(page) => {
                    written.next().into_iter().for_each(|of| next.summary.count(page, of.kind));
                }
            }
        }
        next.after = jobs.last().map(|job| job.path.clone());
        next
    }
}

/// Whether an error concerns a single page rather than the store.
fn concerns_one_page(error: &StoreError) -> bool {
    matches!(error, StoreError::Constraint { .. } | StoreError::Id(_))
}

/// Splits the files into batches of bounded count and size, in order.
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
