//! Pages to index, made by hand.

use std::sync::Arc;
use std::time::Duration;

use gbrain_core::chunk::{Chunk, PagePart};
use gbrain_core::hash::Hash;
use gbrain_core::id::{Generation, PageId, PageKey, Slug, SourceId};
use gbrain_core::link::{DetectedBy, Direction, Link, LinkType};
use gbrain_core::page::{Page, PageKind, StoredPage, Visibility};
use gbrain_core::text::QueryTerms;
use gbrain_embed::StaticTable;
use gbrain_index::{Corpus, Index, Models, WordsQuery, Writer};

/// Long enough for any other writer in a test.
pub(crate) const WAIT: Duration = Duration::from_secs(60);

pub(crate) fn models() -> Models {
    Models::new(Arc::new(StaticTable::built_in()))
}

/// A page of `source` called `slug` with one chunk per text.
pub(crate) fn page(id: i64, source: &str, slug: &str, texts: &[&str]) -> StoredPage {
    let (mut content, mut chunks, mut start) = (String::new(), Vec::new(), 0);
    for (ordinal, text) in texts.iter().enumerate() {
        let end = start + text.chars().count() as u32;
        chunks.push(Chunk {
            ordinal: ordinal as u32,
            part: PagePart::Truth,
            section: String::new(),
            start,
            end,
            hash: Hash::of(text.as_bytes()),
        });
        content.push_str(text);
        content.push('\n');
        start = end + 1;
    }
    let key = PageKey::new(SourceId::new(source).unwrap(), Slug::new(slug).unwrap());
    StoredPage {
        id: PageId(id),
        version: 1,
        generation: Generation(id),
        page: Page {
            key,
            kind: PageKind::Markdown,
            title: String::new(),
            page_type: "note".to_owned(),
            tags: Vec::new(),
            aliases: Vec::new(),
            effective_date: None,
            date_origin: None,
            visibility: Visibility::World,
            content_hash: Hash::of(content.as_bytes()),
            content,
            chunks,
            links: Vec::new(),
            takes: Vec::new(),
            warnings: Vec::new(),
        },
    }
}

pub(crate) fn with(mut stored: StoredPage, change: impl FnOnce(&mut Page)) -> StoredPage {
    change(&mut stored.page);
    stored
}

pub(crate) fn link(target: &str) -> Link {
    Link {
        link_type: LinkType::DependsOn,
        direction: Direction::Out,
        target: target.to_owned(),
        confidence: 0.9,
        detected_by: DetectedBy::TypedLine,
        since: Some(jiff::civil::date(2024, 2, 29)),
        until: None,
        evidence_chunk: Some(0),
        evidence_start: 3,
        evidence_end: 9,
    }
}

/// A query with the default parameters.
pub(crate) fn query(text: &str) -> WordsQuery {
    WordsQuery { terms: QueryTerms::of(text), k1: 1.2, b: 0.75, exact_weight: 0.15 }
}

pub(crate) fn corpus(generation: i64, pages: &[StoredPage]) -> Corpus {
    Corpus {
        generation: Generation(generation),
        root: Hash::of(&generation.to_le_bytes()),
        pages: pages.len() as u64,
        chunks: pages.iter().map(|stored| stored.page.chunks.len() as u64).sum(),
    }
}

/// Indexes pages in one commit.
pub(crate) fn fill(index: &dyn Index, pages: &[StoredPage]) {
    let mut writer = index.writer(WAIT).unwrap();
    writer.apply(pages, &[]).unwrap();
    writer.commit(corpus(1, pages)).unwrap();
}

pub(crate) fn change(index: &dyn Index, generation: i64, act: impl FnOnce(&mut dyn Writer)) {
    let mut writer = index.writer(WAIT).unwrap();
    act(writer.as_mut());
    let corpus = Corpus { generation: Generation(generation), pages: 1, ..Corpus::default() };
    writer.commit(corpus).unwrap();
}
