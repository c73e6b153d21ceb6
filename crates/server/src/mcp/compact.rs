//! Tool results sized for an agent: text and scores, without the fields that only programs need.
//!
//! By default a result has no hashes, offsets, fingerprints, timings or null values, and an answer of `query` or
//! `search` stays within a byte budget. With the argument `details: true` a tool returns the body of the HTTP API
//! unchanged.
//!
//! Not decided here: which pages a caller may see, and in which order. Hits are never removed or reordered.

use gbrain_core::fault::Fault;
use rmcp::model::JsonObject;
use serde_json::{Value, json};

/// The argument that asks for the whole body.
pub(super) const DETAILS: &str = "details";

/// Keys that are omitted without `details`.
const OMITTED: [&str; 31] = [
    "arms",
    "behind",
    "cache",
    "chunk_id",
    "chunks",
    "content_hash",
    "corpus",
    "detail_resolved",
    "detected_by",
    "embedder",
    "end",
    "evidence_chunk",
    "evidence_end",
    "evidence_start",
    "expansion_applied",
    "generation",
    "highlights",
    "intent",
    "ordinal",
    "pair_id",
    "part",
    "recency",
    "request",
    "rerank_model",
    "rerank_threshold",
    "retrieval_mode_resolved",
    "schema_version",
    "settings_hash",
    "start",
    "timings_us",
    "vector_enabled",
];

/// The largest answer of ten hits, in bytes of JSON.
const MAX_ANSWER: usize = 6_000;
/// The allowance for each hit of a longer answer.
const MAX_HIT: usize = 600;
/// Lengths that snippets are shortened to, in characters, until the answer fits.
const SNIPPET_LENGTHS: [usize; 4] = [320, 200, 120, 60];
/// Edges of a hit that remain in an answer that is too large.
const MAX_EDGES: usize = 2;

/// Removes the argument `details` and returns its value; false when it is missing.
pub(super) fn take_details(arguments: &mut JsonObject) -> Result<bool, Fault> {
    match arguments.remove(DETAILS) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(details)) => Ok(details),
        Some(_) => Err(Fault::usage(format!("`{DETAILS}` must be true or false"))),
    }
}

/// Omits what an agent does not need.
pub(super) fn compact(document: &mut Value) {
    omit(document);
    if document.get("hits").is_some_and(Value::is_array) {
        shorten(document);
    }
}

fn omit(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.retain(|key, value| !OMITTED.contains(&key.as_str()) && !value.is_null());
            object.values_mut().for_each(omit);
            if object.get("served") == Some(&json!({})) {
                object.remove("served");
            }
        }
        Value::Array(items) => items.iter_mut().for_each(omit),
        _ => {}
    }
}

/// Fits an answer into its budget: further passages go first, then further edges, then the ends of snippets.
fn shorten(answer: &mut Value) {
    let count = answer["hits"].as_array().map_or(0, Vec::len);
    // The trace and the reason for a missing page were asked for, so they do not count.
    let extra = answer.get("why_not").map_or(0, size)
        + hits(answer).filter_map(|hit| hit.get("trace")).map(size).sum::<usize>();
    let budget = MAX_ANSWER.max(count * MAX_HIT) + extra;
    let mut total = size(answer);
    for (list, max_items) in [("passages", 1), ("edges", MAX_EDGES)] {
        for hit in hits(answer).rev() {
            if total <= budget {
                return;
            }
            let before = size(hit);
            if let Some(items) = hit.get_mut(list).and_then(Value::as_array_mut) {
                items.truncate(max_items);
            }
            total -= before - size(hit);
        }
    }
    for max_chars in SNIPPET_LENGTHS {
        if size(answer) <= budget {
            return;
        }
        hits(answer).for_each(|hit| shorten_snippets(hit, max_chars));
    }
}

fn hits(answer: &mut Value) -> impl DoubleEndedIterator<Item = &mut Value> {
    answer["hits"].as_array_mut().into_iter().flatten()
}

fn shorten_snippets(hit: &mut Value, max_chars: usize) {
    for passage in hit.get_mut("passages").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(Value::String(snippet)) = passage.get_mut("snippet") else { continue };
        if let Some((end, _)) = snippet.char_indices().nth(max_chars) {
            snippet.truncate(end);
            snippet.push('…');
        }
    }
}

fn size(value: &Value) -> usize {
    value.to_string().len()
}

/// Adds the argument `details` to the input schema of a tool.
pub(super) fn describe_details(input: &mut JsonObject) {
    let details = json!({
        "type": ["boolean", "null"],
        "default": false,
        "description": "Also return ids, hashes, offsets, timings and settings. Leave it out unless you need them.",
    });
    let properties = input.entry("properties").or_insert_with(|| json!({}));
    properties[DETAILS] = details;
}

/// Makes the keys optional that are only there with `details`, and those that may be null.
pub(super) fn relax(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            let optional: Vec<String> = match object.get("properties") {
                Some(Value::Object(properties)) => {
                    let is_optional = |key: &str, schema: &Value| {
                        OMITTED.contains(&key) || key == "served" || is_nullable(schema)
                    };
                    let optional = properties.iter().filter(|(key, one)| is_optional(key, one));
                    optional.map(|(key, _)| key.clone()).collect()
                }
                _ => Vec::new(),
            };
            if let Some(Value::Array(required)) = object.get_mut("required") {
                required.retain(|key| !optional.iter().any(|one| key == one.as_str()));
            }
            object.values_mut().for_each(relax);
        }
        Value::Array(items) => items.iter_mut().for_each(relax),
        _ => {}
    }
}

fn is_nullable(schema: &Value) -> bool {
    let is_null = |value: &Value| *value == "null" || value["type"] == "null";
    ["type", "anyOf"].iter().any(|key| match &schema[*key] {
        Value::Array(choices) => choices.iter().any(is_null),
        only => is_null(only),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(hits: usize, snippet: &str) -> Value {
        let passage = json!({ "chunk_id": "c".repeat(64), "ordinal": 3, "part": "body",
            "section": "Notes", "start": 10, "end": 900, "score": 7.25, "snippet": snippet,
            "highlights": [[0, 4]] });
        let hit = |rank: usize| {
            json!({ "rank": rank, "source_id": "wiki", "slug": format!("people/ada-{rank}"),
                "title": format!("Ada {rank}"), "type": "person", "effective_date": null,
                "score": 0.857_142_857_142_857_1, "evidence": "some_words",
                "create_safety": "unknown", "passages": [passage, passage, passage] })
        };
        json!({ "schema_version": 1, "operation": "query", "query": "who paints boats?",
            "request": { "limit": 10, "settings_hash": "a".repeat(64) },
            "corpus": { "root": "b".repeat(64) }, "grade": "weak",
            "hits": (1..=hits).map(hit).collect::<Vec<_>>(),
            "served": { "generation": 4, "behind": 0, "cache": "miss",
                        "timings_us": { "words": 120 } } })
    }

    #[test]
    fn ten_hits_take_at_most_6_kb_and_are_mostly_text() {
        for length in [240, 1_000, 20_000] {
            let mut document = answer(10, &"boats and more ".repeat(length / 15));
            compact(&mut document);
            let text = document.to_string();
            assert!(text.len() <= 6 << 10, "{} bytes", text.len());
            assert_eq!(document["hits"].as_array().unwrap().len(), 10);
            let snippets: usize = hits(&mut document)
                .flat_map(|hit| hit["passages"].as_array().unwrap())
                .map(|passage| passage["snippet"].as_str().unwrap().len())
                .sum();
            assert!(2 * snippets > text.len(), "{snippets} of {} bytes", text.len());
            for key in OMITTED {
                assert!(!text.contains(&format!("\"{key}\":")), "{key}: {text}");
            }
        }
    }

    #[test]
    fn a_short_answer_keeps_every_passage() {
        let mut document = answer(2, "boats");
        compact(&mut document);
        assert_eq!(document["hits"][1]["passages"].as_array().unwrap().len(), 3);
        assert_eq!(document["hits"][0]["score"], 0.857_142_857_142_857_1);
        assert!(document.get("served").is_none());
    }

    #[test]
    fn the_argument_is_a_boolean() {
        let mut arguments = rmcp::model::object(json!({ "query": "a", "details": true }));
        assert_eq!(take_details(&mut arguments), Ok(true));
        assert_eq!(take_details(&mut arguments), Ok(false));
        arguments.insert(DETAILS.to_owned(), json!("yes"));
        assert_eq!(take_details(&mut arguments).unwrap_err().kind.name(), "usage");
    }

    #[test]
    fn keys_that_may_be_missing_are_not_required() {
        let mut schema = json!({
            "properties": { "slug": { "type": "string" }, "content_hash": { "type": "string" },
                            "date": { "type": ["string", "null"] } },
            "required": ["slug", "content_hash", "date"],
        });
        relax(&mut schema);
        assert_eq!(schema["required"], json!(["slug"]));
    }
}
