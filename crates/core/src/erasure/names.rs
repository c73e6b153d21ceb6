//! The names of an erased page, and the pseudonyms that replace them.

use std::collections::BTreeSet;

use crate::id::{PageId, PageKey};
use crate::identity::IdentityKey;

/// Replaces a text of a purged page.
pub const PURGED: &str = "[purged]";

/// Digits of a keyed hash behind a scrubbed name in a log.
const SHOWN_DIGITS: usize = 16;

/// A keyed hash that identifies the page where scrubbing changed its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityHash {
    /// The id of the key that it was made with.
    pub key_id: String,
    /// The hash of the page's whole key.
    pub hash: String,
}

impl IdentityHash {
    /// The hash of a page under a workspace's key.
    pub fn new(key: &IdentityKey, page: &PageKey) -> Self {
        Self { key_id: key.id(), hash: key.keyed_page_hash(page) }
    }
}

/// The data of a store about a page that is to be erased.
#[derive(Debug, Clone)]
pub struct ErasedPageParts {
    pub key: PageKey,
    /// Its number, which is never used again.
    pub id: PageId,
    /// The ids of its passages, in every version.
    pub chunk_ids: BTreeSet<String>,
    /// The keyed hash of its key, if the brain has an identity key.
    pub hash: Option<IdentityHash>,
    /// The keys of all other pages, deleted ones too.
    pub others: Vec<PageKey>,
    /// Titles and aliases that it has, in every version, and no other page has.
    pub own_names: BTreeSet<String>,
    /// Its texts, in every version.
    pub texts: Vec<String>,
}

/// A page that is being erased.
#[derive(Debug, Clone)]
pub struct ErasedPage {
    pub(super) key: PageKey,
    pub(super) hash: Option<IdentityHash>,
    pub(super) chunk_ids: BTreeSet<String>,
    whole: String,
    pseudonym: String,
    /// Whole keys of other pages that begin as this one does.
    longer: Vec<String>,
    /// Slugs of other pages, of any source, that begin as this one's does.
    longer_slugs: BTreeSet<String>,
    /// Whether no other source has a page of this slug: then the bare slug means this page.
    is_only_of_slug: bool,
    own_names: BTreeSet<String>,
    /// With single blanks between words.
    texts: Vec<String>,
}

impl ErasedPage {
    /// Builds the erased page from the data of the store.
    pub fn new(parts: ErasedPageParts) -> Self {
        let ErasedPageParts { key, id, chunk_ids, hash, others, own_names, texts } = parts;
        let whole = key.to_string();
        let longer =
            others.iter().map(ToString::to_string).filter(|other| other.starts_with(&whole));
        Self {
            pseudonym: format!("[purged-{}]", id.0),
            longer: longer.collect(),
            longer_slugs: others.iter().map(|other| other.slug.as_str().to_owned()).collect(),
            is_only_of_slug: !others.iter().any(|other| other.slug == key.slug),
            own_names: own_names.iter().map(|name| name.to_lowercase()).collect(),
            texts: texts.iter().map(|text| single_blanks(text)).collect(),
            key,
            hash,
            chunk_ids,
            whole,
        }
    }

    pub fn key(&self) -> &PageKey {
        &self.key
    }

    /// Whether a calibration pair is of the page: of the document, or of a passage.
    pub fn is_pair(&self, document: &str, chunk_id: &str) -> bool {
        self.is_document(document)
            || self.chunk_ids.contains(chunk_id)
            || self.identifier(chunk_id).is_some()
    }

    /// The pseudonym of its slug: no page can have it, and no two purged pages share it.
    pub(crate) fn pseudonym(&self) -> &str {
        &self.pseudonym
    }

    /// The pseudonym of its whole key.
    pub fn pseudonym_key(&self) -> String {
        format!("{}::{}", self.key.source, self.pseudonym)
    }

    /// Whether an identifier is the page, as `source::slug`.
    pub(crate) fn is_whole_key(&self, text: &str) -> bool {
        text == self.whole
    }

    /// Whether `slug`, which may say its source itself, is the page in a record about `source`.
    pub(super) fn is_named_in(&self, source: &str, slug: &str) -> bool {
        self.is_whole_key(slug)
            || (source == self.key.source.as_str() && slug == self.key.slug.as_str())
    }

    /// Whether an answer key of the local brain is the page: a whole key, or a bare slug that means no other page.
    pub fn is_document(&self, id: &str) -> bool {
        let is_bare = |slug: &str| self.is_only_of_slug && slug == self.key.slug.as_str();
        let (page, ordinal) = without_ordinal(id);
        self.identifier(id).is_some()
            || is_bare(id)
            || (ordinal.is_some() && is_bare(page) && !self.longer_slugs.contains(id))
    }

    /// Whether a name is the page's title or alias and no other page's, or its key.
    pub(super) fn is_own_name(&self, name: &str) -> bool {
        self.is_document(name) || self.own_names.contains(&name.to_lowercase())
    }

    /// Whether one of the page's versions contains a text.
    pub(super) fn contains_text(&self, text: &str) -> bool {
        let text = single_blanks(text);
        !text.is_empty() && self.texts.iter().any(|own| own.contains(&text))
    }

    /// The pseudonym of an identifier of the page or of one of its passages; none for any other.
    pub(super) fn identifier(&self, id: &str) -> Option<String> {
        if self.longer.iter().any(|other| other == id) {
            return None;
        }
        if self.is_whole_key(id) || self.ends_in_hash(id) {
            return Some(self.pseudonym_key());
        }
        if self.chunk_ids.contains(id) {
            return Some(self.pseudonym.clone());
        }
        let (page, ordinal) = without_ordinal(id);
        (ordinal.is_some() && self.is_whole_key(page))
            .then(|| format!("{}#{}", self.pseudonym_key(), ordinal.unwrap_or_default()))
    }

    fn ends_in_hash(&self, id: &str) -> bool {
        let Some((_, hash)) = id.rsplit_once('#') else { return false };
        let Some(IdentityHash { hash: own, .. }) = &self.hash else { return false };
        hash == own || own.get(..SHOWN_DIGITS) == Some(hash)
    }

    /// A string without the page's name: an identifier, or a sentence with the whole key in it.
    pub(super) fn replace_name(&self, text: &str) -> Option<String> {
        if self.longer.iter().any(|other| other == text) {
            return None;
        }
        self.identifier(text).or_else(|| self.replace_in_sentence(text))
    }

    /// A sentence with the pseudonym in place of the whole key.
    pub(super) fn replace_in_sentence(&self, text: &str) -> Option<String> {
        let mut erased = String::new();
        let mut from = 0;
        for (at, _) in text.match_indices(&self.whole) {
            if at < from || !self.stands_alone(text, at) {
                continue;
            }
            erased.push_str(&text[from..at]);
            erased.push_str(&self.pseudonym_key());
            from = at + self.whole.len();
        }
        (from > 0).then(|| erased + &text[from..])
    }

    /// Whether the whole key at a place is neither the end of another source's name nor the beginning of another key.
    fn stands_alone(&self, text: &str, at: usize) -> bool {
        let (before, rest) = (&text[..at], &text[at..]);
        let is_other =
            |other: &String| rest.strip_prefix(other.as_str()).is_some_and(is_end_of_key);
        !before.chars().next_back().is_some_and(continues_key)
            && is_end_of_key(&rest[self.whole.len()..])
            && !self.longer.iter().any(is_other)
    }
}

/// Whether a key that is followed by this text has ended.
fn is_end_of_key(after: &str) -> bool {
    let mut after = after.chars();
    match after.next() {
        None => true,
        // A sentence goes on behind a full stop or a colon; a slug may have either inside.
        Some('.' | '#' | ':') => !after.next().is_some_and(continues_key),
        Some(c) => !continues_key(c),
    }
}

fn continues_key(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '/' | ':')
}

/// The page and the ordinal of `page#3`.
fn without_ordinal(id: &str) -> (&str, Option<&str>) {
    match id.rsplit_once('#') {
        Some((page, ordinal)) if is_number(ordinal) => (page, Some(ordinal)),
        _ => (id, None),
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn single_blanks(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
