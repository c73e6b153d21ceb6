//! Captures on their way out of the machine: the names of private pages stay behind.
//!
//! A private page that a capture names is shown as a marker, with the keyed hash of its name beside
//! it, as a name that scrubbing changed: a replay on this brain still compares it, and no other
//! reader can identify the page. The query is left as it is: its owner wrote it, and it has been
//! scrubbed.
//!
//! A name that scrubbing changed still shows the rest of it. It is private if its hash is that of a private page. Where
//! there is no hash, or one of another key, it is taken for private if a private page may have had that name.

use std::sync::OnceLock;

use rustc_hash::FxHashSet;
use serde_json::{Map, Value};

use super::StoredCapture;
use crate::id::PageKey;
use crate::identity::IdentityKey;
use crate::scrub::MARKER;

/// Names of private pages, which an export must not reveal.
#[derive(Debug, Default)]
pub struct PrivateNames {
    pages: FxHashSet<PageKey>,
    slugs: FxHashSet<String>,
    identity: Option<IdentityKey>,
    /// Of the pages, by the key. Only rows with scrubbed names need them.
    hashes: OnceLock<FxHashSet<String>>,
}

impl PrivateNames {
    /// Of the private pages of a workspace, live and deleted. The key is that of the workspace.
    pub fn new(pages: impl IntoIterator<Item = PageKey>, identity: Option<IdentityKey>) -> Self {
        let pages: FxHashSet<PageKey> = pages.into_iter().collect();
        let slugs = pages.iter().map(|key| key.slug.as_str().to_owned()).collect();
        Self { pages, slugs, identity, hashes: OnceLock::new() }
    }

    /// Takes the names out of a capture; whether there were any. A capture that names none is not touched.
    pub fn mask(&self, row: &mut StoredCapture) -> bool {
        let fields = &mut row.fields;
        let slugs: Vec<String> = serde_json::from_str(&fields.retrieved_slugs).unwrap_or_default();
        // A ranking of the scrubbed text may have pages that the list has not.
        let may_name = [r#""scrubbed_retrieved""#, r#""key_hash""#]
            .iter()
            .any(|name| fields.extra.contains(name))
            || slugs.iter().any(|slug| self.has_slug(slug));
        if self.pages.is_empty() || !may_name {
            return false;
        }
        let Ok(Value::Object(mut extra)) = serde_json::from_str(&fields.extra) else {
            self.mask_slugs(&mut fields.retrieved_slugs, slugs);
            return true;
        };
        let is_by_slug = !extra.get("retrieved").is_some_and(Value::is_array);
        let is_changed = self.mask_pages(&mut extra);
        if is_by_slug && slugs.iter().any(|slug| self.has_slug(slug)) {
            self.mask_slugs(&mut fields.retrieved_slugs, slugs);
            return true;
        }
        if is_changed {
            fields.retrieved_slugs = distinct_slugs(&extra);
            fields.extra = Value::Object(extra).to_string();
        }
        is_changed
    }

    /// The rankings of a row.
    fn mask_pages(&self, extra: &mut Map<String, Value>) -> bool {
        let own_id = self.identity.as_ref().map(IdentityKey::id);
        let row_id = extra.get("identity_key_id").and_then(Value::as_str);
        // Two keys in one row would be mistaken for one.
        let identity =
            self.identity.as_ref().filter(|_| row_id.is_none() || row_id == own_id.as_deref());
        let mut is_changed = false;
        for name in ["retrieved", "scrubbed_retrieved"] {
            let pages = extra.get_mut(name).and_then(Value::as_array_mut);
            for page in pages.into_iter().flatten().filter_map(Value::as_object_mut) {
                is_changed |= self.mask_page(page, identity);
            }
        }
        if is_changed && let (Some(_), Some(id)) = (identity, own_id) {
            extra.insert("identity_key_id".to_owned(), id.into());
        }
        is_changed
    }

    /// `identity` is none for a row of another key.
    fn mask_page(&self, page: &mut Map<String, Value>, identity: Option<&IdentityKey>) -> bool {
        let text = |name: &str| page.get(name).and_then(Value::as_str);
        let (Some(source), Some(slug)) = (text("source_id"), text("slug")) else { return false };
        let key = PageKey::parse(&format!("{source}::{slug}"), &crate::id::SourceId::default());
        let key = key.ok().filter(|key| self.pages.contains(key));
        let is_private = match (text("key_hash"), identity) {
            (Some(hash), Some(identity)) => self.hashes(identity).contains(hash),
            _ => key.is_some() || self.may_be_private(source, slug),
        };
        if is_private {
            page.insert("slug".to_owned(), MARKER.into());
            if let (Some(key), Some(identity)) = (key, identity) {
                page.entry("key_hash").or_insert_with(|| identity.keyed_page_hash(&key).into());
            }
        }
        is_private
    }

    fn hashes(&self, identity: &IdentityKey) -> &FxHashSet<String> {
        self.hashes
            .get_or_init(|| self.pages.iter().map(|key| identity.keyed_page_hash(key)).collect())
    }

    /// Whether scrubbing may have turned the name of a private page into this one.
    fn may_be_private(&self, source: &str, slug: &str) -> bool {
        let is_scrubbed = slug.contains(MARKER) || source.contains(MARKER);
        let is_of = |key: &PageKey| {
            may_become(key.slug.as_str(), slug) && may_become(key.source.as_str(), source)
        };
        is_scrubbed && self.pages.iter().any(is_of)
    }

    /// Whether a private page of any source has this slug, or may have had it before scrubbing.
    fn has_slug(&self, slug: &str) -> bool {
        let may_have_been = || self.slugs.iter().any(|private| may_become(private, slug));
        self.slugs.contains(slug) || slug.contains(MARKER) && may_have_been()
    }

    /// The slugs of a row without sources.
    fn mask_slugs(&self, field: &mut String, slugs: Vec<String>) {
        let shown = slugs.into_iter().map(|slug| match self.has_slug(&slug) {
            true => MARKER.to_owned(),
            false => slug,
        });
        *field = Value::from(shown.collect::<Vec<String>>()).to_string();
    }
}

/// Whether scrubbing may turn a name into this one: a marker stands for any text.
fn may_become(name: &str, scrubbed: &str) -> bool {
    let Some((first, rest)) = scrubbed.split_once(MARKER) else { return name == scrubbed };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split(MARKER).collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = name.find(part) else { return false };
        name = &name[at + part.len()..];
    }
    name.ends_with(last)
}

fn distinct_slugs(extra: &Map<String, Value>) -> String {
    let pages = extra.get("retrieved").and_then(Value::as_array);
    let slugs = pages.into_iter().flatten().filter_map(|page| page.get("slug")?.as_str());
    Value::from(crate::unique::unique_by(slugs, |slug| *slug)).to_string()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::capture::CaptureFields;
    use crate::id::SourceId;
    use crate::request::Operation;

    fn key(text: &str) -> PageKey {
        PageKey::parse(text, &SourceId::default()).unwrap()
    }

    fn row(slugs: &str, extra: &str) -> StoredCapture {
        let fields = CaptureFields {
            tool_name: Operation::Search,
            query: "diary".to_owned(),
            retrieved_slugs: slugs.to_owned(),
            retrieved_chunk_ids: "[1,2]".to_owned(),
            source_ids: r#"["default","wiki"]"#.to_owned(),
            expand_enabled: None,
            detail: None,
            detail_resolved: None,
            vector_enabled: false,
            expansion_applied: false,
            latency_ms: 1.0,
            remote: false,
            job_id: None,
            subagent_id: None,
            extra: extra.to_owned(),
        };
        StoredCapture { id: 1, created_at: Timestamp::UNIX_EPOCH, fields }
    }

    fn masked(identity: Option<IdentityKey>, slugs: &str, extra: &str) -> (bool, StoredCapture) {
        let names = PrivateNames::new([key("diary/one"), key("wiki::plans")], identity);
        let mut row = row(slugs, extra);
        (names.mask(&mut row), row)
    }

    #[test]
    fn a_private_page_is_a_marker_with_its_hash() {
        let identity = IdentityKey::new([7; 32]);
        let extra = r#"{"limit":5,"retrieved":[{"source_id":"default","slug":"notes/a"},{"source_id":"default","slug":"diary/one"},{"source_id":"default","slug":"plans"}]}"#;
        let (is_masked, row) = masked(Some(identity), r#"["notes/a","diary/one","plans"]"#, extra);
        assert!(is_masked);
        assert_eq!(row.fields.retrieved_slugs, r#"["notes/a","[REDACTED]","plans"]"#);
        let extra: Value = serde_json::from_str(&row.fields.extra).unwrap();
        assert_eq!(extra["retrieved"][1]["slug"], "[REDACTED]");
        assert_eq!(extra["retrieved"][1]["key_hash"], identity.keyed_page_hash(&key("diary/one")));
        assert_eq!(
            extra["retrieved"][2],
            serde_json::json!({"source_id": "default", "slug": "plans"})
        );
        assert_eq!(
            (extra["limit"].as_i64(), extra["identity_key_id"].as_str()),
            (Some(5), Some(identity.id().as_str()))
        );
    }

    #[test]
    fn a_private_page_whose_name_was_scrubbed_is_known_by_its_hash() {
        let (identity, other) = (IdentityKey::new([7; 32]), IdentityKey::new([8; 32]));
        let private = key("clients/jane.doe@example.com-merger");
        let public = key("clients/john.doe@example.com-merger");
        let names = PrivateNames::new([private.clone()], Some(identity));
        let shown = "clients/[REDACTED]-merger";
        let check = |hash: Option<String>, key_id: Option<String>, expected: bool| {
            let mut page = serde_json::json!({ "source_id": "default", "slug": shown });
            if let Some(hash) = &hash {
                page["key_hash"] = hash.as_str().into();
            }
            let extra = serde_json::json!({ "retrieved": [page], "identity_key_id": key_id });
            let mut row = row(&format!("[\"{shown}\"]"), &extra.to_string());
            assert_eq!(names.mask(&mut row), expected, "{extra}");
            let after: Value = serde_json::from_str(&row.fields.extra).unwrap();
            let slug = if expected { MARKER } else { shown };
            assert_eq!(after["retrieved"][0]["slug"], slug, "{extra}");
            assert_eq!(row.fields.retrieved_slugs, format!("[\"{slug}\"]"));
            assert_eq!(after["retrieved"][0]["key_hash"].as_str(), hash.as_deref());
        };
        let own = Some(identity.id());
        check(Some(identity.keyed_page_hash(&private)), own.clone(), true);
        check(Some(identity.keyed_page_hash(&public)), own, false);
        // It can't be told, so it is not told.
        check(Some(other.keyed_page_hash(&public)), Some(other.id()), true);
        check(None, None, true);
        // A row that has slugs only.
        let mut by_slug = row(&format!("[\"{shown}\",\"clients/[REDACTED]-sale\"]"), "{}");
        assert!(names.mask(&mut by_slug));
        let expected = r#"["[REDACTED]","clients/[REDACTED]-sale"]"#;
        assert_eq!(by_slug.fields.retrieved_slugs, expected);
    }

    #[test]
    fn a_marker_stands_for_any_text() {
        let check = |name: &str, scrubbed: &str, expected: bool| {
            assert_eq!(may_become(name, scrubbed), expected, "{name} {scrubbed}");
        };
        check("a/jane-b", "a/[REDACTED]-b", true);
        check("a/jane-b", "[REDACTED]", true);
        check("a/jane-b", "a/[REDACTED]-c", false);
        check("a/jane-b", "b/[REDACTED]-b", false);
        check("a/jane-and-joe-b", "a/[REDACTED]-and-[REDACTED]-b", true);
        check("a/jane-or-joe-b", "a/[REDACTED]-and-[REDACTED]-b", false);
        // Text before the marker is not repeated behind it.
        check("a-b", "a-b[REDACTED]-b", false);
        check("a/jane-b", "a/jane-b", true);
        check("a/jane-b", "a/jane", false);
    }

    #[test]
    fn a_row_of_another_key_gets_no_hash_and_a_row_without_private_pages_is_not_touched() {
        let identity = IdentityKey::new([7; 32]);
        let other = r#"{"identity_key_id":"0123456789abcdef","retrieved":[{"source_id":"default","slug":"diary/one"}]}"#;
        let (is_masked, row) = masked(Some(identity), r#"["diary/one"]"#, other);
        assert!(
            is_masked
                && !row.fields.extra.contains("key_hash")
                && !row.fields.extra.contains("diary")
        );
        let (is_masked, row) = masked(None, r#"["diary/one"]"#, "{}");
        assert!(is_masked);
        assert_eq!(row.fields.retrieved_slugs, r#"["[REDACTED]"]"#);
        let plain = r#"{ "retrieved":[{"source_id":"default","slug":"plans"}] }"#;
        let (is_masked, row) = masked(Some(identity), r#"["plans"]"#, plain);
        assert!(!is_masked, "plans of the source wiki is private, and this one is not");
        assert_eq!(row.fields.extra, plain);
        let again =
            r#"{"retrieved":[],"scrubbed_retrieved":[{"source_id":"default","slug":"diary/one"}]}"#;
        let (is_masked, row) = masked(Some(identity), "[]", again);
        assert!(is_masked && !row.fields.extra.contains("diary"));
    }
}
