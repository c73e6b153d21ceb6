//! Jobs that change the brain: importing submitted pages and rebuilding the index.

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

use super::control::StopReason;
use super::spec::{ImportSpec, NewPage, ReindexSpec};
use super::worker::{JobOutput, RunningJob};
use crate::operations::pages::{TextFormat, parsed};

/// The number of pages written in one transaction.
const BATCH: usize = 200;

/// Progress of an import, stored in the same transaction as the pages.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct PageImportCheckpoint {
    next: usize,
    summary: ImportSummary,
}

/// Imports pages. Pages and checkpoint are one transaction under the lease, so each page is written
/// once even if workers crash. Pages that cannot be imported are listed in the result.
pub(super) fn pages(running: &RunningJob<'_>) -> Result<JobOutput, Fault> {
    let ImportSpec { source, pages } = running.spec()?;
    let source = SourceId::new(source.as_deref().unwrap_or("default"))?;
    let mut at: PageImportCheckpoint = running.checkpoint()?.unwrap_or_default();
    let import = PageImport { running, source, total: pages.len() as u64 };
    running.control.set_note("writing");
    while at.next < pages.len() {
        let end = pages.len().min(at.next + BATCH);
        import.write(&pages[at.next..end], &mut at)?;
    }
    running.control.set_progress(import.total, import.total);
    JobOutput::with(&at.summary)
}

struct PageImport<'a> {
    running: &'a RunningJob<'a>,
    source: SourceId,
    total: u64,
}

impl PageImport<'_> {
    /// Writes the next pages; if the store refuses one of them, writes each separately.
    fn write(&self, pages: &[NewPage], at: &mut PageImportCheckpoint) -> Result<(), Fault> {
        let control = &self.running.control;
        control.set_progress(at.next as u64, self.total);
        if control.is_stopped() {
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
                    control.stop(StopReason::Lost);
                }
                return Err(error.into());
            }
        }
        Ok(())
    }

    fn read(&self, pages: &[NewPage]) -> PageBatch {
        let mut batch = PageBatch { count: pages.len(), pages: Vec::new(), failed: Vec::new() };
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

    /// Writes a batch with its checkpoint in one transaction.
    fn store(
        &self,
        batch: &PageBatch,
        at: &PageImportCheckpoint,
    ) -> Result<PageImportCheckpoint, StoreError> {
        let running = self.running;
        let pages = batch.pages.iter();
        let writes: Vec<PageWrite<'_>> =
            pages.map(|page| PageWrite { page, origin: None }).collect();
        // The counts are known only when the pages are written, and are stored with them.
        let checkpoint = |outcomes: &[WriteOutcome]| {
            let next = batch.beyond(at, outcomes);
            serde_json::to_string(&next).expect("a checkpoint has text keys only")
        };
        let step = JobStep {
            id: running.job.info.id,
            lease: &running.lease,
            checkpoint: &checkpoint,
            done: (at.next + batch.count) as u64,
            total: Some(self.total),
        };
        let store = running.registry.store();
        let now = moment(std::time::SystemTime::now());
        let (ws, writer) = (running.workspace(), Viewer::Untrusted);
        let outcomes = store.write_pages_in_job_by(writer, ws, &writes, &step, now)?;
        Ok(batch.beyond(at, &outcomes))
    }
}

struct PageBatch {
    count: usize,
    pages: Vec<Page>,
    failed: Vec<ImportFailure>,
}

impl PageBatch {
    /// The checkpoint after this batch, whose pages were written with these outcomes.
    fn beyond(&self, at: &PageImportCheckpoint, outcomes: &[WriteOutcome]) -> PageImportCheckpoint {
        let mut next = at.clone();
        next.next += self.count;
        next.summary.failed.extend_from_slice(&self.failed);
        for (page, outcome) in self.pages.iter().zip(outcomes) {
            count(&mut next.summary, page, outcome.kind);
        }
        next
    }
}

/// Whether an error concerns the page rather than the store.
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

pub(super) fn reindex(running: &RunningJob<'_>) -> Result<JobOutput, Fault> {
    let ReindexSpec {} = running.spec()?;
    let service = running.registry.query_service(running.workspace())?;
    running.control.set_note("indexing");
    let corpus = service.brain().reindex(&|done: i64, total: i64| {
        running.control.set_progress(done.unsigned_abs(), total.unsigned_abs());
        running.control.check_stop()
    })?;
    JobOutput::with(&ReindexBody::new(&corpus))
}
