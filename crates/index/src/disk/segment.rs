//! Access to one segment: its documents by page, its columns, its posting lists.

use std::ops::{Bound, Range};
use std::sync::{Mutex, OnceLock, PoisonError};

use gbrain_core::id::PageId;
use gbrain_core::page::Visibility;
use rustc_hash::FxHashMap;
use tantivy::columnar::{Column, StrColumn};
use tantivy::directory::{CompositeFile, FileSlice, OwnedBytes};
use tantivy::index::SegmentComponent;
use tantivy::postings::{BlockSegmentPostings, TermInfo};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, HasLen as _, SegmentReader, TantivyError, Term};

use super::document::ChunkCode;
use super::schema::{SchemaFields, column};
use crate::bm25::TermForm;
use crate::contract::IndexCounts;
use crate::statistics::{ChunkTotals, CorpusTotals};

type TantivyResult<T> = tantivy::Result<T>;

/// Maximum number of cached live lengths per segment.
const MAX_CACHED_LENGTHS: usize = 1 << 16;
/// Seeking a document in a list costs as much as reading this many in order.
const SEEK_COST: usize = 16;

/// A segment and the data read from it so far.
pub(super) struct IndexSegment {
    pub(super) reader: SegmentReader,
    fields: SchemaFields,
    columns: OnceLock<SegmentColumns>,
    deleted: OnceLock<Vec<DocId>>,
    /// Live lengths of lists that contain deleted documents, by field and position.
    live: Mutex<FxHashMap<(Field, usize), u64>>,
    world: OnceLock<PostingLists>,
    private: OnceLock<PostingLists>,
}

/// The columns that every search reads.
pub(super) struct SegmentColumns {
    pub(super) page: Column<i64>,
    pub(super) key: StrColumn,
    pub(super) chunk: Column<u64>,
    pub(super) tokens: Column<u64>,
}

/// The words of one visibility: raw posting lists on disk, and the length codes of all documents.
pub(super) struct PostingLists {
    stems: Option<FileSlice>,
    exacts: Option<FileSlice>,
    pub(super) lengths: OwnedBytes,
    /// The average length that tantivy used when it wrote the bounds of blocks.
    pub(super) written_average: f64,
}

impl IndexSegment {
    pub(super) fn new(reader: SegmentReader, fields: SchemaFields) -> Self {
        let (columns, deleted, live) = (OnceLock::new(), OnceLock::new(), Mutex::default());
        let (world, private) = (OnceLock::new(), OnceLock::new());
        Self { reader, fields, columns, deleted, live, world, private }
    }

    pub(super) fn is_alive(&self, doc: DocId) -> bool {
        self.reader.alive_bitset().is_none_or(|alive| alive.is_alive(doc))
    }

    pub(super) fn columns(&self) -> TantivyResult<&SegmentColumns> {
        filled(&self.columns, || SegmentColumns::open(&self.reader))
    }

    /// The key with the given ordinal in the segment.
    pub(super) fn key(&self, ord: u64) -> TantivyResult<String> {
        let mut key = String::new();
        self.columns()?.key.ord_to_str(ord, &mut key)?;
        Ok(key)
    }

    /// The number of the segment's keys that sort before `key`, which is not one of them.
    pub(super) fn keys_before(&self, key: &str) -> TantivyResult<u64> {
        let dictionary = self.columns()?.key.dictionary();
        let bounds = dictionary.term_bounds_to_ord(Bound::Included(key), Bound::Unbounded)?;
        match bounds.0 {
            Bound::Included(ord) | Bound::Excluded(ord) => Ok(ord),
            Bound::Unbounded => Ok(0),
        }
    }

    /// The deleted documents, in order.
    pub(super) fn deleted(&self) -> &[DocId] {
        self.deleted.get_or_init(|| match self.reader.alive_bitset() {
            Some(alive) => {
                (0..self.reader.max_doc()).filter(|doc| alive.is_deleted(*doc)).collect()
            }
            None => Vec::new(),
        })
    }

    pub(super) fn words(&self, visibility: Visibility) -> TantivyResult<&PostingLists> {
        let cell = match visibility {
            Visibility::World => &self.world,
            Visibility::Private => &self.private,
        };
        filled(cell, || PostingLists::open(&self.reader, &self.fields, visibility))
    }

    /// Looks up a word's posting list.
    pub(super) fn find_word(
        &self,
        form: TermForm,
        visibility: Visibility,
        text: &str,
    ) -> TantivyResult<Option<TermInfo>> {
        let field = self.fields.words(form, visibility);
        self.find(field, text.as_bytes())
    }

    pub(super) fn find(&self, field: Field, value: &[u8]) -> TantivyResult<Option<TermInfo>> {
        Ok(self.reader.inverted_index(field)?.terms().get(value)?)
    }

    pub(super) fn open_word(
        &self,
        form: TermForm,
        visibility: Visibility,
        info: &TermInfo,
    ) -> TantivyResult<BlockSegmentPostings> {
        let words = self.reader.inverted_index(self.fields.words(form, visibility))?;
        Ok(words.read_block_postings_from_terminfo(info, IndexRecordOption::WithFreqs)?)
    }

    /// The number of live documents in a list.
    pub(super) fn live_length(&self, field: Field, info: &TermInfo) -> TantivyResult<u64> {
        if !self.reader.has_deletes() {
            return Ok(u64::from(info.doc_freq));
        }
        let place = (field, info.postings_range.start);
        let lock = || self.live.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(length) = lock().get(&place) {
            return Ok(*length);
        }
        let length = self.count_live(field, info)?;
        let mut live = lock();
        if live.len() == MAX_CACHED_LENGTHS {
            live.clear();
        }
        live.insert(place, length);
        Ok(length)
    }

    /// Counts through the shorter of the two: the list, or the deleted documents.
    fn count_live(&self, field: Field, info: &TermInfo) -> TantivyResult<u64> {
        let deleted = self.deleted();
        let mut postings = self.open(field, info)?;
        let deleted_count = match deleted.len() * SEEK_COST < info.doc_freq as usize {
            true => count_members(&mut postings, deleted),
            false => self.count_deleted(&mut postings),
        };
        Ok(u64::from(info.doc_freq) - deleted_count)
    }

    fn open(&self, field: Field, info: &TermInfo) -> TantivyResult<BlockSegmentPostings> {
        let lists = self.reader.inverted_index(field)?;
        Ok(lists.read_block_postings_from_terminfo(info, IndexRecordOption::Basic)?)
    }

    fn count_deleted(&self, postings: &mut BlockSegmentPostings) -> u64 {
        let mut deleted_count = 0;
        while !postings.docs().is_empty() {
            deleted_count +=
                postings.docs().iter().filter(|doc| !self.is_alive(**doc)).count() as u64;
            postings.advance();
        }
        deleted_count
    }

    /// The live documents of a list.
    pub(super) fn live_documents(&self, field: Field, value: &[u8]) -> TantivyResult<Vec<DocId>> {
        let Some(info) = self.find(field, value)? else { return Ok(Vec::new()) };
        let mut postings = self.open(field, &info)?;
        let mut live = Vec::new();
        while !postings.docs().is_empty() {
            live.extend(postings.docs().iter().filter(|doc| self.is_alive(**doc)));
            postings.advance();
        }
        Ok(live)
    }

    /// The adjacent documents of a page, if the segment contains it.
    pub(super) fn documents_of(&self, page: PageId) -> TantivyResult<Option<Range<DocId>>> {
        let term = Term::from_field_i64(self.fields.page, page.0);
        let live = self.live_documents(self.fields.page, term.serialized_value_bytes())?;
        let range = live.first().map(|first| *first..first + live.len() as DocId);
        debug_assert!(
            live.is_empty() || live.last().map(|last| last + 1) == range.as_ref().map(|r| r.end)
        );
        Ok(range)
    }

    /// Adds up the live documents.
    pub(super) fn count(
        &self,
        counts: &mut IndexCounts,
        statistics: &mut CorpusTotals,
    ) -> TantivyResult<()> {
        let columns = self.columns()?;
        let mut last_key = None;
        for doc in self.reader.doc_ids_alive() {
            // Documents of a page are adjacent.
            let key = Some(columns.key_ord(doc));
            counts.pages += u64::from(key != last_key);
            last_key = key;
            let Some(code) = columns.code(doc) else { continue };
            let tokens = columns.tokens.first(doc).unwrap_or_default();
            counts.chunks += 1;
            counts.tokens += tokens;
            statistics.of_mut(code.visibility()).add(ChunkTotals { chunks: 1, tokens });
        }
        Ok(())
    }

    /// The contribution of a range of documents to the totals of its visibility.
    pub(super) fn totals_of(
        &self,
        documents: Range<DocId>,
    ) -> TantivyResult<(Visibility, ChunkTotals)> {
        let columns = self.columns()?;
        // A page without chunks contributes nothing.
        let Some(code) = columns.code(documents.start) else {
            return Ok((Visibility::World, ChunkTotals::default()));
        };
        let chunks = u64::from(documents.end - documents.start);
        let tokens = documents.filter_map(|doc| columns.tokens.first(doc)).sum();
        Ok((code.visibility(), ChunkTotals { chunks, tokens }))
    }
}

impl SegmentColumns {
    fn open(reader: &SegmentReader) -> TantivyResult<Self> {
        let fast = reader.fast_fields();
        let missing = || TantivyError::SchemaError("the segment has no keys".to_owned());
        Ok(Self {
            page: fast.i64(column::PAGE)?,
            key: fast.str(column::KEY)?.ok_or_else(missing)?,
            chunk: fast
                .column_opt(column::CHUNK)?
                .unwrap_or_else(|| Column::build_empty_column(reader.max_doc())),
            tokens: fast.u64(column::TOKENS)?,
        })
    }

    /// Ordinal and flags of a chunk; none for a page without chunks.
    pub(super) fn code(&self, doc: DocId) -> Option<ChunkCode> {
        self.chunk.first(doc).map(ChunkCode)
    }

    /// The ordinal of the page's key in the segment.
    pub(super) fn key_ord(&self, doc: DocId) -> u64 {
        self.key.ords().first(doc).unwrap_or(u64::MAX)
    }
}

impl PostingLists {
    fn open(
        reader: &SegmentReader,
        fields: &SchemaFields,
        visibility: Visibility,
    ) -> TantivyResult<Self> {
        let (stems, exacts) =
            (fields.words(TermForm::Stem, visibility), fields.words(TermForm::Exact, visibility));
        let tokens = reader.inverted_index(stems)?.total_num_tokens();
        let postings = CompositeFile::open(&reader.open_read(SegmentComponent::Postings)?)?;
        let lengths = reader.fieldnorms_readers().get_inner_file();
        let read = |slice: Option<FileSlice>| {
            slice.map_or(Ok(OwnedBytes::empty()), |slice| slice.read_bytes())
        };
        Ok(Self {
            stems: postings.open_read(stems),
            exacts: postings.open_read(exacts),
            lengths: read(lengths.open_read(stems))?,
            // The same computation as tantivy's: all documents count, and so do all tokens.
            written_average: f64::from(tokens as f32 / reader.max_doc() as f32),
        })
    }

    /// The first bytes of a list, at most `length`. The total number of tokens precedes the first
    /// list.
    pub(super) fn start_of_list(
        &self,
        form: TermForm,
        info: &TermInfo,
        length: usize,
    ) -> TantivyResult<OwnedBytes> {
        let lists = match form {
            TermForm::Stem => &self.stems,
            TermForm::Exact => &self.exacts,
        };
        let Some(lists) = lists else { return Ok(OwnedBytes::empty()) };
        let start = (8 + info.postings_range.start).min(lists.len());
        let end = (8 + info.postings_range.end).min(lists.len()).min(start + length).max(start);
        Ok(lists.read_bytes_slice(start..end)?)
    }
}

/// The number of `members`, which are in order, that a list contains.
fn count_members(postings: &mut BlockSegmentPostings, members: &[DocId]) -> u64 {
    let mut is_member = |doc: &DocId| {
        let at = postings.seek(*doc);
        postings.docs().get(at) == Some(doc)
    };
    members.iter().filter(|doc| is_member(doc)).count() as u64
}

/// The value of a cell, initialised by `read` on first use.
fn filled<T>(cell: &OnceLock<T>, read: impl FnOnce() -> TantivyResult<T>) -> TantivyResult<&T> {
    if let Some(value) = cell.get() {
        return Ok(value);
    }
    let value = read()?;
    Ok(cell.get_or_init(|| value))
}
