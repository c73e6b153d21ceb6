//! Reading, hashing and parsing files on many threads; the results keep the order of the files.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use gbrain_core::hash::Hash;
use gbrain_core::id::{PageKey, SourceId};
use gbrain_core::page::{DERIVE_VERSION, Format, Page, PageInput, parse};
use gbrain_store::{PageDigest, PageWrite};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::BrainError;

use super::collect::{FileJob, NOT_A_FILE};
use super::{ImportFailure, StoredTexts};

/// Files above this are refused before they are read.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// A file that became a page.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) path: PathBuf,
    pub(super) origin: Option<String>,
    pub(super) page: Page,
    /// Whether the store knows its hash: if it is written all the same, the stored text was damaged.
    pub(super) is_known: bool,
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
        Some(PageWrite { page: &parsed.page, origin: parsed.origin.as_deref() })
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
    stored: StoredTexts,
) -> Vec<Outcome> {
    let read = |job: &FileJob| read(job, source, digests.get(job.slug.as_str()), stored);
    jobs.par_iter().map(read).collect()
}

fn read(
    job: &FileJob,
    source: &SourceId,
    known: Option<&PageDigest>,
    stored: StoredTexts,
) -> Outcome {
    outcome(
        job,
        read_file(job).and_then(|bytes| {
            let known = known.filter(|digest| is_current(digest, Hash::of(&bytes)));
            match known {
                Some(_) if stored == StoredTexts::Trust || has_hash_of_text(job) => Ok(None),
                known => parsed(job, source, bytes, known).map(Some),
            }
        }),
    )
}

/// A file whose hash the store knows and whose text it has not.
pub(super) fn read_again(job: &FileJob, source: &SourceId, known: &PageDigest) -> Outcome {
    let parsed = read_file(job).and_then(|bytes| {
        let known = Some(known).filter(|digest| is_current(digest, Hash::of(&bytes)));
        parsed(job, source, bytes, known)
    });
    outcome(job, parsed.map(Some))
}

fn outcome(job: &FileJob, read: Result<Option<Parsed>, String>) -> Outcome {
    match read {
        Ok(Some(parsed)) => Outcome::Parsed(Box::new(parsed)),
        Ok(None) => Outcome::Unchanged,
        Err(reason) => Outcome::Failed(ImportFailure { path: job.path.clone(), reason }),
    }
}

/// Whether the hash of a page of this format is that of its text. That of a chat is of its file, and its text is rendered
/// from it: only a chat that was rendered again can be compared with the store.
fn has_hash_of_text(job: &FileJob) -> bool {
    match job.format {
        Format::Markdown | Format::Text => true,
        Format::ChatJson | Format::ChatJsonl => false,
    }
}

/// A file as a page. One that the store knows keeps the file that it came from.
fn parsed(
    job: &FileJob,
    source: &SourceId,
    bytes: Vec<u8>,
    known: Option<&PageDigest>,
) -> Result<Parsed, String> {
    let content = String::from_utf8(bytes)
        .map_err(|error| format!("not valid UTF-8 at byte {}", error.utf8_error().valid_up_to()))?;
    let file_name = job.path.file_name().and_then(|name| name.to_str());
    let key = PageKey::new(source.clone(), job.slug.clone());
    let input = PageInput { key, file_name, content: &content, format: job.format };
    let page = parse(input).map_err(|error| error.to_string())?;
    let origin = match known {
        Some(digest) => digest.origin.clone(),
        None => Some(job.path.to_string_lossy().into_owned()),
    };
    Ok(Parsed { path: job.path.clone(), origin, page, is_known: known.is_some() })
}

/// The bytes of a file. What became a pipe since it was found is not waited for, and one that has grown past the limit
/// is not read to its end.
fn read_file(job: &FileJob) -> Result<Vec<u8>, String> {
    let too_large = |bytes: u64| {
        let (bytes, limit) = (bytes >> 20, MAX_FILE_BYTES >> 20);
        format!("{bytes} MiB is more than the {limit} MiB a page may have")
    };
    if job.bytes > MAX_FILE_BYTES {
        return Err(too_large(job.bytes));
    }
    let told = |error: std::io::Error| error.to_string();
    let file = open(&job.path).map_err(told)?;
    if !file.metadata().map_err(told)?.is_file() {
        return Err(NOT_A_FILE.to_owned());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(job.bytes).unwrap_or(0));
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(told)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(bytes)
}

#[cfg(unix)]
fn open(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let no_waiting = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    File::options().read(true).custom_flags(no_waiting).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path) -> std::io::Result<File> {
    File::open(path)
}

fn is_current(digest: &PageDigest, hash: Hash) -> bool {
    !digest.deleted && digest.content_hash == hash && digest.derive_version == DERIVE_VERSION
}
