//! Serialised passages, entries and links of a document.

use gbrain_core::chunk::{Chunk, PagePart};
use gbrain_core::hash::Hash;
use gbrain_core::id::{PageId, PageKey, Slug, SourceId};
use gbrain_core::link::{DetectedBy, Direction, Link, LinkType};
use gbrain_core::page::{PageKind, Visibility};
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::entry::{PageEntry, Passage};

/// A stored record that could not be read.
#[derive(Debug, thiserror::Error)]
#[error("a stored {what} is not as it was written")]
pub(super) struct RecordError {
    pub(super) what: &'static str,
}

/// Serialises a chunk without its text: part, ordinal, start, end, hash, section.
pub(super) fn write_passage(chunk: &Chunk) -> Vec<u8> {
    let Chunk { ordinal, part, section, start, end, hash } = chunk;
    let part = PagePart::ALL.iter().position(|p| p == part).unwrap_or_default() as u8;
    let mut bytes = Vec::with_capacity(45 + section.len());
    bytes.push(part);
    bytes.extend(ordinal.to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes.extend(end.to_le_bytes());
    bytes.extend(hash.0);
    bytes.extend(section.as_bytes());
    bytes
}

/// Reads the output of [`write_passage`].
pub(super) fn read_passage(bytes: &[u8], text: String) -> Result<Passage, RecordError> {
    passage_of(bytes, text).ok_or(RecordError { what: "passage" })
}

fn passage_of(bytes: &[u8], text: String) -> Option<Passage> {
    let (part, bytes) = bytes.split_first()?;
    let (ordinal, bytes) = bytes.split_first_chunk()?;
    let (start, bytes) = bytes.split_first_chunk()?;
    let (end, bytes) = bytes.split_first_chunk()?;
    let (hash, section) = bytes.split_first_chunk()?;
    Some(Passage {
        ordinal: u32::from_le_bytes(*ordinal),
        part: *PagePart::ALL.get(usize::from(*part))?,
        section: str::from_utf8(section).ok()?.to_owned(),
        start: u32::from_le_bytes(*start),
        end: u32::from_le_bytes(*end),
        hash: Hash(*hash),
        text,
    })
}

#[derive(Serialize, Deserialize)]
struct WireEntry {
    id: i64,
    version: u32,
    source: String,
    slug: String,
    title: String,
    page_type: String,
    kind: String,
    tags: Vec<String>,
    aliases: Vec<String>,
    effective_date: Option<String>,
    visibility: String,
    content_hash: String,
    chunk_count: u32,
}

pub(super) fn write_entry(entry: &PageEntry) -> Vec<u8> {
    let PageEntry {
        id,
        version,
        key: PageKey { source, slug },
        title,
        page_type,
        kind,
        tags,
        aliases,
        effective_date,
        visibility,
        content_hash,
        chunk_count,
    } = entry.clone();
    to_json(&WireEntry {
        id: id.0,
        version,
        source: source.to_string(),
        slug: slug.to_string(),
        title,
        page_type,
        kind: kind.to_string(),
        tags,
        aliases,
        effective_date: effective_date.map(|date| date.to_string()),
        visibility: visibility.to_string(),
        content_hash: content_hash.to_hex(),
        chunk_count,
    })
}

/// Reads the output of [`write_entry`].
pub(super) fn read_entry(bytes: &[u8]) -> Result<PageEntry, RecordError> {
    let wire = serde_json::from_slice(bytes).ok();
    wire.and_then(entry_of).ok_or(RecordError { what: "page" })
}

fn entry_of(wire: WireEntry) -> Option<PageEntry> {
    Some(PageEntry {
        id: PageId(wire.id),
        version: wire.version,
        key: PageKey::new(SourceId::new(&wire.source).ok()?, Slug::new(&wire.slug).ok()?),
        title: wire.title,
        page_type: wire.page_type,
        kind: PageKind::from_name(&wire.kind)?,
        tags: wire.tags,
        aliases: wire.aliases,
        effective_date: read_date(wire.effective_date)?,
        visibility: Visibility::from_name(&wire.visibility)?,
        content_hash: Hash::from_hex(&wire.content_hash)?,
        chunk_count: wire.chunk_count,
    })
}

#[derive(Serialize, Deserialize)]
struct WireLink {
    link_type: String,
    direction: String,
    target: String,
    confidence: f64,
    detected_by: String,
    since: Option<String>,
    until: Option<String>,
    evidence_chunk: Option<u32>,
    evidence_start: u32,
    evidence_end: u32,
}

pub(super) fn write_links(links: &[Link]) -> Vec<u8> {
    to_json(&links.iter().map(wire_of).collect::<Vec<_>>())
}

fn wire_of(link: &Link) -> WireLink {
    let Link {
        link_type,
        direction,
        target,
        confidence,
        detected_by,
        since,
        until,
        evidence_chunk,
        evidence_start,
        evidence_end,
    } = link;
    WireLink {
        link_type: link_type.to_string(),
        direction: direction.to_string(),
        target: target.clone(),
        confidence: *confidence,
        detected_by: detected_by.to_string(),
        since: since.map(|date| date.to_string()),
        until: until.map(|date| date.to_string()),
        evidence_chunk: *evidence_chunk,
        evidence_start: *evidence_start,
        evidence_end: *evidence_end,
    }
}

/// Reads the output of [`write_links`].
pub(super) fn read_links(bytes: &[u8]) -> Result<Vec<Link>, RecordError> {
    let wires: Option<Vec<WireLink>> = serde_json::from_slice(bytes).ok();
    let links = wires.and_then(|wires| wires.into_iter().map(link_of).collect());
    links.ok_or(RecordError { what: "link" })
}

fn link_of(wire: WireLink) -> Option<Link> {
    Some(Link {
        link_type: LinkType::from_name(&wire.link_type)?,
        direction: Direction::from_name(&wire.direction)?,
        target: wire.target,
        confidence: wire.confidence,
        detected_by: DetectedBy::from_name(&wire.detected_by)?,
        since: read_date(wire.since)?,
        until: read_date(wire.until)?,
        evidence_chunk: wire.evidence_chunk,
        evidence_start: wire.evidence_start,
        evidence_end: wire.evidence_end,
    })
}

/// The outer option is `None` if the text is not a date.
fn read_date(text: Option<String>) -> Option<Option<Date>> {
    text.map(|text| text.parse().ok()).map_or(Some(None), |date: Option<Date>| date.map(Some))
}

fn to_json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("plain records always serialise")
}
