//! A page: the parsed form of a file or a `put`.
//!
//! Everything here is derived from the text and the slug alone, so the same text gives the same
//! page on every machine. [`DERIVE_VERSION`] changes whenever that derivation does; a stored page
//! with another number is derived again.

pub(crate) mod block;
mod body;
mod chat;
pub(crate) mod date;
pub(crate) mod frontmatter;
mod limit;
pub(crate) mod offset;
mod parse;
pub(crate) mod sentence;
pub(crate) mod slug;
pub(crate) mod timeline;

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Serialize;

pub use self::body::PageBody;
pub use self::limit::{
    MAX_ALIAS, MAX_ALIASES, MAX_LINKS, MAX_TAG, MAX_TAG_BYTES, MAX_TITLE, MAX_TYPE, cut_alias,
    cut_tags, cut_title, cut_type,
};
pub(crate) use self::parse::chat_page;
pub use self::parse::{MAX_BYTES, PageError, PageFormat, PageInput, parse};
pub use self::slug::slug_of_path;

use crate::chunk::Chunk;
use crate::hash::Hash;
use crate::id::{Generation, PageId, PageKey};
use crate::link::Link;
use crate::named;

/// The version of parsing, chunking and link extraction.
pub const DERIVE_VERSION: u32 = 2;

named! {
    /// The kind of a page.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum PageKind {
        /// Markdown with optional frontmatter.
        Markdown = "markdown",
        /// A transcript: turns of speakers.
        Chat = "chat",
        Text = "text",
    }
}

named! {
    /// The visibility of a page.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub enum Visibility {
        /// Any caller of the workspace.
        #[default]
        World = "world",
        Private = "private",
    }
}

named! {
    /// The place where a page's date was found.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum DateOrigin {
        EventDate = "event_date",
        Date = "date",
        Published = "published",
        /// A leading `YYYY-MM-DD` of the file name.
        Filename = "filename",
    }
}

/// A claim in a page's frontmatter, with dates.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "PageTake")]
pub struct Take {
    pub claim: String,
    /// fact, take, bet, hunch or a word of the author's.
    pub kind: String,
    /// The holder of the claim.
    pub holder: Option<String>,
    /// Confidence in the claim, 0 to 1.
    pub weight: f64,
    /// From when it held.
    #[schemars(with = "Option<String>", extend("format" = "date"))]
    pub since: Option<Date>,
    /// Until when it held.
    #[schemars(with = "Option<String>", extend("format" = "date"))]
    pub until: Option<Date>,
    // Superseded claims stay, inactive.
    /// Whether it still holds.
    pub active: bool,
}

/// A page with everything derived from its text.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    pub key: PageKey,
    /// The kind of the page.
    pub kind: PageKind,
    /// Frontmatter title, else the first H1, else the humanised file name; at most [`MAX_TITLE`] characters.
    pub title: String,
    /// Frontmatter type, else inferred from the first path segment (`people/` is `person`), else
    /// `chat` for transcripts and `note` for the rest.
    pub page_type: String,
    /// Tags, lower-cased, sorted, without duplicates.
    pub tags: Vec<String>,
    /// Other names, in the author's order, without duplicates.
    pub aliases: Vec<String>,
    /// The effective date: when the described events happened.
    pub effective_date: Option<Date>,
    /// The place where that date was found.
    pub date_origin: Option<DateOrigin>,
    /// The visibility of the page.
    pub visibility: Visibility,
    /// The text as it was given, frontmatter included; for a JSON chat, the transcript rendered
    /// from it. Chunk offsets point into it.
    pub content: String,
    /// SHA-256 of the text as it was given: of the JSON, not of the transcript, so that an import
    /// can tell unchanged files without parsing them.
    pub content_hash: Hash,
    pub chunks: Vec<Chunk>,
    /// Edges that its text gives evidence of, in order of appearance.
    pub links: Vec<Link>,
    /// Dated claims, in order.
    pub takes: Vec<Take>,
    /// Corrections and omissions made while parsing, for the author.
    pub warnings: Vec<String>,
}

/// A page as the store knows it: one immutable version.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredPage {
    /// The store's number for the page.
    pub id: PageId,
    /// Starts at 1 and grows by one with every write, deletion and restoration.
    pub version: u32,
    /// The change that made this version.
    pub generation: Generation,
    pub page: Page,
}

impl Page {
    /// This page's member of the corpus root: everything a ranking can depend on follows from it.
    pub fn fingerprint(&self) -> Hash {
        Hash::of_parts(&[
            self.key.source.as_str().as_bytes(),
            self.key.slug.as_str().as_bytes(),
            &self.content_hash.0,
            &DERIVE_VERSION.to_le_bytes(),
        ])
    }
}
