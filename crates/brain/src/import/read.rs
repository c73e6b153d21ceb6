//! Reading, hashing and parsing files on many threads; the results keep the order of the files.

use std::path::PathBuf;

use gbrain_core::hash::Hash;
use gbrain_core::id::{PageKey, SourceId};
use gbrain_core::page::{DERIVE_VERSION, Page, PageInput, parse};
use gbrain_store::{PageDigest, PageWrite};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::BrainError;

use super::ImportFailure;
use super::collect::FileJob;

/// Files above this are refused before they are read.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// A file that became a page.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) path: PathBuf,
    pub(super) origin: String,
    pub(super) page: Page,
}

/// What became of a file.
#[derive(Debug)]
pub(super) enum Outcome {
    Unchanged,
    Parsed(Box<Parsed>),
    Failed(ImportFailure),
}

impl Outcome {
    /// The page to write, if it became one.
    pub(super) fn write(&self) -> Option<PageWrite<'_>> {
        let Self::Parsed(parsed) = self else { return None };
        Some(PageWrite { page: &parsed.page, origin: Some(&parsed.origin) })
    }
}

/// The threads that read; a pool of its own, so that nobody's settings leak into it.
pub(super) fn pool(threads: Option<usize>) -> Result<rayon::ThreadPool, BrainError> {
    let builder = rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0));
    builder.build().map_err(|error| BrainError::Threads(error.to_string()))
}

/// Reads a batch in parallel.
pub(super) fn read_all(
    jobs: &[FileJob],
    source: &SourceId,
    digests: &FxHashMap<String, PageDigest>,
) -> Vec<Outcome> {
    jobs.par_iter().map(|job| read(job, source, digests.get(job.slug.as_str()))).collect()
}

fn read(job: &FileJob, source: &SourceId, known: Option<&PageDigest>) -> Outcome {
    match try_read(job, source, known) {
        Ok(Some(parsed)) => Outcome::Parsed(Box::new(parsed)),
        Ok(None) => Outcome::Unchanged,
        Err(reason) => Outcome::Failed(ImportFailure { path: job.path.clone(), reason }),
    }
}

fn try_read(
    job: &FileJob,
    source: &SourceId,
    known: Option<&PageDigest>,
) -> Result<Option<Parsed>, String> {
    if job.bytes > MAX_FILE_BYTES {
        return Err(format!(
            "{} MiB is more than the {} MiB a page may have",
            job.bytes >> 20,
            MAX_FILE_BYTES >> 20
        ));
    }
    let bytes = std::fs::read(&job.path).map_err(|error| error.to_string())?;
    if known.is_some_and(|digest| is_current(digest, Hash::of(&bytes))) {
        return Ok(None);
    }
    let content = String::from_utf8(bytes)
        .map_err(|error| format!("not valid UTF-8 at byte {}", error.utf8_error().valid_up_to()))?;
    let file_name = job.path.file_name().and_then(|name| name.to_str());
    let key = PageKey::new(source.clone(), job.slug.clone());
    let input = PageInput { key, file_name, content: &content, format: job.format };
    let page = parse(input).map_err(|error| error.to_string())?;
    let origin = job.path.to_string_lossy().into_owned();
    Ok(Some(Parsed { path: job.path.clone(), origin, page }))
}

fn is_current(digest: &PageDigest, hash: Hash) -> bool {
    !digest.deleted && digest.content_hash == hash && digest.derive_version == DERIVE_VERSION
}
