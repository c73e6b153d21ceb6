//! The changes of the labelling queue.

use gbrain_core::fault::Fault;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Fields;
use super::call::ConsoleCall;

/// Grades a result, marks it, or withdraws the judgement. The fields of a form hold the reader's
/// judgement so far, so that a button changes one part of it.
pub(super) fn grade(call: &ConsoleCall<'_>, fields: &Fields) -> Result<String, Fault> {
    let is_borderline = fields.get("borderline").is_some();
    let own = fields.get("own").map(number).transpose()?;
    let span = fields.get("span");
    match fields.get("action") {
        Some("undo") => withdraw(call, fields)?,
        Some("restore") => {
            put(call, fields, number(fields.require("grade")?)?, is_borderline, span)?;
        }
        // A page that answers, even barely, is relevant.
        Some("borderline") => put(call, fields, own.unwrap_or(1), !is_borderline, span)?,
        Some("span") => put(call, fields, own.unwrap_or(1), is_borderline, span)?,
        Some(other) => return Err(Fault::usage(format!("unknown action `{other}`"))),
        // A grade replaces the whole judgement but for its text.
        None => {
            let grade = number(fields.require("grade")?)?;
            put(call, fields, grade, is_borderline && own == Some(grade), span)?;
        }
    }
    Ok(back(fields))
}

fn number(text: &str) -> Result<i64, Fault> {
    text.parse().map_err(|_| Fault::usage(format!("`{text}` is no grade")))
}

fn put(
    call: &ConsoleCall<'_>,
    fields: &Fields,
    grade: i64,
    is_borderline: bool,
    span: Option<&str>,
) -> Result<(), Fault> {
    let label = json!({
        "query": fields.require("text")?,
        "page": fields.require("page")?,
        "grade": grade,
        "borderline": is_borderline,
        "span": span,
    });
    call.send::<Value>("add_labels", &[], &json!({ "labels": [label] })).map(drop)
}

fn withdraw(call: &ConsoleCall<'_>, fields: &Fields) -> Result<(), Fault> {
    let parameters = [("id", fields.require("label")?), ("own", "true")];
    call.read::<Value>("remove_label", &parameters).map(drop)
}

/// The same query, at the same result, with the same neighbours in the queue.
fn back(fields: &Fields) -> String {
    let query = fields.only(&["query", "next", "previous"]);
    let query = serde_urlencoded::to_string(query).unwrap_or_default();
    let rank = fields.get("rank").filter(|rank| rank.bytes().all(|byte| byte.is_ascii_digit()));
    format!("/labels?{query}#result-{}", rank.unwrap_or("1"))
}

/// Settles a conflict.
pub(super) fn settle(call: &ConsoleCall<'_>, fields: &Fields) -> Result<String, Fault> {
    let grade = number(fields.require("grade")?)?;
    let id = fields.require("id")?;
    call.send::<Value>("settle_label", &[("id", id)], &json!({ "grade": grade }))?;
    Ok("/labels/conflicts".to_owned())
}

/// Counts of a promotion; queries are joined where pairs are changed.
#[derive(Deserialize)]
struct PromotionCounts {
    added: u64,
    #[serde(alias = "joined")]
    changed: u64,
    left_out: u64,
}

/// Makes canonical queries or calibration pairs of the labels.
pub(super) fn promote(call: &ConsoleCall<'_>, fields: &Fields) -> Result<String, Fault> {
    let what = fields.require("what")?;
    let PromotionCounts { added, changed, left_out } = match what {
        "queries" => {
            let body = json!({ "active": fields.get("active").is_some() });
            call.send("labels_to_queries", &[], &body)?
        }
        "pairs" => call.send("labels_to_pairs", &[], &json!({}))?,
        other => return Err(Fault::usage(format!("labels do not become `{other}`"))),
    };
    Ok(format!("/labels?promoted={what}&added={added}&changed={changed}&left_out={left_out}"))
}
