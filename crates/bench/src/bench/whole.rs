//! Rankings of whole documents by our own scorer: one chunk per document, in memory.

use anyhow::Result;
use gbrain_core::chunk::{Chunk, PagePart};
use gbrain_core::hash::Hash;
use gbrain_core::id::{Generation, PageId, PageKey, Slug, SourceId};
use gbrain_core::page::{PageFormat, PageInput, StoredPage, parse};
use gbrain_core::request::{Filter, Viewer};
use gbrain_core::search::Settings;
use gbrain_core::text::QueryTerms;
use gbrain_index::{Corpus, Index as _, MemoryIndex, Models, WordsQuery};

use super::collection::{Document, Query};
use super::figures::Figures;

/// The measures of every query over whole documents.
pub(crate) fn rank_all(
    documents: &[Document],
    queries: &[Query],
    depth: usize,
) -> Result<Vec<Figures>> {
    let index = index(documents)?;
    let view = index.view()?;
    let settings = Settings::default();
    let filter = Filter { trust: Viewer::Trusted, ..Filter::default() };
    let mut all = Vec::with_capacity(queries.len());
    for query in queries {
        let words = WordsQuery {
            terms: QueryTerms::of(&query.text),
            k1: settings.bm25_k1,
            b: settings.bm25_b,
            exact_weight: settings.exact_weight,
        };
        let hits = view.words(&words, &filter, depth)?;
        let ranked: Vec<&str> =
            hits.iter().map(|hit| documents[hit.page.0 as usize].id.as_str()).collect();
        all.push(Figures::of(&ranked, &query.judgements));
    }
    Ok(all)
}

fn index(documents: &[Document]) -> Result<MemoryIndex> {
    let index = MemoryIndex::new(Models::none());
    let mut pages = Vec::with_capacity(documents.len());
    for (at, document) in documents.iter().enumerate() {
        pages.push(stored(at, document)?);
    }
    let mut writer = index.writer(std::time::Duration::ZERO)?;
    writer.apply(&pages, &[])?;
    let count = pages.len() as u64;
    writer.commit(Corpus {
        generation: Generation(1),
        root: Hash::default(),
        pages: count,
        chunks: count,
    })?;
    drop(writer);
    Ok(index)
}

/// A page with one chunk that holds all of the document.
fn stored(at: usize, document: &Document) -> Result<StoredPage> {
    let key = PageKey::new(SourceId::default(), Slug::new(&document.id)?);
    let content = format!("{}\n", document.text);
    let input = PageInput { key, file_name: None, content: &content, format: PageFormat::Text };
    // Two documents of Cranfield have no text; they still are documents.
    let mut page = parse(input.clone()).or_else(|_| parse(PageInput { content: "-", ..input }))?;
    page.title = document.title.clone();
    let end = u32::try_from(page.content.chars().count())?;
    let hash = Hash::of(page.content.as_bytes());
    page.chunks = vec![Chunk {
        ordinal: 0,
        part: PagePart::Truth,
        section: String::new(),
        start: 0,
        end,
        hash,
    }];
    Ok(StoredPage { id: PageId(at as i64), version: 1, generation: Generation(1), page })
}
