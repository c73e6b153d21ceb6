//! Reads, hashes and parses files on several threads, in the order of the files.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use gbrain_core::hash::Hash;
use gbrain_core::id::{PageKey, SourceId};
use gbrain_core::page::{DERIVE_VERSION, Page, PageFormat, PageInput, parse};
use gbrain_store::{PageDigest, PageWrite};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::BrainError;

use super::collect::{FileJob, NOT_A_FILE};
use super::{ImportFailure, StoredTexts};

/// Larger files are rejected before they are read.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// A file parsed into a page.
#[derive(Debug)]
pub(super) struct ParsedFile {
    pub(super) path: PathBuf,
    pub(super) origin: Option<String>,
    pub(super) page: Page,
    /// Whether the store knows its hash: if it is written anyway, the stored text was damaged.
    pub(super) is_known: bool,
}

#[derive(Debug)]
pub(super) enum FileOutcome {
    Unchanged,
    Parsed(Box<ParsedFile>),
    Failed(ImportFailure),
}

impl FileOutcome {
    /// The page to write, if there is one.
    pub(super) fn write(&self) -> Option<PageWrite<'_>> {
        let Self::Parsed(parse_file) = self else { return None };
        Some(PageWrite { page: &parse_file.page, origin: parse_file.origin.as_deref() })
    }
}

/// A dedicated thread pool, independent of rayon's global settings.
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
) -> Vec<FileOutcome> {
    let read = |job: &FileJob| read(job, source, digests.get(job.slug.as_str()), stored);
    jobs.par_iter().map(read).collect()
}

fn read(
    job: &FileJob,
    source: &SourceId,
    known: Option<&PageDigest>,
    stored: StoredTexts,
) -> FileOutcome {
    outcome(
        job,
        read_file(job).and_then(|bytes| {
            let known = known.filter(|digest| is_current(digest, Hash::of(&bytes)));
            match known {
                Some(_) if stored == StoredTexts::Trust || has_hash_of_text(job) => Ok(None),
                known => parse_file(job, source, bytes, known).map(Some),
            }
        }),
    )
}

/// Reads a file again whose hash the store knows but whose stored text is damaged.
pub(super) fn read_again(job: &FileJob, source: &SourceId, known: &PageDigest) -> FileOutcome {
    let parse_file = read_file(job).and_then(|bytes| {
        let known = Some(known).filter(|digest| is_current(digest, Hash::of(&bytes)));
        parse_file(job, source, bytes, known)
    });
    outcome(job, parse_file.map(Some))
}

fn outcome(job: &FileJob, read: Result<Option<ParsedFile>, String>) -> FileOutcome {
    match read {
        Ok(Some(parse_file)) => FileOutcome::Parsed(Box::new(parse_file)),
        Ok(None) => FileOutcome::Unchanged,
        Err(reason) => FileOutcome::Failed(ImportFailure { path: job.path.clone(), reason }),
    }
}

/// Whether the content hash of this format is the hash of the page text. For a chat it is the hash
/// of the file, from which the text is rendered: it must be rendered again to compare it with the
/// store.
fn has_hash_of_text(job: &FileJob) -> bool {
    match job.format {
        PageFormat::Markdown | PageFormat::Text => true,
        PageFormat::ChatJson | PageFormat::ChatJsonl => false,
    }
}

/// Parses a file. If the store knows it, its recorded origin stays.
fn parse_file(
    job: &FileJob,
    source: &SourceId,
    bytes: Vec<u8>,
    known: Option<&PageDigest>,
) -> Result<ParsedFile, String> {
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
    Ok(ParsedFile { path: job.path.clone(), origin, page, is_known: known.is_some() })
}

/// Reads a file without blocking if it has become a pipe, and stops at the size limit if it has
/// grown.
fn read_file(job: &FileJob) -> Result<Vec<u8>, String> {
    let too_large = |bytes: u64| {
        let (bytes, limit) = (bytes >> 20, MAX_FILE_BYTES >> 20);
        format!("the file has {bytes} MiB; the limit is {limit} MiB")
    };
    if job.bytes > MAX_FILE_BYTES {
        return Err(too_large(job.bytes));
    }
    let message = |error: std::io::Error| error.to_string();
    let file = open(&job.path).map_err(message)?;
    if !file.metadata().map_err(message)?.is_file() {
        return Err(NOT_A_FILE.to_owned());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(job.bytes).unwrap_or(0));
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(message)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(bytes)
}

#[cfg(unix)]
fn open(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let non_blocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    File::options().read(true).custom_flags(non_blocking).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path) -> std::io::Result<File> {
    File::open(path)
}

fn is_current(digest: &PageDigest, hash: Hash) -> bool {
    !digest.deleted && digest.content_hash == hash && digest.derive_version == DERIVE_VERSION
}
