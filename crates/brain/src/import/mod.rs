//! Taking files in: parallel, incremental by content hash, resumable at any moment.
//!
//! Promises: one bad file never stops the rest; an unchanged file writes nothing; what is reported
//! as added or changed is durable; ids, chunks and rankings do not depend on thread timing, because
//! files are taken in order of their paths, whichever thread reads them.
//!
//! A page whose file has vanished from an imported directory is deleted (softly: `restore` brings
//! it back), unless somebody wrote it meanwhile. A file that can't be read keeps the page it had.

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

use collect::{Collected, FileJob, collect};
use destination::Straight;
use read::{Outcome, Parsed};

pub use destination::Destination;
pub use watch::watch;

/// How many files are read and parsed between two store transactions, and how many bytes at most.
const BATCH_FILES: usize = 512;
const BATCH_BYTES: u64 = 16 << 20;

/// What the owner is told of a file that had not changed and was written.
const DAMAGED: &str = "its stored text was damaged and was written again from the file; `gbrain doctor --deep` looks for more damage";

/// What to import, and how.
#[derive(Debug, Clone)]
pub struct ImportOptions {
    /// The source that the pages belong to.
    pub source: SourceId,
    /// How many threads read and parse; none for one per core.
    pub threads: Option<usize>,
    /// Whether a directory that holds no page any more deletes the pages it held before.
    pub allow_empty: bool,
    /// Asked between batches, and while indexing: whether to stop here. What is written stays.
    pub halt: Option<Halt>,
    /// Whether the store must still have the texts of files that it knows.
    pub stored: StoredTexts,
}

/// What is done about the stored text of a file that has not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StoredTexts {
    /// The store hashes it, and a damaged one is written again.
    #[default]
    Check,
    /// Nothing: it was checked a moment ago.
    Trust,
}

/// Says whether an import must stop.
#[derive(Clone)]
pub struct Halt(pub std::sync::Arc<dyn Fn() -> bool + Send + Sync>);

impl std::fmt::Debug for Halt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Halt(..)")
    }
}

impl ImportOptions {
    fn refuse_if_halted(&self) -> Result<(), BrainError> {
        match &self.halt {
            Some(Halt(halt)) if halt() => Err(BrainError::Halted),
            _ => Ok(()),
        }
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
    Indexing { done: i64, total: i64 },
}

/// Something to say about a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FileRemark")]
pub struct ImportFailure {
    /// The file.
    #[serde(serialize_with = "displayed")]
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// What is so.
    pub reason: String,
}

/// What `import --json` prints.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ImportBody")]
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
    // Hidden ones are not counted.
    /// Files of a directory that were passed over, by kind: their ending, or what they are.
    #[serde(default)]
    pub skipped: BTreeMap<String, usize>,
}

fn displayed<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

/// Where an import stands: what another one needs to go on from there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reached {
    /// The last file that is done; files are done in the order of their paths.
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
    import_from(brain, paths, options, Reached::default(), &Straight { brain, now }, progress)
}

/// Goes on with an import that was broken off. Files that it had done are not looked at again: what
/// somebody wrote over their pages since stays.
pub fn import_from(
    brain: &Brain,
    paths: &[PathBuf],
    options: &ImportOptions,
    mut reached: Reached,
    to: &dyn Destination,
    progress: &(dyn Fn(ImportProgress) + Sync),
) -> Result<ImportSummary, BrainError> {
    let collected = collect(paths)?;
    progress(ImportProgress::Found(collected.jobs.len()));
    let digests = digests(brain, &options.source)?;
    let on_progress = |step: ImportProgress| {
        progress(step);
        options.refuse_if_halted()
    };
    let ((), outage) = brain.while_indexing(&on_progress, |brain| {
        let run = Run { brain, options, to, digests: &digests, progress };
        run.take_in(&collected.jobs, &mut reached)?;
        run.delete_vanished(&collected, &mut reached)
    })?;
    let Reached { after: _, mut summary } = reached;
    summary.failed.splice(0..0, collected.failures);
    summary.warnings.extend(outage.map(|error| ImportFailure {
        path: PathBuf::from("index"),
        reason: format!(
            "{error}; the pages are stored, and until it answers questions are answered without them"
        ),
    }));
    summary.skipped = collected.skipped;
    Ok(summary)
}

fn digests(brain: &Brain, source: &SourceId) -> Result<FxHashMap<String, PageDigest>, BrainError> {
    let digests = brain.store().digests(brain.workspace(), source)?;
    Ok(digests.into_iter().map(|digest| (digest.slug.as_str().to_owned(), digest)).collect())
}

struct Run<'a> {
    brain: &'a Brain,
    options: &'a ImportOptions,
    to: &'a dyn Destination,
    digests: &'a FxHashMap<String, PageDigest>,
    progress: &'a (dyn Fn(ImportProgress) + Sync),
}

impl Run<'_> {
    /// Reads ahead by one batch while the last one is written.
    fn take_in(&self, jobs: &[FileJob], reached: &mut Reached) -> Result<(), BrainError> {
        let pool = read::pool(self.options.threads)?;
        let is_done = |job: &FileJob| reached.after.as_ref().is_some_and(|last| job.path <= *last);
        let mut done = jobs.partition_point(is_done);
        let batches = batches(&jobs[done..]);
        let (sender, receiver) = crossbeam_channel::bounded::<Vec<Outcome>>(1);
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
                self.options.refuse_if_halted()?;
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

    /// Writes what was read of some files.
    fn write(
        &self,
        jobs: &[FileJob],
        outcomes: &[Outcome],
        reached: &mut Reached,
    ) -> Result<(), BrainError> {
        let writes: Vec<PageWrite<'_>> = outcomes.iter().filter_map(Outcome::write).collect();
        if writes.is_empty() {
            *reached = reached.beyond(jobs, outcomes, &[]);
            return Ok(());
        }
        match self.to.write(&writes, &|written| reached.beyond(jobs, outcomes, written)) {
            Ok(written) => *reached = reached.beyond(jobs, outcomes, &written),
            // A page that the store refuses must not take its batch with it.
            Err(error) if concerns_one_page(&error) && jobs.len() > 1 => {
                for (job, outcome) in jobs.iter().zip(outcomes) {
                    let (job, outcome) = (std::slice::from_ref(job), std::slice::from_ref(outcome));
                    self.write(job, outcome, reached)?;
                }
            }
            Err(error) if concerns_one_page(&error) => {
                let (path, reason) = (jobs[0].path.clone(), error.to_string());
                *reached = reached.beyond(jobs, &[], &[]);
                reached.summary.failed.push(ImportFailure { path, reason });
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn delete_vanished(
        &self,
        collected: &Collected,
        reached: &mut Reached,
    ) -> Result<(), BrainError> {
        self.options.refuse_if_halted()?;
        let jobs = &collected.jobs;
        let seen: FxHashSet<&str> = jobs.iter().map(|job| job.slug.as_str()).collect();
        let failures = collected.failures.iter().chain(&reached.summary.failed);
        let failed: FxHashSet<&Path> = failures.map(|failure| failure.path.as_path()).collect();
        let mut vanished = Vec::new();
        for root in &collected.roots {
            let gone = self.vanished_from(root, &seen, &failed);
            let is_empty = !jobs.iter().any(|job| job.path.starts_with(root));
            if is_empty && !gone.is_empty() && !self.options.allow_empty {
                let reason = format!(
                    "holds no page now, but {} were imported from it: nothing was deleted (say --allow-empty to delete them)",
                    gone.len()
                );
                reached.summary.failed.push(ImportFailure { path: root.clone(), reason });
                return Ok(());
            }
            vanished.extend(gone);
        }
        vanished.sort();
        vanished.dedup();
        self.delete(&self.untouched(vanished)?, reached)
    }

    fn delete(&self, vanished: &[PageKey], reached: &mut Reached) -> Result<(), BrainError> {
        for keys in vanished.chunks(BATCH_FILES) {
            self.options.refuse_if_halted()?;
            let mut next = reached.clone();
            next.summary.deleted += keys.len();
            self.to.delete(keys, &next)?;
            *reached = next;
        }
        Ok(())
    }

    /// Those of the pages that nobody wrote since the import began.
    fn untouched(&self, mut keys: Vec<PageKey>) -> Result<Vec<PageKey>, BrainError> {
        if !keys.is_empty() {
            let now = digests(self.brain, &self.options.source)?;
            keys.retain(|key| now.get(key.slug.as_str()) == self.digests.get(key.slug.as_str()));
        }
        Ok(keys)
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
            // Its author was warned when it was written.
            WriteKind::Unchanged => return self.unchanged += 1,
        }
        let damaged = parsed.is_known.then(|| DAMAGED.to_owned());
        for reason in damaged.into_iter().chain(parsed.page.warnings.iter().cloned()) {
            self.warnings.push(ImportFailure { path: parsed.path.clone(), reason });
        }
    }
}

impl Reached {
    /// Where it stands after these files, whose pages were written with these outcomes.
    fn beyond(&self, jobs: &[FileJob], outcomes: &[Outcome], written: &[WriteOutcome]) -> Self {
        let mut next = self.clone();
        let mut written = written.iter();
        for outcome in outcomes {
            match outcome {
                Outcome::Unchanged => next.summary.unchanged += 1,
                Outcome::Failed(failure) => next.summary.failed.push(failure.clone()),
                Outcome::Parsed(page) => {
                    written.next().into_iter().for_each(|of| next.summary.count(page, of.kind));
                }
            }
        }
        next.after = jobs.last().map(|job| job.path.clone());
        next
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
