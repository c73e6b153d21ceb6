//! Vectors: how passages are coded, and how the nearest are found.
//!
//! Every passage has a row of small integers and a code of one bit per dimension. A search scans
//! all codes, keeps a shortlist, and scores that by the rows. Nothing is approximated by position:
//! the shortlist is every passage that the filter lets through and that scores at least as much
//! as the one at its depth, so it does not depend on segments or on the order of passages.
//!
//! All scores are integers until the last division, so every machine gives the same order.

mod block;
mod flat;
mod kernel;
mod near;
mod query;
mod row;
mod shortlist;

use std::borrow::Cow;

use gbrain_core::chunk;
use gbrain_core::page::StoredPage;
use gbrain_embed::{Embedder, Passage, Urgency};

use crate::error::Result;

pub(crate) use block::{BLOCK, Blocks, block_bytes};
pub use flat::FlatVectors;
pub(crate) use near::{DEEPER, Near, Nearest, distinct_pages};
pub use query::VectorQuery;
pub(crate) use row::Row;
pub(crate) use shortlist::{Place, Shortlist};

/// The rows of a page's chunks, in their order.
pub(crate) fn page_rows(
    model: &dyn Embedder,
    stored: &StoredPage,
    urgency: Urgency,
) -> Result<Vec<Row>> {
    let page = &stored.page;
    let texts = chunk::texts(&page.content, &page.chunks);
    let chunks = page.chunks.iter().zip(texts);
    let passages: Vec<Cow<'_, str>> =
        chunks.map(|(chunk, text)| passage_text(&page.title, &chunk.section, text)).collect();
    let key = page.key.to_string();
    let passages: Vec<Passage<'_>> =
        passages.iter().map(|text| Passage { text, page: &key }).collect();
    let vectors = model.embed_passages(&passages, urgency)?;
    Ok(vectors.iter().map(|vector| Row::of(vector)).collect())
}

/// What is embedded of a passage: the title and the headings above it say what it is about.
pub(crate) fn passage_text<'a>(title: &str, section: &str, text: &'a str) -> Cow<'a, str> {
    if title.is_empty() && section.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut whole = String::with_capacity(title.len() + section.len() + text.len() + 2);
    for part in [title, section, text] {
        if !part.is_empty() {
            if !whole.is_empty() {
                whole.push('\n');
            }
            whole.push_str(part);
        }
    }
    Cow::Owned(whole)
}
