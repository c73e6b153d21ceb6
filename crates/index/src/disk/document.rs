//! The documents of a page.

use gbrain_core::chunk::{self, Chunk, PagePart};
use gbrain_core::page::{StoredPage, Visibility};
use gbrain_core::text::name_key;
use jiff::civil::Date;
use tantivy::TantivyDocument;

use super::record::{write_entry, write_links, write_passage};
use super::schema::{SEPARATOR, SchemaFields};
use crate::bm25::TermForm;
use crate::entry::PageEntry;
use crate::statistics::ChunkTotals;
use crate::tokens::for_each_chunk_token;

/// A page as tantivy documents, with their contribution to the totals.
pub(super) struct PageDocuments {
    pub(super) documents: Vec<TantivyDocument>,
    pub(super) totals: ChunkTotals,
}

/// Ordinal and flags of a chunk, as stored in its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChunkCode(pub(super) u64);

impl ChunkCode {
    fn new(ordinal: u32, part: PagePart, visibility: Visibility) -> Self {
        let is_private = u64::from(visibility == Visibility::Private);
        Self(u64::from(ordinal) << 2 | is_private << 1 | u64::from(part == PagePart::Timeline))
    }

    pub(super) fn ordinal(self) -> u32 {
        (self.0 >> 2) as u32
    }

    pub(super) fn visibility(self) -> Visibility {
        if self.0 & 2 == 0 { Visibility::World } else { Visibility::Private }
    }

    pub(super) fn is_timeline(self) -> bool {
        self.0 & 1 == 1
    }
}

/// The key column's value. It orders by source, then slug, because sources contain no byte below a
/// hyphen.
pub(super) fn key_value(source: &str, slug: &str) -> String {
    format!("{source}\0{slug}")
}

pub(super) fn date_value(date: Date) -> i64 {
    i64::from(date.year()) * 10_000 + i64::from(date.month()) * 100 + i64::from(date.day())
}

/// The documents of a page, first chunk first.
pub(super) fn documents_of(fields: &SchemaFields, stored: &StoredPage) -> PageDocuments {
    let mut pages = PageWriter {
        fields,
        stored,
        stems: String::new(),
        exacts: String::new(),
        totals: ChunkTotals::default(),
    };
    let texts = chunk::texts(&stored.page.content, &stored.page.chunks);
    let chunks = stored.page.chunks.iter().zip(texts);
    let mut documents: Vec<_> = chunks.map(|(chunk, text)| pages.chunk(chunk, text)).collect();
    if documents.is_empty() {
        documents.push(pages.shared(0));
    }
    pages.page(&mut documents[0]);
    PageDocuments { documents, totals: pages.totals }
}

struct PageWriter<'a> {
    fields: &'a SchemaFields,
    stored: &'a StoredPage,
    stems: String,
    exacts: String,
    totals: ChunkTotals,
}

impl PageWriter<'_> {
    /// The fields that every document of the page has.
    fn shared(&self, tokens: u64) -> TantivyDocument {
        let (fields, page) = (self.fields, &self.stored.page);
        let mut document = TantivyDocument::default();
        document.add_i64(fields.page, self.stored.id.0);
        document.add_text(fields.key, key_value(page.key.source.as_str(), page.key.slug.as_str()));
        document.add_text(fields.page_type, &page.page_type);
        for tag in &page.tags {
            document.add_text(fields.tag, tag);
        }
        if let Some(date) = page.effective_date {
            document.add_i64(fields.date, date_value(date));
        }
        document.add_u64(fields.tokens, tokens);
        document
    }

    fn chunk(&mut self, chunk: &Chunk, text: &str) -> TantivyDocument {
        let tokens = self.analyse(chunk, text);
        self.totals.chunks += 1;
        self.totals.tokens += tokens;
        let (fields, visibility) = (self.fields, self.stored.page.visibility);
        let mut document = self.shared(tokens);
        document.add_u64(fields.chunk, ChunkCode::new(chunk.ordinal, chunk.part, visibility).0);
        document.add_text(fields.words(TermForm::Stem, visibility), &self.stems);
        document.add_text(fields.words(TermForm::Exact, visibility), &self.exacts);
        document.add_text(fields.body, text);
        document.add_bytes(fields.passage, &write_passage(chunk));
        document
    }

    fn analyse(&mut self, chunk: &Chunk, text: &str) -> u64 {
        let (stems, exacts) = (&mut self.stems, &mut self.exacts);
        stems.clear();
        exacts.clear();
        let mut tokens = 0;
        for_each_chunk_token(
            &self.stored.page.title,
            chunk.ordinal,
            &chunk.section,
            text,
            &mut |form, word| {
                let words = match form {
                    TermForm::Stem => &mut *stems,
                    TermForm::Exact => &mut *exacts,
                };
                tokens += u64::from(form == TermForm::Stem);
                words.push_str(word);
                words.push(SEPARATOR);
            },
        );
        tokens
    }

    /// Adds the page's own fields to its first document.
    fn page(&self, document: &mut TantivyDocument) {
        let (fields, page) = (self.fields, &self.stored.page);
        let entry = PageEntry::of(self.stored);
        for (_, name) in entry.names() {
            document.add_text(fields.name, name);
        }
        document.add_bytes(fields.entry, &write_entry(&entry));
        if page.links.is_empty() {
            return;
        }
        for target in distinct_targets(self.stored) {
            document.add_text(fields.targets(page.visibility), target);
        }
        document.add_bytes(fields.links, &write_links(&page.links));
    }
}

fn distinct_targets(stored: &StoredPage) -> Vec<String> {
    let mut targets: Vec<_> = stored.page.links.iter().map(|link| name_key(&link.target)).collect();
    targets.sort_unstable();
    targets.dedup();
    targets
}
