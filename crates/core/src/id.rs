//! Names of things. A page is known as `source_id::slug` inside a workspace.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use crate::fault::Fault;

/// Why a name was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} {value:?} is not valid: {rule}")]
pub struct IdError {
    /// The kind of name: `workspace`, `source` or `slug`.
    pub what: &'static str,
    pub value: String,
    /// The rule that it breaks.
    pub rule: &'static str,
}

impl From<IdError> for Fault {
    fn from(error: IdError) -> Self {
        Self::usage(error.to_string())
    }
}

/// A tenant: the isolation boundary of every row.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkspaceId(String);

/// The origin of a group of pages.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId(String);

/// The path-like name of a page inside its source, such as `people/ada-quill`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slug(String);

/// A page's whole name inside a workspace. Orders by source, then slug.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageKey {
    /// The source it came from.
    pub source: SourceId,
    /// Its name in that source.
    pub slug: Slug,
}

/// The store's own number for a page: an identity, never an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageId(pub i64);

/// A number of the change feed. The corpus as of a number is a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize)]
pub struct Generation(pub i64);

impl JsonSchema for Generation {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Generation".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        i64::json_schema(generator)
    }
}

const LABEL_RULE: &str =
    "1 to 32 lower-case letters, digits and hyphens, starting with a letter or digit";
const SLUG_RULE: &str = "1 to 512 bytes, no control characters, no empty, `.` or `..` segments, no leading or trailing slash";

fn is_label(value: &str) -> bool {
    (1..=32).contains(&value.len())
        && !value.starts_with('-')
        && value.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

impl WorkspaceId {
    /// Accepts a valid workspace name.
    pub fn new(value: &str) -> Result<Self, IdError> {
        if is_label(value) {
            return Ok(Self(value.to_owned()));
        }
        Err(IdError { what: "workspace", value: value.to_owned(), rule: LABEL_RULE })
    }
}

impl Default for WorkspaceId {
    fn default() -> Self {
        Self("default".to_owned())
    }
}

impl SourceId {
    /// Accepts a valid source name.
    pub fn new(value: &str) -> Result<Self, IdError> {
        if is_label(value) {
            return Ok(Self(value.to_owned()));
        }
        Err(IdError { what: "source", value: value.to_owned(), rule: LABEL_RULE })
    }
}

impl Default for SourceId {
    fn default() -> Self {
        Self("default".to_owned())
    }
}

impl Slug {
    /// Accepts a valid slug as it is; [`crate::page::slug_of_path`] makes one from a path.
    pub fn new(value: &str) -> Result<Self, IdError> {
        let segments_are_fine = value.split('/').all(|s| !s.is_empty() && s != "." && s != "..");
        let fits = (1..=512).contains(&value.len());
        if fits && segments_are_fine && !value.chars().any(char::is_control) {
            return Ok(Self(value.to_owned()));
        }
        Err(IdError { what: "slug", value: value.to_owned(), rule: SLUG_RULE })
    }
}

impl PageKey {
    /// A key from names that are known to be valid.
    pub fn new(source: SourceId, slug: Slug) -> Self {
        Self { source, slug }
    }

    /// Reads `source::slug`, or a bare slug in `default_source`.
    pub fn parse(value: &str, default_source: &SourceId) -> Result<Self, IdError> {
        match value.split_once("::") {
            Some((source, slug)) => Ok(Self::new(SourceId::new(source)?, Slug::new(slug)?)),
            None => Ok(Self::new(default_source.clone(), Slug::new(value)?)),
        }
    }
}

macro_rules! text_id {
    ($name:ident) => {
        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        crate::displayed!($name);
    };
}

text_id!(WorkspaceId);
text_id!(SourceId);
text_id!(Slug);

impl fmt::Display for PageKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}::{}", self.source, self.slug)
    }
}

crate::displayed!(PageKey);

impl PageKey {
    /// Writes the name as two fields of the object that it is in.
    pub fn as_fields<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (source_id, slug) = (self.source.as_str(), self.slug.as_str());
        KeyFields { source_id, slug }.serialize(serializer)
    }
}

// The fields that `PageKey::as_fields` writes, for schemas; a doc comment would be copied into the
// types around it.
#[doc(hidden)]
#[derive(Debug, Serialize, JsonSchema)]
pub struct KeyFields<'a> {
    /// The source it came from.
    source_id: &'a str,
    /// Its name in that source.
    slug: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_short_and_lower_case() {
        assert!(WorkspaceId::new("team-1").is_ok());
        for bad in ["", "-a", "Team", "a_b", "a b", &"x".repeat(33)] {
            assert!(WorkspaceId::new(bad).is_err(), "{bad:?}");
            assert!(SourceId::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn slugs_cannot_climb_out() {
        assert!(Slug::new("people/ada quill").is_ok());
        for bad in ["", "/a", "a/", "a//b", "a/../b", ".", "a\nb", "a\0b", &"x".repeat(513)] {
            assert!(Slug::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn keys_parse_back() {
        let key = PageKey::parse("wiki::people/ada", &SourceId::default()).unwrap();
        assert_eq!(key.to_string(), "wiki::people/ada");
        let bare = PageKey::parse("people/ada", &key.source).unwrap();
        assert_eq!(bare, key);
    }
}
