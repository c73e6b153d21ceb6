//! A page with everything derived from its text: what `get --json` prints.

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Serialize;

use crate::chunk::{Chunk, Part};
use crate::id::PageKey;
use crate::link::{DetectedBy, Direction, Link, LinkType};
use crate::page::{Page, PageKind, StoredPage, Take, Visibility};

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
    /// What kind of text it is.
    kind: PageKind,
    /// Its title.
    title: &'a str,
    /// Its type: person, meeting, note and so on.
    #[serde(rename = "type")]
    page_type: &'a str,
    /// Its tags, in lower case.
    tags: &'a [String],
    /// Its other names.
    aliases: &'a [String],
    /// When what it tells of happened.
    #[schemars(extend("format" = "date"))]
    effective_date: Option<String>,
    /// Who may see it.
    visibility: Visibility,
    /// SHA-256 of the text as it was given.
    content_hash: String,
    /// The text.
    content: &'a str,
    /// Its passages, in order.
    chunks: Vec<WireChunk<'a>>,
    /// The edges that its text gives evidence of.
    links: Vec<WireLink<'a>>,
    /// Its dated claims.
    takes: Vec<WireTake<'a>>,
}

/// A passage of a page.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageChunk")]
struct WireChunk<'a> {
    /// The same on every machine.
    chunk_id: String,
    /// Its place in the page, from 0.
    ordinal: u32,
    /// Which part of the page it is from.
    part: Part,
    /// The headings above it, outermost first.
    section: &'a str,
    /// First character in the content.
    start: u32,
    /// One past the last.
    end: u32,
}

/// An edge, as the page states it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageLink")]
struct WireLink<'a> {
    /// Its meaning.
    #[serde(rename = "type")]
    link_type: LinkType,
    /// Whether the page is where the edge starts or where it ends.
    direction: Direction,
    /// The other end, as written.
    target: &'a str,
    /// How sure, 0 to 1.
    confidence: f64,
    /// What found it.
    detected_by: DetectedBy,
    /// From when it held.
    #[schemars(extend("format" = "date"))]
    since: Option<String>,
    /// Until when it held.
    #[schemars(extend("format" = "date"))]
    until: Option<String>,
    /// First character of the evidence in the content.
    evidence_start: u32,
    /// One past its last.
    evidence_end: u32,
}

/// A dated claim.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PageTake")]
struct WireTake<'a> {
    /// What is claimed.
    claim: &'a str,
    /// fact, take, bet, hunch or a word of the author's.
    kind: &'a str,
    /// Who holds it.
    holder: Option<&'a str>,
    /// How sure, 0 to 1.
    weight: f64,
    /// From when it held.
    #[schemars(extend("format" = "date"))]
    since: Option<String>,
    /// Until when it held.
    #[schemars(extend("format" = "date"))]
    until: Option<String>,
    /// Whether it still holds.
    active: bool,
}

impl<'a> PageBody<'a> {
    /// The wire form of a page.
    pub fn new(stored: &'a StoredPage) -> Self {
        let StoredPage { id: _, version, generation, page } = stored;
        // Warnings are for whoever writes the page, and were told then.
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
            effective_date: day(*effective_date),
            visibility: *visibility,
            content_hash: content_hash.to_hex(),
            content,
            chunks: chunks.iter().map(|chunk| WireChunk::new(key, chunk)).collect(),
            links: links.iter().map(WireLink::new).collect(),
            takes: takes.iter().map(WireTake::new).collect(),
        }
    }
}

impl<'a> WireChunk<'a> {
    fn new(key: &PageKey, chunk: &'a Chunk) -> Self {
        let Chunk { ordinal, part, section, start, end, hash: _ } = chunk;
        Self {
            chunk_id: chunk.id(key),
            ordinal: *ordinal,
            part: *part,
            section,
            start: *start,
            end: *end,
        }
    }
}

impl<'a> WireLink<'a> {
    fn new(link: &'a Link) -> Self {
        let Link {
            link_type,
            direction,
            target,
            confidence,
            detected_by,
            since,
            until,
            evidence_chunk: _,
            evidence_start,
            evidence_end,
        } = link;
        Self {
            link_type: *link_type,
            direction: *direction,
            target,
            confidence: *confidence,
            detected_by: *detected_by,
            since: day(*since),
            until: day(*until),
            evidence_start: *evidence_start,
            evidence_end: *evidence_end,
        }
    }
}

impl<'a> WireTake<'a> {
    fn new(take: &'a Take) -> Self {
        let Take { claim, kind, holder, weight, since, until, active } = take;
        Self {
            claim,
            kind,
            holder: holder.as_deref(),
            weight: *weight,
            since: day(*since),
            until: day(*until),
            active: *active,
        }
    }
}

/// A day as it is written.
pub(super) fn day(date: Option<Date>) -> Option<String> {
    date.map(|date| date.to_string())
}
