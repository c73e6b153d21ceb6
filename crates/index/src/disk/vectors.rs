//! The vector files of an index: finding them, computing missing ones, and removing unused ones.
//!
//! A commit makes segments visible shortly before their vectors exist. A reader that needs them
//! waits for the writer, and computes them itself if there is no writer: a process may have been
//! killed in between. Rows depend only on the passages, so it does not matter which process
//! computes them.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use gbrain_core::hash::Hash;
use gbrain_core::id::PageId;
use gbrain_embed::{Embedder, PassageText, Urgency};
use rustc_hash::FxHashMap;
use tantivy::index::SegmentId;
use tantivy::{DocId, IndexMeta, Searcher};

use super::DiskIndexState;
use super::directory::{private_file, unfinished_name};
use super::integrity::is_damage;
use super::lock::WriterLock;
use super::pending::WaitingRows;
use super::sidecar::{Sidecar, SidecarWriter};
use super::view::DiskView;
use crate::error::{IndexError, IndexResult};
use crate::vectors::{VectorRow, passage_text};

pub(super) const EXTENSION: &str = "vec";
const UNFINISHED: &str = "part";
/// How long a reader waits for vectors that a writer is about to write.
const MAKING_WAIT: Duration = Duration::from_secs(2);
const MAKING_PAUSE: Duration = Duration::from_millis(5);
/// An unfinished file of a killed process is removed after this time.
const ABANDONED_AFTER: Duration = Duration::from_secs(3600);

/// Number of documents embedded at once.
const BATCH: usize = 64;

/// The segment and the first document of each page.
type FirstDocuments = FxHashMap<PageId, (usize, DocId)>;

/// Sources of rows that make embedding unnecessary.
#[derive(Default)]
pub(super) struct VectorSources<'k> {
    /// Rows of pages that the commit added.
    pub(super) waiting: Option<&'k WaitingRows>,
    /// The index before a merge, with the first document of each merged page.
    pub(super) before: Option<(&'k DiskView, FirstDocuments)>,
    /// Receives the number of finished documents.
    pub(super) progress: Option<&'k dyn Fn(u64)>,
}

impl DiskIndexState {
    /// The vectors of a segment, if their file exists and is intact.
    pub(super) fn open_vectors(
        &self,
        model: &dyn Embedder,
        segment: &str,
        documents: usize,
    ) -> IndexResult<Option<Sidecar>> {
        let name = file_name(segment, model.id());
        let opened = self.files.open_file(Path::new(&name)).and_then(|file| {
            self.verified().check_file(&file)?;
            Sidecar::open(file, documents, model.dims())
        });
        match opened {
            Ok(sidecar) => Ok(sidecar),
            Err(error) if error.kind() == ErrorKind::NotFound || is_damage(&error) => Ok(None),
            Err(error) => Err(self.io(error)),
        }
    }

    /// Removes the vector files of segments that no longer exist and, if `only` is given, those of
    /// all other models. The caller holds the writers' lock.
    pub(super) fn remove_unused_vectors(&self, only: Option<&str>) -> IndexResult<()> {
        let metas = self.index.searchable_segment_metas().map_err(|e| self.error(e))?;
        let only = only.map(spelt);
        let is_used = |segment: &str, model: &str| {
            only.as_ref().is_none_or(|only| only == model)
                && metas.iter().any(|meta| meta.id().uuid_string() == segment)
        };
        for entry in fs::read_dir(&self.dir).map_err(|e| self.io(e))? {
            let path = entry.map_err(|e| self.io(e))?.path();
            let is_unused = match path.extension().and_then(OsStr::to_str) {
                Some(UNFINISHED) => is_abandoned(&path),
                Some(EXTENSION) => {
                    let stem = path.file_stem().and_then(OsStr::to_str).unwrap_or_default();
                    !stem.split_once('.').is_some_and(|(segment, model)| is_used(segment, model))
                }
                _ => false,
            };
            if is_unused {
                // A reader that still needs it has it open, or computes the vectors again for
                // itself.
                fs::remove_file(&path).map_err(|e| self.io(e))?;
            }
        }
        Ok(())
    }

    /// The vector files of a commit, of any model.
    pub(super) fn vector_files(&self, commit: &IndexMeta) -> IndexResult<Vec<PathBuf>> {
        let segments: Vec<String> =
            commit.segments.iter().map(|segment| segment.id().uuid_string()).collect();
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.dir).map_err(|e| self.io(e))? {
            let name = PathBuf::from(entry.map_err(|e| self.io(e))?.file_name());
            let segment = name.to_str().and_then(|name| name.split_once('.')).map(|(id, _)| id);
            let is_of_commit =
                segment.is_some_and(|segment| segments.iter().any(|of| of == segment));
            if is_of_commit && name.extension() == Some(OsStr::new(EXTENSION)) {
                names.push(name);
            }
        }
        Ok(names)
    }

    pub(super) fn io(&self, source: io::Error) -> IndexError {
        IndexError::Io { dir: self.dir.clone(), source }
    }
}

impl DiskView {
    /// The vectors of a segment by a model, computed if necessary.
    pub(super) fn vectors_of(&self, model: &dyn Embedder, segment: usize) -> IndexResult<Sidecar> {
        let (name, documents) = self.vector_file(segment);
        let started = Instant::now();
        loop {
            if let Some(sidecar) = self.shared.open_vectors(model, &name, documents)? {
                return Ok(sidecar);
            }
            let lock = WriterLock::acquire(&self.shared.dir, Duration::ZERO);
            match lock.and_then(|lock| self.heal(model, segment, &lock)) {
                Err(IndexError::Busy { .. }) if started.elapsed() < MAKING_WAIT => {
                    thread::sleep(MAKING_PAUSE);
                }
                Err(IndexError::Busy { .. }) => return self.embed_segment(model, segment),
                // The directory is read-only, or there is no space.
                Err(IndexError::Io { .. }) => return self.embed_segment(model, segment),
                healed => return healed,
            }
        }
    }

    /// Writes the vectors of a segment that no writer is about to write.
    fn heal(
        &self,
        model: &dyn Embedder,
        segment: usize,
        _lock: &WriterLock,
    ) -> IndexResult<Sidecar> {
        let (name, documents) = self.vector_file(segment);
        let metas = self.shared.index.searchable_segment_metas();
        let metas = metas.map_err(|e| self.error(e))?;
        if !metas.iter().any(|meta| meta.id().uuid_string() == name) {
            // Merged away meanwhile: only this view needs them.
            return self.embed_segment(model, segment);
        }
        self.write_vectors(model, segment, &VectorSources::default())?;
        let sidecar = self.shared.open_vectors(model, &name, documents)?;
        sidecar.map_or_else(|| self.embed_segment(model, segment), Ok)
    }

    /// Computes the vectors of a segment for this view only.
    fn embed_segment(&self, model: &dyn Embedder, segment: usize) -> IndexResult<Sidecar> {
        let documents = self.vector_file(segment).1;
        let file = self.write_rows(Vec::new(), model, segment, &VectorSources::default())?;
        Sidecar::in_memory(file, documents, model.dims())
            .ok_or_else(|| self.shared.io(io::ErrorKind::InvalidData.into()))
    }

    /// Writes the vector file of a segment unless it exists.
    pub(super) fn write_missing_vectors(
        &self,
        model: &dyn Embedder,
        segment: usize,
        known: &VectorSources<'_>,
    ) -> IndexResult<()> {
        let (name, documents) = self.vector_file(segment);
        match self.shared.open_vectors(model, &name, documents)? {
            Some(_) => Ok(()),
            None => self.write_vectors(model, segment, known),
        }
    }

    /// Invariant: the file gets its name only after all of it is on disk.
    fn write_vectors(
        &self,
        model: &dyn Embedder,
        segment: usize,
        known: &VectorSources<'_>,
    ) -> IndexResult<()> {
        let name = self.vector_file(segment).0;
        let io = |e| self.shared.io(e);
        let name = file_name(&name, model.id());
        let part = self.shared.dir.join(unfinished_name(&name));
        let write = || {
            let file = private_file().create_new(true).open(&part).map_err(io)?;
            let file = BufWriter::with_capacity(1 << 20, file);
            let file = self.write_rows(file, model, segment, known)?;
            file.get_ref().sync_all().map_err(io)?;
            fs::rename(&part, self.shared.dir.join(&name)).map_err(io)
        };
        write().inspect_err(|_| drop(fs::remove_file(&part)))
    }

    fn write_rows<W: Write>(
        &self,
        file: W,
        model: &dyn Embedder,
        segment: usize,
        known: &VectorSources<'_>,
    ) -> IndexResult<W> {
        let io = |e| self.shared.io(e);
        let documents = self.vector_file(segment).1;
        let mut writer = SidecarWriter::new(file, documents, model.centre()).map_err(io)?;
        let documents: Vec<DocId> = (0..documents as DocId).collect();
        for batch in documents.chunks(BATCH) {
            for row in self.rows(model, segment, batch, known)? {
                writer.push(&row).map_err(io)?;
            }
            if let Some(progress) = known.progress {
                progress(u64::from(batch[0]));
            }
        }
        writer.finish().map_err(io)
    }

    /// The rows of documents. Unknown ones are embedded in one batch.
    fn rows(
        &self,
        model: &dyn Embedder,
        segment: usize,
        documents: &[DocId],
        known: &VectorSources<'_>,
    ) -> IndexResult<Vec<VectorRow>> {
        let mut rows = Vec::with_capacity(documents.len());
        let (mut texts, mut places) = (Vec::new(), Vec::new());
        for doc in documents {
            let row = self.known_row(segment, *doc, known)?;
            if row.is_none()
                && let Some(text) = self.text_of(segment, *doc)?
            {
                texts.push(text);
                places.push(rows.len());
            }
            rows.push(row.unwrap_or_else(|| VectorRow::without_direction(model.dims())));
        }
        let passages: Vec<PassageText<'_>> = texts
            .iter()
            .map(|(text, page): &(String, String)| PassageText { text, page })
            .collect();
        for (place, vector) in
            places.into_iter().zip(model.embed_passages(&passages, Urgency::Work)?)
        {
            rows[place] = VectorRow::of(&vector);
        }
        Ok(rows)
    }

    /// The row of a document, if it is known.
    fn known_row(
        &self,
        segment: usize,
        doc: DocId,
        known: &VectorSources<'_>,
    ) -> IndexResult<Option<VectorRow>> {
        let columns = self.segments[segment].columns().map_err(|e| self.error(e))?;
        let Some(code) = columns.code(doc) else { return Ok(None) };
        let page = PageId(columns.page.first(doc).unwrap_or_default());
        if let Some(row) = known.waiting.and_then(|waiting| waiting.row(page, code.ordinal())) {
            return Ok(Some(row));
        }
        let Some((view, pages)) = &known.before else { return Ok(None) };
        let Some((segment, first)) = pages.get(&page) else { return Ok(None) };
        let Some(sidecar) = view.opened_vectors(*segment) else { return Ok(None) };
        let old = first + code.ordinal();
        let (Ok(row), Ok(codes)) = (sidecar.row(old), sidecar.codes()) else { return Ok(None) };
        let values = row.iter().map(|value| *value as i8).collect();
        Ok(Some(VectorRow { values, inverse_length: codes.inverse_length(old) }))
    }

    /// The text to embed for a document, and its page key; `None` for a deleted document or a page
    /// without chunks.
    fn text_of(&self, segment: usize, doc: DocId) -> IndexResult<Option<(String, String)>> {
        let reader = &self.segments[segment];
        let columns = reader.columns().map_err(|e| self.error(e))?;
        let code = columns.code(doc).filter(|_| reader.is_alive(doc));
        let Some(code) = code else { return Ok(None) };
        let entry = self.entry_at(segment, doc - code.ordinal())?;
        let passage = self.passage_at(segment, doc)?;
        let text = passage_text(&entry.title, &passage.section, &passage.text).into_owned();
        Ok(Some((text, entry.key.to_string())))
    }

    /// The first document of every live page of some segments.
    pub(super) fn first_documents(&self, among: &[SegmentId]) -> IndexResult<FirstDocuments> {
        let mut pages = FxHashMap::default();
        let segments = self.segments.iter().enumerate();
        for (segment, reader) in segments.filter(|(_, s)| among.contains(&s.reader.segment_id())) {
            let columns = reader.columns().map_err(|e| self.error(e))?;
            for doc in reader.reader.doc_ids_alive() {
                let page = PageId(columns.page.first(doc).unwrap_or_default());
                pages.entry(page).or_insert((segment, doc));
            }
        }
        Ok(pages)
    }

    fn vector_file(&self, segment: usize) -> (String, usize) {
        let reader = &self.segments[segment].reader;
        (reader.segment_id().uuid_string(), reader.max_doc() as usize)
    }
}

/// Opens the existing vector files of a commit, so that they stay readable.
pub(super) fn open_all(
    shared: &DiskIndexState,
    model: &Arc<dyn Embedder>,
    searcher: &Searcher,
) -> IndexResult<Vec<Option<Sidecar>>> {
    let open = |reader: &tantivy::SegmentReader| {
        let segment = reader.segment_id().uuid_string();
        shared.open_vectors(model.as_ref(), &segment, reader.max_doc() as usize)
    };
    searcher.segment_readers().iter().map(open).collect()
}

fn file_name(segment: &str, model: &str) -> String {
    format!("{segment}.{}.{EXTENSION}", spelt(model))
}

/// A model's id as part of a file name. Special characters, such as a slash, are replaced and a
/// hash is appended to keep the name unique.
fn spelt(model: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if model.chars().all(is_plain) {
        return model.to_owned();
    }
    let plain: String = model.chars().map(|c| if is_plain(c) { c } else { '-' }).take(60).collect();
    format!("{plain}-{}", Hash::of(model.as_bytes()).short())
}

/// Whether an unfinished file has not been written to for a long time.
fn is_abandoned(path: &Path) -> bool {
    let modified = fs::metadata(path).and_then(|meta| meta.modified()).ok();
    modified.and_then(|at| at.elapsed().ok()).is_some_and(|age| age > ABANDONED_AFTER)
}
