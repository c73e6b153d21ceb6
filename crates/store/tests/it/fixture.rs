//! Hand-made pages.

use gbrain_core::chunk::{Chunk, PagePart};
use gbrain_core::hash::Hash;
use gbrain_core::id::{PageKey, SourceId, WorkspaceId};
use gbrain_core::link::{DetectedBy, Direction, Link, LinkType};
use gbrain_core::page::{DateOrigin, Page, PageKind, Take, Visibility};
use gbrain_store::{PageWrite, Store, WriteOutcome};
use jiff::Timestamp;
use jiff::civil::date;

/// A time: seconds after a fixed start.
pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).unwrap()
}

/// A key as `source::slug`, or a slug in `default`.
pub(crate) fn key(text: &str) -> PageKey {
    PageKey::parse(text, &SourceId::default()).unwrap()
}

/// A page with only a title and a text.
pub(crate) fn plain(name: &str, text: &str) -> Page {
    Page {
        key: key(name),
        kind: PageKind::Markdown,
        title: format!("Title of {name}"),
        page_type: "note".to_owned(),
        tags: Vec::new(),
        aliases: Vec::new(),
        effective_date: None,
        date_origin: None,
        visibility: Visibility::World,
        content: text.to_owned(),
        content_hash: Hash::of(text.as_bytes()),
        chunks: vec![chunk(0, text)],
        links: Vec::new(),
        takes: Vec::new(),
        warnings: Vec::new(),
    }
}

/// A page with a value in every field.
pub(crate) fn full(name: &str, text: &str) -> Page {
    let mut page = plain(name, text);
    page.kind = PageKind::Chat;
    page.page_type = "person".to_owned();
    page.tags = vec!["größe".to_owned(), "say \"hi\"".to_owned(), "x".to_owned()];
    page.aliases = vec!["Zed".to_owned(), "ada".to_owned(), "Ada 🦀".to_owned()];
    page.effective_date = Some(date(1999, 12, 31));
    page.date_origin = Some(DateOrigin::Published);
    page.visibility = Visibility::Private;
    page.chunks = vec![chunk(0, text), chunk(1, text), chunk(2, text)];
    page.chunks[1].part = PagePart::Timeline;
    page.chunks[2].part = PagePart::Turns;
    page.chunks[2].section = "Tail > Ünïcode".to_owned();
    page.links = LinkType::ALL.iter().map(|link_type| link(*link_type)).collect();
    page.takes = vec![take("first", None, true), take("second", Some("ada"), false)];
    page
}

pub(crate) fn chunk(ordinal: u32, text: &str) -> Chunk {
    Chunk {
        ordinal,
        part: PagePart::Truth,
        section: String::new(),
        start: 0,
        end: u32::try_from(text.chars().count()).unwrap(),
        hash: Hash::of(text.as_bytes()),
    }
}

fn link(link_type: LinkType) -> Link {
    let dated = link_type == LinkType::WorksAt;
    Link {
        link_type,
        direction: if link_type < LinkType::OwnedBy { Direction::Out } else { Direction::In },
        target: "wiki::companies/acme".to_owned(),
        confidence: 0.1 + 0.2,
        detected_by: DetectedBy::Sentence,
        since: dated.then(|| date(2001, 2, 3)),
        until: dated.then(|| date(2004, 5, 6)),
        evidence_chunk: dated.then_some(2),
        evidence_start: 3,
        evidence_end: 9,
    }
}

fn take(claim: &str, holder: Option<&str>, active: bool) -> Take {
    Take {
        claim: claim.to_owned(),
        kind: "bet".to_owned(),
        holder: holder.map(str::to_owned),
        weight: 1.0 / 3.0,
        since: Some(date(2020, 1, 1)),
        until: None,
        active,
    }
}

/// The workspace that most tests use.
pub(crate) fn ws() -> WorkspaceId {
    WorkspaceId::default()
}

/// Writes pages without an origin.
pub(crate) fn write(store: &Store, pages: &[&Page], second: i64) -> Vec<WriteOutcome> {
    let writes: Vec<PageWrite<'_>> =
        pages.iter().map(|page| PageWrite { page, origin: None }).collect();
    store.write_pages(&ws(), &writes, at(second)).unwrap()
}

/// The root of a set of pages.
pub(crate) fn root<'a>(pages: impl IntoIterator<Item = &'a Page>) -> Hash {
    pages.into_iter().fold(Hash::default(), |root, page| root.toggle(page.fingerprint()))
}

/// Asserts that all invariants hold.
#[track_caller]
pub(crate) fn assert_sound(store: &Store) {
    assert_eq!(store.check(&ws()).unwrap(), vec![]);
}
