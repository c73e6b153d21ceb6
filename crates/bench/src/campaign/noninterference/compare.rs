//! The permitted differences between two answers.

use jiff::Timestamp;
use serde_json::Value;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Reply {
    /// The status of HTTP or of a process; 0 over standard input and output.
    pub(super) status: i32,
    pub(super) body: String,
}

/// How an answer came about, times, and what docs/serving.md says to include private pages: the fingerprint of the
/// whole corpus, and the number of the last change.
const VOLATILE: [&str; 6] = [
    "served",
    "corpus",
    "generation",
    // Covers when a baseline was published; its rows are compared themselves.
    "rows_hash",
    "request_id",
    "uptime_seconds",
];
/// Names of moments, where they hold one. A date, or a page, is compared.
const MOMENTS: [&str; 4] = ["at", "from", "until", "since"];
/// Ends of the names of times.
const TIMES: [&str; 2] = ["_at", "_ms"];
/// In the names of what is made of times: ratios, and counts of slow rows.
const LATENCY: &str = "latency";
/// Metrics whose values are measurements of the process.
const MEASURED: [&str; 7] =
    ["_seconds", "_bytes", "process_", "memory", "cpu", "generation", "_created"];

/// Between the parts of a line that a person reads.
const PART: &str = " · ";

impl Reply {
    /// Whether the request was done.
    pub(super) fn is_success(&self) -> bool {
        let message: Value = serde_json::from_str(&self.body).unwrap_or_default();
        let is_refused = message["error"].is_object() || message["result"]["isError"] == true;
        matches!(self.status, 0 | 200..300) && !is_refused
    }
}

/// Where two answers differ; none if they do not.
pub(super) fn difference(operation: &str, plain: &Reply, more: &Reply) -> Option<String> {
    if plain.status != more.status {
        return Some(format!("{plain:?} became {more:?}"));
    }
    let (plain, more) = match operation {
        "metrics" => (metrics(&plain.body), metrics(&more.body)),
        "list_baselines" => (without_hashes(&plain.body), without_hashes(&more.body)),
        _ => (lines(&plain.body), lines(&more.body)),
    };
    let at = plain.bytes().zip(more.bytes()).position(|(one, other)| one != other);
    let at = at.or((plain.len() != more.len()).then(|| plain.len().min(more.len())))?;
    Some(format!("`{}` became `{}`", around(&plain, at), around(&more, at)))
}

fn around(text: &str, at: usize) -> String {
    let bytes = &text.as_bytes()[at.saturating_sub(120)..(at + 120).min(text.len())];
    String::from_utf8_lossy(bytes).into_owned()
}

/// A document, or each line, without what may differ; a line is a JSON document or text.
fn lines(body: &str) -> String {
    if let Ok(mut value) = serde_json::from_str::<Value>(body) {
        mask(&mut value);
        return value.to_string();
    }
    body.split('\n').map(masked_line).collect::<Vec<_>>().join("\n")
}

fn masked_line(line: &str) -> String {
    let (prefix, document) = match line.strip_prefix("data: ") {
        Some(document) => ("data: ", document),
        None => ("", line),
    };
    match serde_json::from_str::<Value>(document) {
        Ok(mut value) => {
            mask(&mut value);
            format!("{prefix}{value}")
        }
        // Text output contains the duration among other parts.
        Err(_) if line.contains(PART) => {
            let is_time = |part: &&str| part.strip_suffix(" ms").is_some_and(is_number);
            line.split(PART).filter(|part| !is_time(part)).collect::<Vec<_>>().join(PART)
        }
        Err(_) => line.to_owned(),
    }
}

fn is_moment(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.parse::<Timestamp>().is_ok())
}

fn is_number(text: &str) -> bool {
    text.parse::<f64>().is_ok()
}

fn mask(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                let is_volatile = VOLATILE.contains(&name.as_str())
                    || name.contains(LATENCY)
                    || TIMES.iter().any(|end| name.ends_with(end))
                    || MOMENTS.contains(&name.as_str()) && is_moment(value);
                if is_volatile { *value = Value::Null } else { mask(value) }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(mask),
        // The text of a tool's answer is a document of its own.
        Value::String(text) if text.starts_with('{') => *text = masked_line(text),
        _ => {}
    }
}

/// A list of baselines without their hashes, which cover when they were published.
fn without_hashes(body: &str) -> String {
    let mut list: Value = serde_json::from_str(body).unwrap_or_default();
    for document in list["documents"].as_array_mut().into_iter().flatten() {
        document["hash"] = Value::Null;
    }
    lines(&list.to_string())
}

/// The metrics that are no measurements of the process.
fn metrics(body: &str) -> String {
    let is_measured = |line: &&str| MEASURED.iter().any(|part| line.contains(part));
    body.lines().filter(|line| !is_measured(line)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(body: &str) -> Reply {
        Reply { status: 200, body: body.to_owned() }
    }

    #[test]
    fn only_volatile_fields_may_differ() {
        let check = |one: &str, other: &str, is_same: bool| {
            let found = difference("query", &reply(one), &reply(other));
            assert_eq!(found.is_none(), is_same, "{one} {other}: {found:?}");
        };
        check(r#"{"served":{"behind":0},"hits":[]}"#, r#"{"served":null,"hits":[]}"#, true);
        check(r#"{"hits":[1]}"#, r#"{"hits":[]}"#, false);
        check(r#"{"text":"{\"created_at\":1}"}"#, r#"{"text":"{\"created_at\":2}"}"#, true);
        check(r#"{"text":"{\"rank\":1}"}"#, r#"{"text":"{\"rank\":2}"}"#, false);
        check("data: {\"started_at\":1}", "data: {\"started_at\":2}", true);
        check("plain", "plainer", false);
        check("3 hits · 1.5 ms · without graph", "3 hits · 1.6 ms · without graph", true);
        check("3 hits · words 4 · 1.5 ms", "3 hits · words 5 · 1.5 ms", false);
        let (one, other) = (reply("{}"), Reply { status: 404, body: "{}".to_owned() });
        assert!(difference("query", &one, &other).is_some());
    }

    #[test]
    fn numbers_of_pages_in_metrics_may_not_differ() {
        let check = |one: &str, other: &str, is_same: bool| {
            assert_eq!(difference("metrics", &reply(one), &reply(other)).is_none(), is_same);
        };
        check("gbrain_request_seconds_sum 1.0", "gbrain_request_seconds_sum 2.0", true);
        check("gbrain_pages 1", "gbrain_pages 2", false);
    }
}
