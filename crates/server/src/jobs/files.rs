//! Files of the worker's machine, taken in as `gbrain import` does, under the lease of a job.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gbrain_brain::import::{
    Destination, Halt, ImportOptions, ImportProgress, Reached, StoredTexts, import_from,
};
use gbrain_core::clock::moment;
use gbrain_core::fault::Fault;
use gbrain_core::id::{PageKey, SourceId};
use gbrain_store::{JobStep, PageWrite, Progress, StoreError, WriteOutcome};

use super::spec::ImportFilesSpec;
use super::worker::{Done, Held};

/// Takes in files. Pages and checkpoint are one transaction under the lease: a worker that lost the
/// job writes nothing, and the next one does not look again at files that are done, so what somebody
/// wrote over their pages meanwhile stays.
pub(super) fn import_files(held: &Held<'_>) -> Result<Done, Fault> {
    let ImportFilesSpec { source, paths, allow_empty } = held.spec()?;
    let source = SourceId::new(&source)?;
    let reached: Reached = held.checkpoint()?.unwrap_or_default();
    let door = held.house.door(held.workspace())?;
    door.brain().ensure_source(&source, moment(std::time::SystemTime::now()))?;
    let going = held.going.clone();
    let halt = Some(Halt(Arc::new(move || going.is_halted())));
    let options =
        ImportOptions { source, threads: None, allow_empty, halt, stored: StoredTexts::Check };
    let total = AtomicU64::new(0);
    let on_progress = |progress: ImportProgress| match progress {
        ImportProgress::Found(files) => total.store(files as u64, Ordering::Relaxed),
        ImportProgress::Done(files) => held.going.at(files as u64, total.load(Ordering::Relaxed)),
        ImportProgress::Indexing { .. } => held.going.say("indexing"),
    };
    held.going.say("reading");
    let to = InJob { held };
    let summary = import_from(door.brain(), &paths, &options, reached, &to, &on_progress)?;
    Done::with(&summary)
}

/// The store, as whoever holds the job may write to it.
struct InJob<'a> {
    held: &'a Held<'a>,
}

impl InJob<'_> {
    fn step<'s, T>(&'s self, checkpoint: &'s (dyn Fn(&[T]) -> String + Sync)) -> JobStep<'s, T> {
        let Progress { done, total, note: _ } = self.held.going.progress();
        JobStep { id: self.held.job.info.id, lease: &self.held.lease, checkpoint, done, total }
    }
}

impl Destination for InJob<'_> {
    fn write(
        &self,
        writes: &[PageWrite<'_>],
        reached: &(dyn Fn(&[WriteOutcome]) -> Reached + Sync),
    ) -> Result<Vec<WriteOutcome>, StoreError> {
        let checkpoint = |written: &[WriteOutcome]| kept(&reached(written));
        let (store, now) = (self.held.house.store(), moment(std::time::SystemTime::now()));
        store.write_pages_in_job(self.held.workspace(), writes, &self.step(&checkpoint), now)
    }

    fn delete(&self, keys: &[PageKey], reached: &Reached) -> Result<(), StoreError> {
        let checkpoint = kept(reached);
        let checkpoint = |_: &[_]| checkpoint.clone();
        let (store, now) = (self.held.house.store(), moment(std::time::SystemTime::now()));
        let step = self.step(&checkpoint);
        store.delete_pages_in_job(self.held.workspace(), keys, &step, now).map(|_| ())
    }
}

fn kept(reached: &Reached) -> String {
    serde_json::to_string(reached).expect("paths of pages are UTF-8")
}
