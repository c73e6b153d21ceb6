//! The job and the subagent that a client names in a request's `_meta`.
//!
//! They are stored with captures, so an invalid value is refused instead of dropped.

use gbrain_core::request::Caller;
use rmcp::ErrorData;
use rmcp::model::RequestMetaObject;
use serde_json::Value;

const JOB: &str = "job_id";
const SUBAGENT: &str = "subagent_id";

/// Reads the caller from a request's metadata. MCP callers are always remote.
pub(super) fn of(meta: &RequestMetaObject) -> Result<Caller, ErrorData> {
    Ok(Caller { remote: true, job_id: number(meta, JOB)?, subagent_id: number(meta, SUBAGENT)? })
}

/// A number, or a string of digits: some clients send all metadata as strings.
fn number(meta: &RequestMetaObject, key: &str) -> Result<Option<i64>, ErrorData> {
    let number = match meta.get(key) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Number(number)) => number.as_i64(),
        Some(Value::String(text)) => text.parse().ok(),
        Some(_) => None,
    };
    let number = number.filter(|number| Caller::ID_RANGE.contains(number));
    number.map(Some).ok_or_else(|| {
        let wrong = format!("`{key}` in _meta must be a non-negative integer");
        ErrorData::invalid_params(wrong, None)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_read_and_everything_else_is_refused() {
        let check = |meta: Value, expected: Option<(Option<i64>, Option<i64>)>| {
            let meta: RequestMetaObject = serde_json::from_value(meta).unwrap();
            let found = of(&meta).ok().map(|caller| {
                assert!(caller.remote);
                (caller.job_id, caller.subagent_id)
            });
            assert_eq!(found, expected, "{meta:?}");
        };
        check(json!({}), Some((None, None)));
        check(json!({ "job_id": 7, "subagent_id": "8" }), Some((Some(7), Some(8))));
        check(json!({ "job_id": null }), Some((None, None)));
        check(json!({ "job_id": (1_i64 << 53) - 1 }), Some((Some((1 << 53) - 1), None)));
        for bad in [
            json!(1.5),
            json!("a"),
            json!(""),
            json!([1]),
            json!(true),
            json!(u64::MAX),
            json!(i64::MAX),
            json!(-8),
        ] {
            check(json!({ "job_id": bad }), None);
            check(json!({ "subagent_id": bad }), None);
        }
    }
}
