//! Imports files of the worker's machine under the lease of a job, like `gbrain import`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gbrain_brain::import::{
    ImportCheckpoint, ImportDestination, ImportOptions, ImportProgress, StopCheck, StoredTexts,
    import_from,
};
use gbrain_core::clock::moment;
use gbrain_core::fault::Fault;
use gbrain_core::id::{PageKey, SourceId};
use gbrain_store::{JobProgress, JobStep, PageWrite, StoreError, WriteOutcome};

use super::spec::ImportFilesSpec;
use super::worker::{JobOutput, RunningJob};

/// Imports files. Pages and checkpoint are one transaction under the lease: a worker that lost the
/// job writes nothing, and the next one skips files that are done, so later edits of their pages
/// are not overwritten.
pub(super) fn import_files(running: &RunningJob<'_>) -> Result<JobOutput, Fault> {
    let ImportFilesSpec { source, paths, allow_empty } = running.spec()?;
    let source = SourceId::new(&source)?;
    let reached: ImportCheckpoint = running.checkpoint()?.unwrap_or_default();
    let service = running.registry.query_service(running.workspace())?;
    service.brain().ensure_source(&source, moment(std::time::SystemTime::now()))?;
    let control = running.control.clone();
    let halt = Some(StopCheck(Arc::new(move || control.is_stopped())));
    let options =
        ImportOptions { source, threads: None, allow_empty, halt, stored: StoredTexts::Check };
    let total = AtomicU64::new(0);
    let on_progress = |progress: ImportProgress| match progress {
        ImportProgress::Found(files) => total.store(files as u64, Ordering::Relaxed),
        ImportProgress::Done(files) => {
            running.control.set_progress(files as u64, total.load(Ordering::Relaxed))
        }
        ImportProgress::Indexing { .. } => running.control.set_note("indexing"),
    };
    running.control.set_note("reading");
    let to = LeasedWriter { running };
    let summary = import_from(service.brain(), &paths, &options, reached, &to, &on_progress)?;
    JobOutput::with(&summary)
}

/// Writes to the store under the job's lease.
struct LeasedWriter<'a> {
    running: &'a RunningJob<'a>,
}

impl LeasedWriter<'_> {
    fn step<'s, T>(&'s self, checkpoint: &'s (dyn Fn(&[T]) -> String + Sync)) -> JobStep<'s, T> {
        let JobProgress { done, total, note: _ } = self.running.control.progress();
        JobStep {
            id: self.running.job.info.id,
            lease: &self.running.lease,
            checkpoint,
            done,
            total,
        }
    }
}

impl ImportDestination for LeasedWriter<'_> {
    fn write(
        &self,
        writes: &[PageWrite<'_>],
        reached: &(dyn Fn(&[WriteOutcome]) -> ImportCheckpoint + Sync),
    ) -> Result<Vec<WriteOutcome>, StoreError> {
        let checkpoint = |written: &[WriteOutcome]| checkpoint_json(&reached(written));
        let (store, now) = (self.running.registry.store(), moment(std::time::SystemTime::now()));
        store.write_pages_in_job(self.running.workspace(), writes, &self.step(&checkpoint), now)
    }

    fn delete(&self, keys: &[PageKey], reached: &ImportCheckpoint) -> Result<(), StoreError> {
        let checkpoint = checkpoint_json(reached);
        let checkpoint = |_: &[_]| checkpoint.clone();
        let (store, now) = (self.running.registry.store(), moment(std::time::SystemTime::now()));
        let step = self.step(&checkpoint);
        store.delete_pages_in_job(self.running.workspace(), keys, &step, now).map(|_| ())
    }
}

fn checkpoint_json(reached: &ImportCheckpoint) -> String {
    serde_json::to_string(reached).expect("paths of pages are UTF-8")
}
