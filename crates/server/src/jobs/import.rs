//! Jobs that change the brain: pages, files, the index.

use std::sync::{Arc, Mutex, PoisonError};

use gbrain_brain::import::{Halt, ImportOptions, ImportProgress, import};
use gbrain_brain::wire;
use gbrain_core::fault::Fault;
use gbrain_core::format::work::{FileRemark, ImportBody};
use gbrain_core::id::{PageKey, SourceId};
use gbrain_core::page::Page;
use gbrain_store::{JobStep, PageWrite, StoreError, WriteKind, WriteOutcome};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::spec::{ImportFilesSpec, ImportSpec, NewPage, ReindexSpec};
use super::worker::Held;
use crate::operations::pages::{TextFormat, parsed};

/// How many pages are written in one transaction.
const BATCH: usize = 200;

/// How far an import is: what is written in the same transaction as the pages.
#[derive(Debug, Default, Deserialize)]
struct Checkpoint {
    next: usize,
    summary: ImportBody,
}

#[derive(Serialize)]
struct Reached<'a> {
    next: usize,
    summary: &'a ImportBody,
}

/// Takes in pages. Pages and checkpoint are one transaction under the lease, so each page is written
/// once, however many workers die over it.
pub(super) fn pages(held: &Held<'_>) -> Result<String, Fault> {
    let spec: ImportSpec = held.spec()?;
    let source = SourceId::new(spec.source.as_deref().unwrap_or("default"))?;
    let mut at: Checkpoint = match &held.job.checkpoint {
        None => Checkpoint::default(),
        Some(text) => serde_json::from_str(text)
            .map_err(|error| Fault::internal(format!("the checkpoint can't be read: {error}")))?,
    };
    let total = spec.pages.len() as u64;
    held.going.say("writing");
    while at.next < spec.pages.len() {
        held.going.at(at.next as u64, total);
        if held.going.is_halted() {
            return Err(Fault::cancelled("the import was stopped"));
        }
        let end = spec.pages.len().min(at.next + BATCH);
        let batch = Batch::read(held, &spec.pages[at.next..end], &source, &mut at.summary)?;
        at.next = end;
        batch.write(held, &mut at, total)?;
    }
    held.going.at(total, total);
    serde_json::to_string(&at.summary).map_err(|error| Fault::internal(error.to_string()))
}

/// Pages that are written together.
struct Batch {
    pages: Vec<Page>,
}

impl Batch {
    /// Parses pages; those that can't be taken in are told in the summary.
    fn read(
        held: &Held<'_>,
        pages: &[NewPage],
        source: &SourceId,
        summary: &mut ImportBody,
    ) -> Result<Self, Fault> {
        let mut parsed = Vec::with_capacity(pages.len());
        for page in pages {
            match read_page(held, page, source) {
                Ok(page) => parsed.push(page),
                Err(fault) if fault.kind == "store" || fault.kind == "busy" => return Err(fault),
                Err(fault) => summary
                    .failed
                    .push(FileRemark { path: page.slug.clone(), reason: fault.message }),
            }
        }
        Ok(Self { pages: parsed })
    }

    fn write(&self, held: &Held<'_>, at: &mut Checkpoint, total: u64) -> Result<(), Fault> {
        let writes: Vec<PageWrite<'_>> =
            self.pages.iter().map(|page| PageWrite { page, origin: None }).collect();
        let store = held.house.store();
        let now = Timestamp::now();
        // What is counted is known only when the pages are written, and is stored with them.
        let counted = Mutex::new(std::mem::take(&mut at.summary));
        let next = at.next;
        let checkpoint = |outcomes: &[WriteOutcome]| {
            let mut summary = counted.lock().unwrap_or_else(PoisonError::into_inner);
            for (page, outcome) in self.pages.iter().zip(outcomes) {
                count(&mut summary, page, outcome.kind);
            }
            serde_json::to_string(&Reached { next, summary: &summary }).unwrap_or_default()
        };
        let step = JobStep {
            id: held.job.info.id,
            lease: &held.lease,
            checkpoint: &checkpoint,
            done: next as u64,
            total: Some(total),
        };
        let written = store.write_pages_in_job(held.workspace(), &writes, &step, now);
        at.summary = counted.into_inner().unwrap_or_else(PoisonError::into_inner);
        match written {
            Ok(_) => Ok(()),
            Err(StoreError::LeaseLost { .. }) => {
                held.going.stop(super::halt::Halt::Lost);
                Err(Fault::conflict("another worker has this job now"))
            }
            Err(error) => Err(error.into()),
        }
    }
}

fn read_page(held: &Held<'_>, page: &NewPage, source: &SourceId) -> Result<Page, Fault> {
    let key = PageKey::parse(&page.slug, source)?;
    let format = page.format.unwrap_or(TextFormat::Markdown).into();
    parsed(held.house, held.workspace(), &key, &page.content, format)
}

fn count(summary: &mut ImportBody, page: &Page, kind: WriteKind) {
    match kind {
        WriteKind::Added | WriteKind::Restored => summary.added += 1,
        WriteKind::Changed => summary.changed += 1,
        WriteKind::Unchanged => summary.unchanged += 1,
    }
    let path = page.key.to_string();
    let warnings = page.warnings.iter();
    summary
        .warnings
        .extend(warnings.map(|reason| FileRemark { path: path.clone(), reason: reason.clone() }));
}

/// Takes in files. What the files say is what counts: doing it again does no harm.
pub(super) fn files(held: &Held<'_>) -> Result<String, Fault> {
    let ImportFilesSpec { source, paths, allow_empty } = held.spec()?;
    let source = SourceId::new(&source)?;
    let door = held.house.door(held.workspace())?;
    door.brain().ensure_source(&source, Timestamp::now())?;
    let going = held.going.clone();
    let halt = Some(Halt(Arc::new(move || going.is_halted())));
    let options = ImportOptions { source, threads: None, allow_empty, halt };
    let total = std::sync::atomic::AtomicU64::new(0);
    let relaxed = std::sync::atomic::Ordering::Relaxed;
    let on_progress = |progress: ImportProgress| match progress {
        ImportProgress::Found(files) => total.store(files as u64, relaxed),
        ImportProgress::Done(files) => held.going.at(files as u64, total.load(relaxed)),
        ImportProgress::Indexing { .. } => held.going.say("indexing"),
    };
    held.going.say("reading");
    let summary = import(door.brain(), &paths, &options, Timestamp::now(), &on_progress)?;
    serde_json::to_string(&wire::imported(&summary))
        .map_err(|error| Fault::internal(error.to_string()))
}

/// Makes the index again.
pub(super) fn reindex(held: &Held<'_>) -> Result<String, Fault> {
    let ReindexSpec {} = held.spec()?;
    let door = held.house.door(held.workspace())?;
    held.going.say("indexing");
    let corpus = door.brain().reindex(&|done, total| {
        held.going.at(done.unsigned_abs(), total.unsigned_abs());
    })?;
    serde_json::to_string(&wire::reindexed(&corpus))
        .map_err(|error| Fault::internal(error.to_string()))
}
