//! Passages: splitting a page into chunks of about 300 tokens.

use crate::hash::Hash;
use crate::id::PageKey;
use crate::named;

/// Which part of a page a chunk is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// The compiled truth above the timeline, or plain text.
    Truth,
    /// The dated log below the separator.
    Timeline,
    /// Turns of a chat.
    Turns,
}

/// A passage of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Its place in the page, from 0.
    pub ordinal: u32,
    /// Which part it is from.
    pub part: Part,
    /// The headings above it, outermost first, joined by ` > `; empty before the first heading.
    pub section: String,
    /// First character (Unicode scalar value) in the page's content.
    pub start: u32,
    /// One past the last character.
    pub end: u32,
    /// SHA-256 of its text.
    pub hash: Hash,
}

named! { Part { Truth = "truth", Timeline = "timeline", Turns = "turns" } }

impl Chunk {
    /// The id that captures and evidence quote: the same on every machine and engine.
    pub fn id(&self, key: &PageKey) -> String {
        let ordinal = self.ordinal.to_le_bytes();
        let (source, slug) = (key.source.as_str().as_bytes(), key.slug.as_str().as_bytes());
        Hash::of_parts(&[source, slug, &ordinal, &self.hash.0]).short()
    }
}
