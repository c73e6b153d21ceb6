//! Passages: splitting a page into chunks of about 300 tokens, and a chat into smaller ones.
//!
//! Promises: chunks come in the order of the text; every character of the body that is not white
//! space is in at least one; none is longer than [`MAX_CHARS`]; the same text gives the same
//! chunks. Frontmatter and the line that separates the timeline are in none.

mod pack;
mod piece;

use std::ops::Range;

use schemars::JsonSchema;
use serde::Serialize;

use crate::hash::Hash;
use crate::id::PageKey;
use crate::named;
use crate::page::block::{self, Block};
use crate::page::offset::{self, Offsets};

use self::pack::ChunkSize;
pub use self::piece::tokens;

/// The size that chunks grow to, in [`tokens`].
pub const TARGET_TOKENS: usize = 300;

/// The size that chunks of a chat grow to, in [`tokens`].
pub const CHAT_TARGET_TOKENS: usize = 80;

/// How much of a chunk's end its successor in the same section repeats, in [`tokens`].
pub const OVERLAP_TOKENS: usize = 40;

/// The longest chunk, in characters. Fenced blocks and turns of a chat stay whole up to this.
pub const MAX_CHARS: usize = 6000;

named! {
    /// Which part of a page a chunk is from.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum PagePart {
        /// The compiled truth above the timeline, or plain text.
        Truth = "truth",
        /// The dated log below the separator.
        Timeline = "timeline",
        /// Turns of a chat.
        Turns = "turns",
    }
}

/// A passage of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Chunk {
    /// Its place in the page, from 0.
    pub ordinal: u32,
    /// Which part of the page it is from.
    pub part: PagePart,
    // Joined by ` > `; empty before the first heading.
    /// The headings above it, outermost first.
    pub section: String,
    // A character is a Unicode scalar value.
    /// First character in the content.
    pub start: u32,
    /// One past the last.
    pub end: u32,
    /// SHA-256 of its text.
    #[serde(skip)]
    pub hash: Hash,
}

impl Chunk {
    /// The id that captures and evidence quote: the same on every machine and engine.
    pub fn id(&self, key: &PageKey) -> String {
        let ordinal = self.ordinal.to_le_bytes();
        let (source, slug) = (key.source.as_str().as_bytes(), key.slug.as_str().as_bytes());
        Hash::of_parts(&[source, slug, &ordinal, &self.hash.0]).short()
    }
}

/// The text of a chunk of `content`. For all chunks of a page, [`texts`] takes one pass.
pub fn text<'a>(content: &'a str, chunk: &Chunk) -> &'a str {
    let bytes = offset::bytes_of(content, [chunk.start, chunk.end].into_iter());
    &content[bytes[0]..bytes[1]]
}

/// The texts of a page's chunks, which must be in order.
pub fn texts<'a>(content: &'a str, chunks: &[Chunk]) -> Vec<&'a str> {
    // Invariant: starts ascend and so do ends, though a chunk starts before its predecessor ends.
    let starts = offset::bytes_of(content, chunks.iter().map(|chunk| chunk.start));
    let ends = offset::bytes_of(content, chunks.iter().map(|chunk| chunk.end));
    starts.into_iter().zip(ends).map(|(start, end)| &content[start..end]).collect()
}

/// A part of a body and its blocks.
#[derive(Debug, Clone)]
pub(crate) struct BodySpan {
    pub(crate) part: PagePart,
    pub(crate) range: Range<usize>,
    pub(crate) blocks: Vec<Block>,
}

impl BodySpan {
    /// A part that is Markdown.
    pub(crate) fn markdown(content: &str, part: PagePart, range: Range<usize>) -> Self {
        Self { part, blocks: block::blocks(content, range.clone()), range }
    }

    /// A part that has paragraphs and no other structure.
    pub(crate) fn plain(content: &str, part: PagePart, range: Range<usize>) -> Self {
        Self { part, blocks: block::paragraphs(content, range.clone()), range }
    }
}

/// Splits the parts of a page. With `turns`, a chat's, boundaries are theirs and not those of blocks.
pub(crate) fn split(
    content: &str,
    offsets: &Offsets<'_>,
    spans: &[BodySpan],
    turns: Option<&[Range<usize>]>,
) -> Vec<Chunk> {
    let mut headings = piece::Headings::default();
    let mut chunks = Vec::new();
    for span in spans {
        let (pieces, size) = match turns {
            Some(turns) => (piece::of_turns(content, span, turns), ChunkSize::CHAT),
            None => (piece::of_blocks(content, span, &mut headings), ChunkSize::TEXT),
        };
        for packed in pack::pack(content, offsets, pieces, size) {
            chunks.push(Chunk {
                ordinal: u32::try_from(chunks.len()).expect("a page is limited to 64 MiB"),
                part: span.part,
                section: headings.path(packed.section),
                start: offsets.char_of(packed.range.start),
                end: offsets.char_of(packed.range.end),
                hash: Hash::of(&content.as_bytes()[packed.range]),
            });
        }
    }
    chunks
}
