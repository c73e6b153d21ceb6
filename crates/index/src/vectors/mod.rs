//! Vectors: the encoding of passages, and the search for the nearest.
//!
//! Every passage has a row of small integers and a code of one bit per dimension. A search scans
//! all codes, collects a shortlist, and scores that with the rows. The shortlist is every passage
//! that passes the filter and scores at least as high as the one at its depth, so it does not
//! depend on segments or on the order of passages.
//!
//! All scores are integers until the last division, so every machine produces the same order.

mod block;
mod flat;
mod kernel;
mod near;
mod query;
mod row;
mod shortlist;

use std::borrow::Cow;

use gbrain_core::chunk;
use gbrain_core::page::{StoredPage, cut_title};
use gbrain_embed::{Embedder, PassageText, Urgency};

use crate::error::IndexResult;

pub(crate) use block::{BLOCK, CodeBlocks, block_bytes};
pub use flat::FlatVectors;
pub(crate) use near::{DEPTH_GROWTH, NearestPassage, ScoredPassage, distinct_pages};
pub use query::VectorQuery;
pub(crate) use row::VectorRow;
pub(crate) use shortlist::{Shortlist, VectorPosition};

/// Number of passages embedded at once. Each begins with a copy of the page's title and of its
/// section.
const BATCH: usize = 960;

/// The rows of a page's chunks, in order.
pub(crate) fn page_rows(
    model: &dyn Embedder,
    stored: &StoredPage,
    urgency: Urgency,
) -> IndexResult<Vec<VectorRow>> {
    let page = &stored.page;
    let texts = chunk::texts(&page.content, &page.chunks);
    let key = page.key.to_string();
    let mut rows = Vec::with_capacity(page.chunks.len());
    for (chunks, texts) in page.chunks.chunks(BATCH).zip(texts.chunks(BATCH)) {
        let passages: Vec<Cow<'_, str>> = chunks
            .iter()
            .zip(texts)
            .map(|(chunk, text)| passage_text(&page.title, &chunk.section, text))
            .collect();
        let passages: Vec<PassageText<'_>> =
            passages.iter().map(|text| PassageText { text, page: &key }).collect();
        let vectors = model.embed_passages(&passages, urgency)?;
        rows.extend(vectors.iter().map(|vector| VectorRow::of(vector)));
    }
    Ok(rows)
}

/// The text that is embedded for a passage. The title and the headings give it context.
pub(crate) fn passage_text<'a>(title: &str, section: &str, text: &'a str) -> Cow<'a, str> {
    if title.is_empty() && section.is_empty() {
        return Cow::Borrowed(text);
    }
    // An index may contain titles from before titles had a limit.
    let title = cut_title(title);
    let mut whole = String::with_capacity(title.len() + section.len() + text.len() + 2);
    for part in [&title, section, text] {
        if !part.is_empty() {
            if !whole.is_empty() {
                whole.push('\n');
            }
            whole.push_str(part);
        }
    }
    Cow::Owned(whole)
}

#[cfg(test)]
mod tests {
    use gbrain_core::page::MAX_TITLE;

    use super::*;

    #[test]
    fn a_passage_begins_with_its_title_and_its_section() {
        assert_eq!(passage_text("", "", "text"), "text");
        assert_eq!(passage_text("Title", "", "text"), "Title\ntext");
        assert_eq!(passage_text("Title", "A > B", "text"), "Title\nA > B\ntext");
        let longest = "ä".repeat(MAX_TITLE);
        assert_eq!(passage_text(&longest, "", "text"), format!("{longest}\ntext"));
    }

    #[test]
    fn a_title_without_end_is_not_in_front_of_every_passage() {
        let passage = passage_text(&"ä".repeat(1 << 20), "", "text");
        assert_eq!(passage, format!("{}…\ntext", "ä".repeat(MAX_TITLE - 1)));
    }
}
