//! A capture of a target: a captured request with the target's answer and its duration.
//!
//! Its latency can be compared with that target's later, which no capture of another retriever can
//! be.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::identity::IdentityKey;
use crate::scrub::Scrubber;

use super::CapturedPage;

/// The fields of a captured row that describe the request and its caller.
const REQUEST_KEYS: [&str; 24] = [
    "schema_version",
    "id",
    "tool_name",
    "query",
    "expand_enabled",
    "detail",
    "detail_resolved",
    "vector_enabled",
    "expansion_applied",
    "remote",
    "job_id",
    "subagent_id",
    "request_version",
    "limit",
    "retrieval_mode",
    "vectors",
    "source_scope",
    "filters",
    "trust",
    "now",
    "expansion_variants",
    "scrubbed",
    "synthetic",
    "weight",
];

/// The answer of a target.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetCapture<'a> {
    /// The target's name and where it is, as provenance says it.
    pub target: &'a str,
    /// Its pages, in order.
    pub pages: &'a [CapturedPage],
    /// The shortest time of its answers, in milliseconds.
    pub latency_ms: f64,
    /// Number of repeated requests.
    pub repeats: u32,
    pub at: Timestamp,
    /// Keeps names apart that scrubbing makes the same.
    pub identity: Option<&'a IdentityKey>,
}

impl TargetCapture<'_> {
    /// The row: the request of a captured one with this answer.
    pub fn row(&self, captured: &Value, scrubber: &Scrubber) -> Value {
        let Self { target, pages, latency_ms, repeats, at, identity } = self;
        let asked = |key: &&str| Some(((*key).to_owned(), captured.get(*key)?.clone()));
        let mut row: Map<String, Value> = REQUEST_KEYS.iter().filter_map(asked).collect();
        let slugs: Vec<String> = pages.iter().map(|page| scrubber.scrub_slug(&page.slug)).collect();
        let sources: Option<Vec<&String>> = pages.iter().map(|page| page.source.as_ref()).collect();
        // Without sources the pages can only be compared by slug, and the row says so by leaving it out.
        if let Some(sources) = sources {
            let named: Vec<Value> =
                pages.iter().zip(&slugs).map(|(page, slug)| self.named(page, slug)).collect();
            let has_hash = named.iter().any(|page| page.get("key_hash").is_some());
            if let Some(key) = identity.filter(|_| has_hash) {
                row.insert("identity_key_id".to_owned(), json!(key.id()));
            }
            if row.get("scrubbed") == Some(&Value::Bool(true)) {
                row.insert("scrubbed_retrieved".to_owned(), json!(named));
            }
            row.insert("retrieved".to_owned(), json!(named));
            row.insert("source_ids".to_owned(), json!(distinct(sources)));
        }
        row.insert("retrieved_slugs".to_owned(), json!(distinct(slugs.iter().collect())));
        row.insert("latency_ms".to_owned(), json!(latency_ms));
        row.insert("latency_repeats".to_owned(), json!(repeats));
        row.insert("target".to_owned(), json!(target));
        row.insert("created_at".to_owned(), json!(format!("{at:.3}")));
        Value::Object(row)
    }

    /// A page by its scrubbed name, with a hash of its own one where scrubbing changed it.
    fn named(&self, page: &CapturedPage, slug: &str) -> Value {
        let source = page.source.as_deref().unwrap_or_default();
        match self.identity.filter(|_| slug != page.slug) {
            None => json!({ "source_id": source, "slug": slug }),
            Some(key) => json!({
                "source_id": source, "slug": slug, "key_hash": key.keyed_page_hash_of(source, &page.slug),
            }),
        }
    }
}

fn distinct(names: Vec<&String>) -> Vec<&String> {
    let mut kept: Vec<&String> = Vec::new();
    for name in names {
        if !kept.contains(&name) {
            kept.push(name);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::capture::read_row;

    #[test]
    fn the_request_stays_and_everything_else_is_the_target_s() {
        let captured = json!({
            "schema_version": 1, "tool_name": "query", "query": "who?", "limit": 5, "latency_ms": 9,
            "retrieved": [{ "source_id": "w", "slug": "old" }], "cache": "hit", "embedder": "m",
            "cpu_time": { "cpu_ms": 1, "calibration_ms": 1, "repeats": 5, "method": "thread_cpu_min_1" },
        });
        let pages = [CapturedPage::parse("w::new"), CapturedPage::parse("v::new")];
        let target = "prod (https://example.test)";
        let at = Timestamp::UNIX_EPOCH;
        let key = IdentityKey::new([1; 32]);
        let identity = Some(&key);
        let answer =
            TargetCapture { target, pages: &pages, latency_ms: 31.5, repeats: 3, at, identity };
        let row = read_row(answer.row(&captured, &Scrubber::default()), 1).unwrap();
        assert_eq!(row.expected().unwrap(), pages);
        assert_eq!((row.latency_ms, row.latency_repeats), (Some(31.5), Some(3)));
        assert_eq!(row.provenance.target.as_deref(), Some(target));
        assert_eq!((row.cpu_time, row.provenance.embedder), (None, None));
        assert!(row.is_whole && row.limit == Some(5));
        // Names that scrubbing makes the same stay apart.
        let pages = [
            CapturedPage::parse("w::people/a@b.example"),
            CapturedPage::parse("w::people/c@d.example"),
        ];
        let row = TargetCapture { pages: &pages, ..answer }.row(&captured, &Scrubber::default());
        assert!(!row.to_string().contains("b.example"), "{row}");
        let row = read_row(row, 1).unwrap();
        let found = row.expected().unwrap();
        assert!(found[0].slug == found[1].slug && found[0] != found[1], "{found:?}");
        assert_eq!(row.identity_key_id, Some(key.id()));
    }
}
