//! A page with everything derived from its text: what `get --json` prints.

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Page, PageKind, StoredPage, Take, Visibility};
use crate::chunk::Chunk;
use crate::hash::Hash;
use crate::link::Link;

/// One version of a page.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PageBody<'a> {
    /// The source it came from.
    source_id: &'a str,
    /// Its name in that source.
    slug: &'a str,
    /// From 1; grows with every write, deletion and restoration.
    version: u32,
    /// The change that made this version.
    generation: i64,
    /// The kind of the page.
    kind: PageKind,
    /// Title of the page.
    title: &'a str,
    /// Its type: person, meeting, note and so on.
    #[serde(rename = "type")]
    page_type: &'a str,
    /// Its tags, in lower case.
    tags: &'a [String],
    /// Alternative names of the page.
    aliases: &'a [String],
    /// The effective date: when the described events happened.
    #[schemars(with = "Option<String>", extend("format" = "date"))]
    effective_date: Option<Date>,
    /// The visibility of the page.
    visibility: Visibility,
    /// SHA-256 of the text as it was given.
    content_hash: Hash,
    /// Text of the page.
    content: &'a str,
    /// Its passages, in order.
    chunks: Vec<WireChunk<'a>>,
    /// The edges that its text gives evidence of.
    links: &'a [Link],
    /// Dated claims from the frontmatter.
    takes: &'a [Take],
}

/// A passage of a page.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageChunk")]
struct WireChunk<'a> {
    /// The same on every machine.
    chunk_id: String,
    #[serde(flatten)]
    chunk: &'a Chunk,
}

impl<'a> PageBody<'a> {
    /// The wire form of a page.
    pub fn new(stored: &'a StoredPage) -> Self {
        let StoredPage { id: _, version, generation, page } = stored;
        // Warnings are for the author and were reported when the page was written.
        let Page {
            key,
            kind,
            title,
            page_type,
            tags,
            aliases,
            effective_date,
            date_origin: _,
            visibility,
            content,
            content_hash,
            chunks,
            links,
            takes,
            warnings: _,
        } = page;
        Self {
            source_id: key.source.as_str(),
            slug: key.slug.as_str(),
            version: *version,
            generation: generation.0,
            kind: *kind,
            title,
            page_type,
            tags,
            aliases,
            effective_date: *effective_date,
            visibility: *visibility,
            content_hash: *content_hash,
            content,
            chunks: chunks
                .iter()
                .map(|chunk| WireChunk { chunk_id: chunk.id(key), chunk })
                .collect(),
            links,
            takes,
        }
    }
}
