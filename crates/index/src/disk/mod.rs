//! The index on disk: tantivy's files, locks and commits, with our own statistics, scoring and
//! search.
//!
//! A commit is atomic and durable: it replaces `meta.json` by renaming. Readers in any process open
//! the last commit and keep its files open. Writers queue on `writer.lock`.

mod answer;
mod blocks;
mod directory;
mod document;
mod file;
mod filter;
mod integrity;
mod list;
mod lock;
mod nearest;
mod payload;
mod pending;
mod prepared;
mod record;
mod schema;
mod search;
mod segment;
mod settle;
mod sidecar;
mod top;
mod vectors;
mod view;
mod window;
mod writer;

use std::cell::Cell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gbrain_core::hash::Hash;
use tantivy::directory::error::{LockError, OpenReadError, OpenWriteError};
use tantivy::index::IndexSettings;
use tantivy::{IndexMeta, IndexReader, ReloadPolicy, TantivyError};

use crate::contract::{Index, View, Writer};
use crate::error::{IndexError, IndexResult};
use crate::models::Models;
use directory::IndexDirectory;
use file::{FileStamp, IndexFile};
use integrity::{CommitFiles, VerifiedFiles, cannot_read_meta, meta_hash};
use lock::WriterLock;
use payload::Payload;
pub use schema::{SEPARATOR, SplitStream};
use schema::{SchemaFields, schema, tokenizers};
use vectors::VectorSources;
use view::DiskView;
use writer::DiskWriter;

const META: &str = "meta.json";
/// The message for an index that panics while it is opened.
const CONTRADICTION: &str = "it contradicts its segments";
/// Small blocks, because a search reads single passages from all over the store.
const STORE_BLOCK_BYTES: usize = 8192;
/// Blocks of the store that a segment caches unpacked: eight megabytes.
const CACHED_BLOCKS: usize = 1024;
/// How often a reader retries to open one consistent commit while writers commit.
const READ_ATTEMPTS: usize = 100;

pub struct DiskIndex {
    shared: Arc<DiskIndexState>,
    latest: Mutex<Option<(FileStamp, Arc<DiskView>)>>,
}

/// State shared by the views and writers of an index.
struct DiskIndexState {
    dir: PathBuf,
    store: String,
    index: tantivy::Index,
    fields: SchemaFields,
    reader: IndexReader,
    models: Models,
    /// The directory, for files that tantivy does not manage.
    files: IndexDirectory,
    /// The files whose checksums were verified.
    verified: Mutex<VerifiedFiles>,
}

/// The metadata of `meta.json`, which changes with every commit.
fn meta_stamp(dir: &Path) -> IndexResult<FileStamp> {
    let meta = fs::metadata(dir.join(META)).map_err(|error| cannot_read_meta(dir, error))?;
    Ok(FileStamp::of(&meta))
}

impl DiskIndex {
    /// Opens the index of the store called `store` in `dir`, or creates an empty one. An index of
    /// another version or store fails with [`IndexError::Stale`].
    pub fn open(dir: &Path, store: &str, models: Models, wait: Duration) -> IndexResult<Self> {
        if !dir.join(META).exists() {
            let lock = WriterLock::acquire(dir, wait)?;
            // Another process may have created it while this one waited.
            if !dir.join(META).exists() {
                return Self::make(dir, store, models, &lock);
            }
        }
        Self::open_existing(dir, store, models)
    }

    /// Creates an empty index in place of one that does not match or cannot be read. If another
    /// process has done so while this one waited, opens that one.
    pub fn replace(dir: &Path, store: &str, models: Models, wait: Duration) -> IndexResult<Self> {
        let lock = WriterLock::acquire(dir, wait)?;
        if let Ok(index) = Self::open_existing(dir, store, models.clone()) {
            return Ok(index);
        }
        lock.empty_directory()?;
        Self::make(dir, store, models, &lock)
    }

    fn open_existing(dir: &Path, store: &str, models: Models) -> IndexResult<Self> {
        without_panic(dir, CONTRADICTION, || {
            let directory = IndexDirectory::new(dir);
            let index = tantivy::Index::open(directory.clone()).map_err(|e| corrupt(dir, e))?;
            if index.schema() != schema().0 {
                return Err(integrity::damaged(dir, META, "its schema is not ours"));
            }
            Self::of(dir, store, models, directory, index)
        })
    }

    fn make(dir: &Path, store: &str, models: Models, _lock: &WriterLock) -> IndexResult<Self> {
        let directory = IndexDirectory::new(dir);
        let settings =
            IndexSettings { docstore_blocksize: STORE_BLOCK_BYTES, ..IndexSettings::default() };
        let index = tantivy::Index::create(directory.clone(), schema().0, settings)
            .map_err(|e| write_failed(dir, &directory, e))?;
        let model = models.wanted().map(|model| model.id().to_owned());
        writer::commit_nothing(&index, store, model)
            .map_err(|e| write_failed(dir, &directory, e))?;
        Self::of(dir, store, models, directory, index)
    }

    fn of(
        dir: &Path,
        store: &str,
        models: Models,
        files: IndexDirectory,
        mut index: tantivy::Index,
    ) -> IndexResult<Self> {
        index.set_tokenizers(tokenizers());
        let stamp = meta_stamp(dir)?;
        let mut verified = VerifiedFiles::load(dir);
        // Held until the reader has opened them, so that it reads the verified files.
        let compared = check_files(dir, &files, &index, &mut verified)?;
        let builder = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .doc_store_cache_num_blocks(CACHED_BLOCKS);
        let reader = builder.try_into().map_err(|e| corrupt(dir, e))?;
        let fields = schema().1;
        let (dir, store) = (dir.to_owned(), store.to_owned());
        let verified = Mutex::new(verified);
        let shared =
            Arc::new(DiskIndexState { dir, store, index, fields, reader, models, files, verified });
        let latest = shared.read_if_whole()?.map(|view| (stamp, Arc::new(view)));
        drop(compared);
        shared.verified().save(&shared.dir);
        Ok(Self { shared, latest: Mutex::new(latest) })
    }
}

impl Index for DiskIndex {
    fn view(&self) -> IndexResult<Arc<dyn View>> {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = meta_stamp(&self.shared.dir)?;
        if let Some((seen, view)) = latest.as_ref()
            && *seen == stamp
        {
            if view.was_damaged() {
                let what = "the commit has a file that is not as it was written";
                return Err(integrity::damaged(&self.shared.dir, META, what));
            }
            return Ok(view.clone());
        }
        let view = Arc::new(without_panic(&self.shared.dir, CONTRADICTION, || self.shared.read())?);
        *latest = Some((stamp, view.clone()));
        Ok(view)
    }

    fn writer(&self, wait: Duration) -> IndexResult<Box<dyn Writer>> {
        let lock = WriterLock::acquire(&self.shared.dir, wait)?;
        let payload = self.shared.payload()?;
        self.shared.remove_uncommitted_deletions()?;
        Ok(Box::new(DiskWriter::new(self.shared.clone(), payload, lock)))
    }

    fn check_files(&self) -> IndexResult<Vec<String>> {
        let commit = self.shared.index.load_metas().map_err(|e| self.shared.error(e))?;
        let mut names: Vec<PathBuf> = commit.list_segment_files().into_iter().collect();
        names.extend(self.shared.vector_files(&commit)?);
        names.sort();
        let mut damaged = Vec::new();
        for name in names {
            let compared = self.shared.files.reopen_file(&name).and_then(|file| file.compare());
            match compared {
                Ok(()) => {}
                // A commit lists files that a segment may lack; a missing required file is detected
                // when the segment is opened.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) if integrity::is_damage(&error) => damaged.push(error.to_string()),
                Err(error) => return Err(self.shared.io(error)),
            }
        }
        if !damaged.is_empty() {
            self.shared.verified().forget();
            self.shared.verified().save(&self.shared.dir);
        }
        Ok(damaged)
    }

    fn wanted_vectors(&self) -> IndexResult<(u64, u64)> {
        let view = self.shared.read()?;
        let (mut made, mut total) = (0, 0);
        for segment in &view.segments {
            let documents = segment.reader.max_doc();
            total += u64::from(documents);
            if let Some(model) = self.shared.models.wanted() {
                let name = segment.reader.segment_id().uuid_string();
                let there =
                    self.shared.open_vectors(model.as_ref(), &name, documents as usize)?.is_some();
                made += if there { u64::from(documents) } else { 0 };
            }
        }
        Ok((made, total))
    }

    fn make_wanted_vectors(&self, progress: &dyn Fn(u64, u64)) -> IndexResult<()> {
        let Some(model) = self.shared.models.wanted() else { return Ok(()) };
        let view = self.shared.read()?;
        let sizes = view.segments.iter().map(|segment| u64::from(segment.reader.max_doc()));
        let (mut done, total) = (0, sizes.sum());
        for segment in 0..view.segments.len() {
            progress(done, total);
            let report = |docs| progress(done + docs, total);
            let known = VectorSources { progress: Some(&report), ..VectorSources::default() };
            view.write_missing_vectors(model.as_ref(), segment, &known)?;
            done += u64::from(view.segments[segment].reader.max_doc());
        }
        progress(done, total);
        Ok(())
    }
}

impl DiskIndexState {
    fn payload(&self) -> IndexResult<Payload> {
        let meta = self.index.load_metas().map_err(|e| self.error(e))?;
        read_payload(&self.dir, meta.payload.as_deref(), &self.store)
    }

    /// Removes the deletion files that a killed process wrote for a commit it did not make: the
    /// next commit gets the same number, and tantivy refuses to overwrite a file. They were never
    /// committed, so no reader uses them. The caller holds the writers' lock.
    fn remove_uncommitted_deletions(&self) -> IndexResult<()> {
        let io = |source| IndexError::Io { dir: self.dir.clone(), source };
        let committed = self.index.load_metas().map_err(|e| self.error(e))?.opstamp;
        for entry in fs::read_dir(&self.dir).map_err(io)? {
            let entry = entry.map_err(io)?;
            let opstamp = entry.file_name().to_str().and_then(deletion_opstamp);
            if opstamp.is_some_and(|opstamp| opstamp > committed) {
                fs::remove_file(entry.path()).map_err(io)?;
            }
        }
        Ok(())
    }

    fn verified(&self) -> MutexGuard<'_, VerifiedFiles> {
        self.verified.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers the commit that this process has just written. The caller holds the writers' lock.
    fn remember_commit(&self) -> IndexResult<()> {
        let meta = meta_hash(&self.dir)?;
        let mut verified = self.verified();
        verified.remember_meta(meta);
        verified.save(&self.dir);
        Ok(())
    }

    /// Whether this process or another one wrote or verified a commit.
    fn knows_commit(&self, meta: Hash) -> bool {
        let mut verified = self.verified();
        if !verified.knows_meta(meta) {
            verified.learn(VerifiedFiles::load(&self.dir));
        }
        verified.knows_meta(meta)
    }

    /// Opens a view of the last commit.
    fn read(self: &Arc<Self>) -> IndexResult<DiskView> {
        for _ in 0..READ_ATTEMPTS {
            let _compared = check_files(&self.dir, &self.files, &self.index, &mut self.verified())?;
            self.reader.reload().map_err(|e| self.error(e))?;
            if let Some(view) = self.read_if_whole()? {
                return Ok(view);
            }
        }
        Err(IndexError::Busy { waited: Duration::ZERO })
    }

    /// A view of the segments that the reader has open, if they form one commit. `meta.json` is
    /// read twice, for the segments and for the payload: the two belong together if they name the
    /// same segments.
    fn read_if_whole(self: &Arc<Self>) -> IndexResult<Option<DiskView>> {
        let searcher = self.reader.searcher();
        let hash = meta_hash(&self.dir)?;
        let meta = self.index.load_metas().map_err(|e| self.error(e))?;
        let open = searcher.generation().segments();
        let is_whole = meta.segments.len() == open.len()
            && meta.segments.iter().all(|s| open.get(&s.id()) == Some(&s.delete_opstamp()));
        if !is_whole {
            return Ok(None);
        }
        let payload = read_payload(&self.dir, meta.payload.as_deref(), &self.store)?;
        let view = DiskView::new(self.clone(), payload, searcher)?;
        if !self.knows_commit(hash) {
            if meta_hash(&self.dir)? != hash {
                return Ok(None);
            }
            view.compare_with_commit()?;
            self.verified().remember_meta(hash);
        }
        Ok(Some(view))
    }

    fn error(&self, error: TantivyError) -> IndexError {
        corrupt(&self.dir, error)
    }

    fn write_failed(&self, error: TantivyError) -> IndexError {
        write_failed(&self.dir, &self.files, error)
    }
}

/// Verifies the files of the last commit. Retries if the commit was replaced meanwhile and its
/// files are gone.
fn check_files(
    dir: &Path,
    files: &IndexDirectory,
    index: &tantivy::Index,
    verified: &mut VerifiedFiles,
) -> IndexResult<Vec<Arc<IndexFile>>> {
    for _ in 0..READ_ATTEMPTS {
        let commit = index.load_metas().map_err(|e| corrupt(dir, e))?;
        if let CommitFiles::All(open) = verified.check(dir, files, &commit)? {
            return Ok(open);
        }
        let now = index.load_metas().map_err(|e| corrupt(dir, e))?;
        let names = |meta: &IndexMeta| {
            let segments = meta.segments.iter().map(|s| (s.id(), s.delete_opstamp()));
            segments.collect::<Vec<_>>()
        };
        if now.opstamp == commit.opstamp && names(&now) == names(&commit) {
            return Err(integrity::damaged(dir, META, "it names a file that is not there"));
        }
    }
    Err(IndexError::Busy { waited: Duration::ZERO })
}

thread_local! {
    static READING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is reading files that may be damaged. A panic is then caught and returned as
/// an error, so panic hooks should not report it.
pub fn is_reading_files() -> bool {
    READING.get()
}

/// Runs code that reads index files. tantivy panics on some damage that checksums do not cover,
/// such as a `meta.json` that contradicts its segments; such a panic becomes an error.
fn without_panic<T>(
    dir: &Path,
    what: &str,
    read: impl FnOnce() -> IndexResult<T>,
) -> IndexResult<T> {
    let outer = READING.replace(true);
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(read));
    READING.set(outer);
    caught.unwrap_or_else(|_| Err(integrity::damaged(dir, META, what)))
}

/// Parses the opstamp of a deletion file: `SEGMENT.OPSTAMP.del`.
fn deletion_opstamp(name: &str) -> Option<u64> {
    name.strip_suffix(".del")?.rsplit_once('.')?.1.parse().ok()
}

fn read_payload(dir: &Path, payload: Option<&str>, store: &str) -> IndexResult<Payload> {
    Payload::read(payload, store).map_err(|mismatch| IndexError::Stale {
        dir: dir.to_owned(),
        what: mismatch.what,
        found: mismatch.found,
        expected: mismatch.expected,
    })
}

/// Converts a failed write: prefers the file system's own error over tantivy's.
fn write_failed(dir: &Path, files: &IndexDirectory, error: TantivyError) -> IndexError {
    match files.take_refusal() {
        Some(source) => IndexError::Io { dir: dir.to_owned(), source },
        None => corrupt(dir, error),
    }
}

/// Converts an error of tantivy, distinguishing I/O errors and busy locks from damage. A missing
/// file or directory is damage.
fn corrupt(dir: &Path, error: TantivyError) -> IndexError {
    let refusal = match &error {
        TantivyError::LockFailure(LockError::LockBusy, _) => {
            return IndexError::Busy { waited: Duration::ZERO };
        }
        TantivyError::IoError(io) | TantivyError::LockFailure(LockError::IoError(io), _) => {
            Some(io)
        }
        TantivyError::OpenReadError(OpenReadError::IoError { io_error, .. })
        | TantivyError::OpenWriteError(OpenWriteError::IoError { io_error, .. }) => Some(io_error),
        _ => None,
    };
    let is_damage =
        |io: &io::Error| io.kind() == io::ErrorKind::NotFound || integrity::is_damage(io);
    match refusal.filter(|io| !is_damage(io)) {
        Some(io) => {
            let source = io::Error::new(io.kind(), io.to_string());
            IndexError::Io { dir: dir.to_owned(), source }
        }
        None => IndexError::Corrupt { dir: dir.to_owned(), source: Box::new(error) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(error: TantivyError, expected: &str) {
        let error = corrupt(Path::new("index"), error);
        let kind = match &error {
            IndexError::Busy { .. } => "busy",
            IndexError::Corrupt { .. } => "damage",
            IndexError::Io { .. } => "refusal",
            _ => "another",
        };
        assert_eq!(kind, expected, "{error:?}");
    }

    #[test]
    fn a_file_system_that_refuses_is_no_damage() {
        let io = |kind: io::ErrorKind| Arc::new(io::Error::from(kind));
        let write = |kind| OpenWriteError::IoError { io_error: io(kind), filepath: "a".into() };
        for kind in [io::ErrorKind::StorageFull, io::ErrorKind::PermissionDenied] {
            check(TantivyError::IoError(io(kind)), "refusal");
            check(TantivyError::OpenWriteError(write(kind)), "refusal");
            check(TantivyError::LockFailure(LockError::IoError(io(kind)), None), "refusal");
        }
        check(TantivyError::LockFailure(LockError::LockBusy, None), "busy");
        check(TantivyError::OpenWriteError(write(io::ErrorKind::NotFound)), "damage");
        check(TantivyError::IoError(io(io::ErrorKind::UnexpectedEof)), "damage");
    }
}
