//! Page metadata and passages in the index.

use std::sync::Arc;

use gbrain_core::chunk::{Chunk, PagePart};
use gbrain_core::hash::Hash;
use gbrain_core::id::{PageId, PageKey};
use gbrain_core::link::Link;
use gbrain_core::page::{PageKind, StoredPage, Visibility, cut_alias, cut_title};
use gbrain_core::request::{Filter, Viewer};
use gbrain_core::text::name_key;
use gbrain_core::unique::unique_by;
use jiff::civil::Date;

use crate::filter::admits_page;

/// A page without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageEntry {
    /// The page's number in the store.
    pub id: PageId,
    pub version: u32,
    pub key: PageKey,
    pub title: String,
    pub page_type: String,
    pub kind: PageKind,
    pub tags: Vec<String>,
    pub aliases: Vec<String>,
    pub effective_date: Option<Date>,
    pub visibility: Visibility,
    pub content_hash: Hash,
    pub chunk_count: u32,
}

/// A chunk with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// Position in the page, from 0.
    pub ordinal: u32,
    pub part: PagePart,
    /// The headings above the passage.
    pub section: String,
    /// First character in the page's content.
    pub start: u32,
    /// One past the last character.
    pub end: u32,
    /// SHA-256 of the text.
    pub hash: Hash,
    pub text: String,
}

/// A link and the page that states it.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkEntry {
    pub owner: PageId,
    pub link: Link,
}

/// The kinds of names of a page, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NameKind {
    /// `source::slug` or the slug.
    Slug,
    Title,
    Alias,
    /// The last segment of the slug, verbatim or with hyphens and underscores replaced by spaces.
    Basename,
}

/// A page that a name refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameMatch {
    pub entry: Arc<PageEntry>,
    /// The kind of name that matched.
    pub how: NameKind,
}

impl PageEntry {
    pub fn of(stored: &StoredPage) -> Self {
        let page = &stored.page;
        Self {
            id: stored.id,
            version: stored.version,
            key: page.key.clone(),
            title: cut_title(&page.title).into_owned(),
            page_type: page.page_type.clone(),
            kind: page.kind,
            tags: page.tags.clone(),
            aliases: page.aliases.iter().map(|alias| cut_alias(alias).into_owned()).collect(),
            effective_date: page.effective_date,
            visibility: page.visibility,
            content_hash: page.content_hash,
            chunk_count: u32::try_from(page.chunks.len()).unwrap_or(u32::MAX),
        }
    }

    pub fn is_visible_to(&self, trust: Viewer) -> bool {
        trust == Viewer::Trusted || self.visibility == Visibility::World
    }

    pub fn passes(&self, filter: &Filter) -> bool {
        admits_page(filter, self)
    }

    /// The strongest kind of name that equals a key.
    pub(crate) fn named_by(&self, key: &str) -> Option<NameKind> {
        self.names().into_iter().find(|(_, name)| name == key).map(|(how, _)| how)
    }

    /// The distinct name keys of the page, strongest first.
    pub fn names(&self) -> Vec<(NameKind, String)> {
        let slug = self.key.slug.as_str();
        let basename = slug.rsplit('/').next().unwrap_or(slug);
        let spaced = basename.replace(['-', '_'], " ");
        let mut names = vec![
            (NameKind::Slug, name_key(&self.key.to_string())),
            (NameKind::Slug, name_key(slug)),
            (NameKind::Title, name_key(&self.title)),
        ];
        names.extend(self.aliases.iter().map(|alias| (NameKind::Alias, name_key(alias))));
        names.push((NameKind::Basename, name_key(basename)));
        names.push((NameKind::Basename, name_key(&spaced)));
        names.retain(|(_, key)| !key.is_empty());
        unique_by(names, |(_, key)| key.clone())
    }
}

/// A name key that the page with this key always has. A slug without a word, such as `!!!`, has the
/// empty key, which refers to nothing; then the name key includes the source.
pub(crate) fn fallback_name_key(key: &PageKey) -> String {
    let slug = name_key(key.slug.as_str());
    if slug.is_empty() { name_key(&key.to_string()) } else { slug }
}

impl NameMatch {
    /// Orders pages with one name: by kind of name, then source, then slug.
    pub(crate) fn order(&self, other: &Self) -> std::cmp::Ordering {
        self.how.cmp(&other.how).then_with(|| self.entry.key.cmp(&other.entry.key))
    }
}

impl Passage {
    pub(crate) fn of(chunk: &Chunk, text: &str) -> Self {
        let Chunk { ordinal, part, section, start, end, hash } = chunk;
        Self {
            ordinal: *ordinal,
            part: *part,
            section: section.clone(),
            start: *start,
            end: *end,
            hash: *hash,
            text: text.to_owned(),
        }
    }
}
