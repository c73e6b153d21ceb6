//! Jobs that change the brain: pages that were sent, the index.

use std::path::PathBuf;

use gbrain_brain::import::{ImportFailure, ImportSummary};
use gbrain_brain::wire::ReindexBody;
use gbrain_core::clock::moment;
use gbrain_core::fault::Fault;
use gbrain_core::id::{PageKey, SourceId};
use gbrain_core::page::Page;
use gbrain_core::request::Viewer;
use gbrain_store::{JobStep, PageWrite, StoreError, WriteKind, WriteOutcome};
use serde::{Deserialize, Serialize};

use super::halt::Halt;
use super::spec::{ImportSpec, NewPage, ReindexSpec};
use super::worker::{Done, Held};
use crate::operations::pages::{TextFormat, parsed};

/// How many pages are written in one transaction.
const BATCH: usize = 200;

/// How far an import is: what is written in the same transaction as the pages.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Checkpoint {
    next: usize,
    summary: ImportSummary,
}

/// Takes in pages. Pages and checkpoint are one transaction under the lease, so each page is written
/// once, however many workers die over it. A page that can't be taken in is told in the result.
pub(super) fn pages(held: &Held<'_>) -> Result<Done, Fault> {
    let ImportSpec { source, pages } = held.spec()?;
    let source = SourceId::new(source.as_deref().unwrap_or("default"))?;
    let mut at: Checkpoint = held.checkpoint()?.unwrap_or_default();
    let import = Import { held, source, total: pages.len() as u64 };
    held.going.say("writing");
    while at.next < pages.len() {
        let end = pages.len().min(at.next + BATCH);
        import.write(&pages[at.next..end], &mut at)?;
    }
    held.going.at(import.total, import.total);
    Done::with(&at.summary)
}

struct Import<'a> {
    held: &'a Held<'a>,
    source: SourceId,
    total: u64,
}

impl Import<'_> {
    /// Writes the next pages. If the store refuses one, each for itself.
    fn write(&self, pages: &[NewPage], at: &mut Checkpoint) -> Result<(), Fault> {
        let going = &self.held.going;
        going.at(at.next as u64, self.total);
        if going.is_halted() {
            return Err(Fault::cancelled("the import was stopped"));
        }
        let batch = self.read(pages);
        match self.store(&batch, at) {
            Ok(next) => *at = next,
            Err(error) if concerns_one_page(&error) && pages.len() > 1 => {
                for page in pages {
                    self.write(std::slice::from_ref(page), at)?;
                }
            }
            Err(error) if concerns_one_page(&error) => {
                let (path, reason) = (pages[0].slug.clone().into(), error.to_string());
                at.next += 1;
                at.summary.failed.push(ImportFailure { path, reason });
            }
            Err(error) => {
                if matches!(error, StoreError::LeaseLost { .. }) {
                    going.stop(Halt::Lost);
                }
                return Err(error.into());
            }
        }
        Ok(())
    }

    fn read(&self, pages: &[NewPage]) -> Batch {
        let mut batch = Batch { count: pages.len(), pages: Vec::new(), failed: Vec::new() };
        for page in pages {
            match read_page(page, &self.source) {
                Ok(page) => batch.pages.push(page),
                Err(fault) => {
                    let path = page.slug.clone().into();
                    batch.failed.push(ImportFailure { path, reason: fault.message });
                }
            }
        }
        batch
    }

    /// Writes a batch and where the import is then, or neither.
    fn store(&self, batch: &Batch, at: &Checkpoint) -> Result<Checkpoint, StoreError> {
        let held = self.held;
        let pages = batch.pages.iter();
        let writes: Vec<PageWrite<'_>> =
            pages.map(|page| PageWrite { page, origin: None }).collect();
        // What is counted is known only when the pages are written, and is stored with them.
        let checkpoint = |outcomes: &[WriteOutcome]| {
            let next = batch.beyond(at, outcomes);
            serde_json::to_string(&next).expect("a checkpoint has text keys only")
        };
        let step = JobStep {
            id: held.job.info.id,
            lease: &held.lease,
            checkpoint: &checkpoint,
            done: (at.next + batch.count) as u64,
            total: Some(self.total),
        };
        let store = held.house.store();
        let now = moment(std::time::SystemTime::now());
        let (ws, writer) = (held.workspace(), Viewer::Untrusted);
        let outcomes = store.write_pages_in_job_by(writer, ws, &writes, &step, now)?;
        Ok(batch.beyond(at, &outcomes))
    }
}

/// Pages that are written together.
struct Batch {
    /// How many there were to read.
    count: usize,
    pages: Vec<Page>,
    /// Those that are no pages.
    failed: Vec<ImportFailure>,
}

impl Batch {
    /// Where an import is after this batch, whose pages were written with these outcomes.
    fn beyond(&self, at: &Checkpoint, outcomes: &[WriteOutcome]) -> Checkpoint {
        let mut next = at.clone();
        next.next += self.count;
        next.summary.failed.extend_from_slice(&self.failed);
        for (page, outcome) in self.pages.iter().zip(outcomes) {
            count(&mut next.summary, page, outcome.kind);
        }
        next
    }
}

/// Errors that are about the page at hand rather than about the store.
fn concerns_one_page(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Constraint { .. }
            | StoreError::Id(_)
            | StoreError::Nul { .. }
            | StoreError::Hidden(_)
            | StoreError::UnknownSource(_)
    )
}

fn read_page(page: &NewPage, source: &SourceId) -> Result<Page, Fault> {
    let key = PageKey::parse(&page.slug, source)?;
    let format = page.format.unwrap_or(TextFormat::Markdown).into();
    parsed(&key, &page.content, format)
}

fn count(summary: &mut ImportSummary, page: &Page, kind: WriteKind) {
    match kind {
        WriteKind::Added | WriteKind::Restored => summary.added += 1,
        WriteKind::Changed => summary.changed += 1,
        WriteKind::Unchanged => summary.unchanged += 1,
    }
    let path = PathBuf::from(page.key.to_string());
    let warnings = page.warnings.iter();
    summary.warnings.extend(
        warnings.map(|reason| ImportFailure { path: path.clone(), reason: reason.clone() }),
    );
}

/// Makes the index again.
pub(super) fn reindex(held: &Held<'_>) -> Result<Done, Fault> {
    let ReindexSpec {} = held.spec()?;
    let door = held.house.door(held.workspace())?;
    held.going.say("indexing");
    let corpus = door.brain().reindex(&|done: i64, total: i64| {
        held.going.at(done.unsigned_abs(), total.unsigned_abs());
        held.going.onward()
    })?;
    Done::with(&ReindexBody::new(&corpus))
}
