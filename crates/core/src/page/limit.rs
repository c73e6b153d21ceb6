//! Limits on the length of a page's names.
//!
//! They are repeated: the title is in front of every passage, tags and type are in every row of a list and in every
//! document of the index. Without a limit a page of one megabyte grows to hundreds. A page that states longer names is
//! refused; a heading that becomes the title is cut. Pages that were stored before there were limits are cut in the
//! same way where they are read, so [`super::DERIVE_VERSION`] need not change.

use std::borrow::Cow;

use super::frontmatter::Frontmatter;
use super::parse::PageError;

/// The longest title, in characters.
pub const MAX_TITLE: usize = 1_000;
/// The longest type, in characters.
pub const MAX_TYPE: usize = 100;
/// The longest tag, in characters.
pub const MAX_TAG: usize = 200;
/// The most bytes of all tags of a page. The index has them once for every passage.
pub const MAX_TAG_BYTES: usize = 8_000;
/// The longest other name, in characters.
pub const MAX_ALIAS: usize = MAX_TITLE;
/// Maximum number of aliases of a page. A lookup by name compares all of them.
pub const MAX_ALIASES: usize = 1_000;
/// The most tags of a page.
pub(crate) const MAX_TAGS: usize = 1_000;
/// The most dated claims of a page.
pub(crate) const MAX_TAKES: usize = 10_000;
/// Maximum number of edges of a page. A walk of the graph resolves all of them.
pub const MAX_LINKS: usize = 10_000;

/// Maximum number of characters of an invalid value that a message quotes.
const MAX_QUOTED: usize = 100;

/// A text of at most `limit` characters. A longer one ends with an ellipsis, which is one of them, so that what was cut
/// is not cut again.
fn cut(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() <= limit || text.chars().nth(limit).is_none() {
        return Cow::Borrowed(text);
    }
    let end = text.char_indices().nth(limit.saturating_sub(1)).map_or(text.len(), |(at, _)| at);
    Cow::Owned(format!("{}…", text[..end].trim_end()))
}

/// A title as it is indexed and listed.
pub fn cut_title(title: &str) -> Cow<'_, str> {
    cut(title, MAX_TITLE)
}

/// A type as it is indexed and listed.
pub fn cut_type(page_type: &str) -> Cow<'_, str> {
    cut(page_type, MAX_TYPE)
}

/// An alias as it is indexed.
pub fn cut_alias(alias: &str) -> Cow<'_, str> {
    cut(alias, MAX_ALIAS)
}

/// Tags as they are indexed and listed: each is cut, and those beyond [`MAX_TAG_BYTES`] are left out.
pub fn cut_tags(tags: Vec<String>) -> Vec<String> {
    let mut left = MAX_TAG_BYTES;
    let tags = tags.into_iter().map_while(|tag| {
        let tag = cut(&tag, MAX_TAG).into_owned();
        left = left.checked_sub(tag.len())?;
        Some(tag)
    });
    tags.collect()
}

/// A value for a message.
pub(super) fn quoted(value: &str) -> Cow<'_, str> {
    cut(value, MAX_QUOTED)
}

impl Frontmatter {
    /// Rejects a page whose names exceed the limits in number or length.
    pub(super) fn refuse_excess(&self) -> Result<(), PageError> {
        let counts = [
            ("aliases", self.aliases.len(), MAX_ALIASES),
            ("tags", self.tags.len(), MAX_TAGS),
            ("takes", self.takes.len(), MAX_TAKES),
        ];
        if let Some((what, _, limit)) = counts.into_iter().find(|(_, count, limit)| count > limit) {
            return Err(PageError::TooMany { what, limit });
        }
        refuse_longer("title", self.title.iter(), MAX_TITLE)?;
        refuse_longer("type", self.page_type.iter(), MAX_TYPE)?;
        refuse_longer("tag", self.tags.iter(), MAX_TAG)?;
        refuse_longer("alias", self.aliases.iter(), MAX_ALIAS)?;
        let bytes = self.tags.iter().map(String::len).sum::<usize>();
        match bytes > MAX_TAG_BYTES {
            true => Err(PageError::TagsTooLarge { bytes, limit: MAX_TAG_BYTES }),
            false => Ok(()),
        }
    }
}

fn refuse_longer<'a>(
    what: &'static str,
    mut names: impl Iterator<Item = &'a String>,
    limit: usize,
) -> Result<(), PageError> {
    match names.find(|name| name.chars().nth(limit).is_some()) {
        Some(name) => Err(PageError::TooLong { what, start: quoted(name).into_owned(), limit }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_texts_stay_and_long_ones_are_cut_once() {
        for short in ["", "a", "äöü", "abcd"] {
            assert!(matches!(cut(short, 4), Cow::Borrowed(same) if same == short));
        }
        for (long, shown) in
            [("abcde", "abc…"), ("äöüßé", "äöü…"), ("ab cde", "ab…"), ("👩‍👧👩‍👧", "👩‍👧…")]
        {
            let short = cut(long, 4);
            assert_eq!(short, shown);
            assert_eq!(cut(&short, 4), short);
        }
        assert_eq!(cut("abc", 0), "…");
    }

    #[test]
    fn tags_of_stored_pages_are_cut() {
        let ordinary = vec!["a".to_owned(), "b".repeat(MAX_TAG)];
        assert_eq!(cut_tags(ordinary.clone()), ordinary);
        let long = cut_tags(vec!["x".repeat(1 << 20); 1_000]);
        assert!(long.iter().all(|tag| tag.chars().count() == MAX_TAG));
        assert!(long.iter().map(String::len).sum::<usize>() <= MAX_TAG_BYTES);
        assert!(!long.is_empty());
    }
}
