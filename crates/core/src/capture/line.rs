//! A capture as one line of an export: NDJSON, schema version 1.
//!
//! The lists and the members of `extra` are spliced in as they were stored. Nothing is parsed, so
//! an export is about as fast as the database can read.

use std::io::Write as _;

use crate::capture::{CaptureFields, StoredCapture};
use crate::request::Detail;

/// The version of the rows.
const SCHEMA_VERSION: u32 = 1;

/// Writes a capture as a JSON object and a newline, to the end of `out`.
///
/// The members come in the order of the schema's description, those of `extra` after them; the
/// caller guarantees that their names are unique.
pub fn write_line(row: &StoredCapture, out: &mut Vec<u8>) {
    let StoredCapture { id, created_at, fields } = row;
    let CaptureFields {
        tool_name,
        query,
        retrieved_slugs,
        retrieved_chunk_ids,
        source_ids,
        expand_enabled,
        detail,
        detail_resolved,
        vector_enabled,
        expansion_applied,
        latency_ms,
        remote,
        job_id,
        subagent_id,
        extra,
    } = fields;
    put(out, format_args!(r#"{{"schema_version":{SCHEMA_VERSION},"id":{id}"#));
    put(out, format_args!(r#","tool_name":"{tool_name}","query":"#));
    serde_json::to_writer(&mut *out, query).expect("a string becomes JSON and a Vec takes it");
    splice(out, r#","retrieved_slugs":"#, retrieved_slugs);
    splice(out, r#","retrieved_chunk_ids":"#, retrieved_chunk_ids);
    splice(out, r#","source_ids":"#, source_ids);
    splice(out, r#","expand_enabled":"#, expand_enabled.map_or("null", literal));
    splice(out, r#","detail":"#, quoted(*detail));
    splice(out, r#","detail_resolved":"#, quoted(*detail_resolved));
    splice(out, r#","vector_enabled":"#, literal(*vector_enabled));
    splice(out, r#","expansion_applied":"#, literal(*expansion_applied));
    // The schema requires finite numbers, and JSON can represent all of them.
    put(out, format_args!(r#","latency_ms":{latency_ms}"#));
    splice(out, r#","remote":"#, literal(*remote));
    number(out, r#","job_id":"#, *job_id);
    number(out, r#","subagent_id":"#, *subagent_id);
    put(out, format_args!(r#","created_at":"{created_at:.3}""#));
    let members = members(extra);
    splice(out, if members.is_empty() { "" } else { "," }, members);
    out.extend_from_slice(b"}\n");
}

/// The members of a JSON object, without the braces.
fn members(object: &str) -> &str {
    let object = object.trim();
    let inner = object.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    inner.unwrap_or("").trim()
}

fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a Vec takes whatever is written");
}

/// Writes a name and a piece of JSON. A line break in JSON is space between tokens, never text, and
/// a line must stay one.
fn splice(out: &mut Vec<u8>, name: &str, json: &str) {
    out.extend_from_slice(name.as_bytes());
    let start = out.len();
    out.extend_from_slice(json.as_bytes());
    for byte in &mut out[start..] {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
}

fn number(out: &mut Vec<u8>, name: &str, number: Option<i64>) {
    match number {
        Some(number) => put(out, format_args!("{name}{number}")),
        None => splice(out, name, "null"),
    }
}

fn literal(flag: bool) -> &'static str {
    if flag { "true" } else { "false" }
}

fn quoted(detail: Option<Detail>) -> &'static str {
    match detail {
        None => "null",
        Some(Detail::Low) => r#""low""#,
        Some(Detail::Medium) => r#""medium""#,
        Some(Detail::High) => r#""high""#,
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::request::Operation;

    fn capture() -> StoredCapture {
        let fields = CaptureFields {
            tool_name: Operation::Query,
            query: "who's \"Ada\"?\n\u{1}\\ 🦀 \u{2028}".to_owned(),
            retrieved_slugs: r#"["people/ada","größe"]"#.to_owned(),
            retrieved_chunk_ids: "[3,1,3]".to_owned(),
            source_ids: r#"["default"]"#.to_owned(),
            expand_enabled: Some(true),
            detail: None,
            detail_resolved: Some(Detail::Medium),
            vector_enabled: true,
            expansion_applied: false,
            latency_ms: 12.25,
            remote: true,
            job_id: None,
            subagent_id: Some(-7),
            extra: r#"{"limit":10,"filter":{"tags":["a"]}}"#.to_owned(),
        };
        StoredCapture { id: 42, created_at: Timestamp::UNIX_EPOCH, fields }
    }

    fn line(row: &StoredCapture) -> String {
        let mut out = Vec::new();
        write_line(row, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_line_has_the_members_in_order() {
        let expected = concat!(
            r#"{"schema_version":1,"id":42,"tool_name":"query","#,
            r#""query":"who's \"Ada\"?\n\u0001\\ 🦀 "#,
            "\u{2028}",
            r#"","retrieved_slugs":["people/ada","größe"],"retrieved_chunk_ids":[3,1,3],"#,
            r#""source_ids":["default"],"expand_enabled":true,"detail":null,"#,
            r#""detail_resolved":"medium","vector_enabled":true,"expansion_applied":false,"#,
            r#""latency_ms":12.25,"remote":true,"job_id":null,"subagent_id":-7,"#,
            r#""created_at":"1970-01-01T00:00:00.000Z","limit":10,"filter":{"tags":["a"]}}"#,
            "\n"
        );
        assert_eq!(line(&capture()), expected);
    }

    #[test]
    fn lines_are_added_to_what_is_there() {
        let mut out = b"x".to_vec();
        write_line(&capture(), &mut out);
        write_line(&capture(), &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), format!("x{0}{0}", line(&capture())));
    }

    #[test]
    fn times_have_milliseconds() {
        let check = |millisecond: i64, expected: &str| {
            let created_at = Timestamp::from_millisecond(millisecond).unwrap();
            let row = StoredCapture { created_at, ..capture() };
            let value: Value = serde_json::from_str(&line(&row)).unwrap();
            assert_eq!(value["created_at"], expected);
        };
        check(1_700_000_000_007, "2023-11-14T22:13:20.007Z");
        check(-1, "1969-12-31T23:59:59.999Z");
    }

    #[test]
    fn an_empty_object_and_line_breaks_leave_one_line() {
        for extra in ["{}", " {\n} ", "", "{\r\n \"a\" :\n[1]\n}"] {
            let mut row = capture();
            row.fields.extra = extra.to_owned();
            row.fields.source_ids = "[\n]".to_owned();
            let text = line(&row);
            assert_eq!(text.matches('\n').count(), 1, "{text}");
            let value: Value = serde_json::from_str(&text).unwrap();
            let expected = if extra.contains('a') { json!([1]) } else { Value::Null };
            assert_eq!(value["a"], expected);
        }
    }

    proptest! {
        #[test]
        fn any_query_and_number_is_one_line_of_json(
            query in any::<String>(),
            id in any::<i64>(),
            job in any::<Option<i64>>(),
            latency in 0.0..f64::MAX,
        ) {
            let mut row = StoredCapture { id, ..capture() };
            row.fields.query = query.clone();
            row.fields.job_id = job;
            row.fields.latency_ms = latency;
            let text = line(&row);
            prop_assert_eq!(text.find('\n'), Some(text.len() - 1));
            let value: Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(&value["query"], &json!(query));
            prop_assert_eq!(&value["id"], &json!(id));
            prop_assert_eq!(&value["job_id"], &json!(job));
            // Parsing may be off by a bit; writing may not.
            let written = format!("\"latency_ms\":{latency},");
            prop_assert!(text.contains(&written));
        }
    }
}
