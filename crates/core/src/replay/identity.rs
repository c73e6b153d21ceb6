//! Which pages of a captured ranking and of a current one are the same page.
//!
//! A captured name that scrubbing left alone is compared as it is, source included. One that it changed is
//! compared by the keyed hash beside it: the hash of every current page is made with the brain's key.
//! Where a row has no hash for such a name, or the key is another one, its ranking can't be compared: it is
//! neither equal nor different.
//!
//! A row whose pages have no sources is compared by slug, with the sources of the row as the only ones that
//! count. Current names that are shown are scrubbed, with a hash behind them where that changed them.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::capture::{CapturedPage, CapturedRow};
use crate::identity::IdentityKey;
use crate::scrub::Scrubber;

use super::{RankingPair, SkipReason};

/// The unit by which pages are compared.
#[derive(Debug, Clone, Copy)]
pub struct PageMatcher<'a> {
    /// Takes personal data out of names that are shown.
    pub scrubber: &'a Scrubber,
    /// The key of the brain.
    pub key: Option<&'a IdentityKey>,
}

/// Whether the pages of a row can be identified, and why not.
pub fn comparable(row: &CapturedRow, key: Option<&IdentityKey>) -> Result<(), SkipReason> {
    let pages = row.expected().unwrap_or_default();
    let mut scrubbed = pages.iter().filter(|page| page.is_scrubbed()).peekable();
    if scrubbed.peek().is_none() {
        return Ok(());
    }
    if scrubbed.any(|page| page.key_hash.is_none()) {
        return Err(SkipReason::NamesScrubbed);
    }
    let Some(key) = key else { return Err(SkipReason::NoIdentityKey) };
    if row.identity_key_id.as_deref() == Some(key.id().as_str()) {
        Ok(())
    } else {
        Err(SkipReason::OtherIdentityKey)
    }
}

/// The first page of an answer without a source, although the pages of the row have one.
pub fn first_page_without_source<'a>(
    row: &CapturedRow,
    current: &'a [CapturedPage],
) -> Option<&'a CapturedPage> {
    let is_silent = is_by_slug(row) && row.source_ids.as_deref().unwrap_or_default().is_empty();
    current.iter().find(|page| page.source.is_none() && !is_silent)
}

/// Whether no page of a row has a source.
fn is_by_slug(row: &CapturedRow) -> bool {
    let pages = row.expected().unwrap_or_default();
    !pages.is_empty() && pages.iter().all(|page| page.source.is_none())
}

impl PageMatcher<'_> {
    /// Both rankings by names that are equal where the pages are, without duplicates, cut at `cut`.
    pub fn comparable_rankings(
        &self,
        row: &CapturedRow,
        current: &[CapturedPage],
        cut: usize,
    ) -> RankingPair {
        let pages = row.expected().unwrap_or_default();
        let captured = distinct(pages.iter().map(ToString::to_string));
        let known = CapturedPages::new(row, pages, &captured);
        let mut seen = FxHashSet::default();
        let current = current.iter().filter(|page| seen.insert(*page)).enumerate();
        let current = distinct(current.map(|(place, page)| self.name(page, place, &known)));
        let cut_at = |names: Vec<String>| names.into_iter().take(cut).collect();
        RankingPair { captured: cut_at(captured), current: cut_at(current) }
    }

    /// The name of a current page: the captured one if it is a captured page, else one that no captured
    /// page has.
    fn name(&self, page: &CapturedPage, place: usize, known: &CapturedPages<'_>) -> String {
        let source = page.source.as_deref();
        let is_in_scope = source.is_none_or(|source| known.is_source(source));
        let page = if known.by_slug && is_in_scope {
            CapturedPage { source: None, ..page.clone() }
        } else {
            page.clone()
        };
        let literal = page.to_string();
        if known.literal.contains(literal.as_str()) {
            return literal;
        }
        let hash =
            self.key.zip(source).map(|(key, source)| key.keyed_page_hash_of(source, &page.slug));
        if let Some(name) = hash.as_deref().and_then(|hash| known.hashed.get(hash)) {
            return (*name).to_owned();
        }
        let mut name = self.shown(&page, hash, place);
        // A target may answer with what a capture shows of a page.
        while known.names.contains(name.as_str()) {
            name.push_str("#other");
        }
        name
    }

    fn shown(&self, page: &CapturedPage, hash: Option<String>, place: usize) -> String {
        let source = page.source.as_deref().map(|source| self.scrubber.scrub_name(source));
        let slug = self.scrubber.scrub_slug(&page.slug);
        if slug == page.slug && source == page.source {
            return page.to_string();
        }
        let key_hash = Some(hash.unwrap_or_else(|| format!("{}", place + 1)));
        CapturedPage { source, slug, key_hash }.to_string()
    }
}

/// The captured pages by the key that they are compared by.
struct CapturedPages<'a> {
    by_slug: bool,
    sources: Option<&'a [String]>,
    names: FxHashSet<&'a str>,
    literal: FxHashSet<String>,
    hashed: FxHashMap<&'a str, String>,
}

impl<'a> CapturedPages<'a> {
    fn new(row: &'a CapturedRow, pages: &'a [CapturedPage], names: &'a [String]) -> Self {
        let unscrubbed = pages.iter().filter(|page| !page.is_scrubbed());
        let hashed = pages.iter().filter_map(|page| Some((page.key_hash.as_deref()?, page)));
        Self {
            by_slug: is_by_slug(row),
            sources: row.source_ids.as_deref().filter(|sources| !sources.is_empty()),
            names: names.iter().map(String::as_str).collect(),
            literal: unscrubbed.map(ToString::to_string).collect(),
            hashed: hashed.map(|(hash, page)| (hash, page.to_string())).collect(),
        }
    }

    fn is_source(&self, source: &str) -> bool {
        self.sources.is_none_or(|sources| sources.iter().any(|one| one == source))
    }
}

fn distinct(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = FxHashSet::default();
    names.filter(|name| seen.insert(name.clone())).collect()
}
