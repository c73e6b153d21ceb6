//! From captures to a baseline.
//!
//! Real captures repeat questions: the newest answer is kept, and how often it was asked is its
//! weight. Rows that can't be gated on are left out and listed.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::capture::{CAPTURE_VERSION, CapturedRow};

use super::hash::{RowsHash, end_member, query_hash, source_hash};
use super::key::BaselineKey;
use super::metadata::{
    BaselineMetadata, BaselineThresholds, KIND, PastBaseline, ThresholdsError, WireMetadata,
};

/// Input of a baseline.
#[derive(Debug, Clone)]
pub struct BaselineDraft {
    /// A name for people.
    pub label: String,
    /// When it is published.
    pub published_at: Timestamp,
    /// The thresholds that a replay must reach.
    pub thresholds: BaselineThresholds,
    /// Why it is published.
    pub why: Option<String>,
    /// The baseline that it replaces.
    pub previous: Option<BaselineMetadata>,
    /// The key that signs it.
    pub key: Option<BaselineKey>,
}

/// A row that was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "RefusedRow")]
pub struct RefusedRow {
    /// Its line, from 1.
    pub line: usize,
    /// Why it can't be gated on.
    pub reason: &'static str,
}

/// A baseline, ready to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedBaseline {
    pub text: String,
    pub metadata: BaselineMetadata,
    /// Number of captures that the rows represent.
    pub weight_total: u64,
    /// Rows that were left out.
    pub refused: Vec<RefusedRow>,
    /// Lines of rows that came from real use.
    pub real: Vec<usize>,
}

/// Why nothing was published.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PublishError {
    /// No rows at all.
    #[error("no rows to publish (empty input)")]
    Empty,
    /// Every row was left out.
    #[error("none of the {0} rows can be gated on")]
    AllRefused(usize),
    /// A threshold that nothing can be measured against.
    #[error(transparent)]
    Thresholds(#[from] ThresholdsError),
}

/// A row with the object it was read from.
type InputRow = (Value, CapturedRow);

/// Makes a baseline. The same rows at the same time give the same bytes.
pub fn publish(
    rows: Vec<InputRow>,
    draft: &BaselineDraft,
) -> Result<PublishedBaseline, PublishError> {
    draft.thresholds.check()?;
    if rows.is_empty() {
        return Err(PublishError::Empty);
    }
    let total = rows.len();
    let (refused, kept): (Vec<_>, Vec<_>) =
        rows.into_iter().map(|(value, row)| (refusal(&row), value, row)).partition(is_refused);
    let refused: Vec<RefusedRow> = refused
        .into_iter()
        .filter_map(|(reason, _, row)| Some(RefusedRow { line: row.line, reason: reason? }))
        .collect();
    if kept.is_empty() {
        return Err(PublishError::AllRefused(total));
    }
    let folded = fold(kept.into_iter().map(|(_, value, row)| (value, row)));
    Ok(write(folded, refused, draft))
}

fn is_refused((reason, _, _): &(Option<&'static str>, Value, CapturedRow)) -> bool {
    reason.is_some()
}

/// Why a row can't be gated on.
fn refusal(row: &CapturedRow) -> Option<&'static str> {
    match row.expected() {
        _ if row.query.trim().is_empty() => Some("empty query"),
        None => Some("no retrieved_slugs"),
        Some([]) => Some("nothing was found: there is no ranking to keep"),
        Some(_) if row.filter_scrubbed => {
            Some("scrubbing changed a filter: it can't be asked again")
        }
        Some(pages) if pages.iter().any(|page| page.is_scrubbed() && page.key_hash.is_none()) => {
            Some("names of its pages were scrubbed and have no key_hash: they can't be told apart")
        }
        Some(_) if row.expansion_applied && row.variants.is_empty() => {
            Some("its query was expanded by a model, and it does not say into what")
        }
        Some(_) if row.rerank_model.is_some() && row.scrubbed_retrieved.is_none() => {
            Some("its order is that of a model, which a gate does not ask")
        }
        Some(_) if row.scrubbed == Some(true) && row.scrubbed_retrieved.is_none() => {
            Some("scrubbing changed its query and the ranking of what is left is not known")
        }
        Some(_) if !row.degraded.is_empty() => Some("a stage could not do its work"),
        Some(_) => None,
    }
}

/// The fields that identify a request; captures that share them are the same request.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct RequestKey {
    tool: &'static str,
    query_hash: String,
    /// All other fields of the request, as text.
    rest: String,
}

fn request_key(value: &Value, row: &CapturedRow) -> RequestKey {
    let rest = if row.is_whole {
        let plain = format!(
            "{:?} {:?} {:?} {:?} {:?} {:?}",
            row.limit, row.detail, row.mode, row.filter, row.trust, row.vectors
        );
        // Files of requests without variants keep their order.
        if row.variants.is_empty() { plain } else { format!("{plain} {:?}", row.variants) }
    } else {
        // Rows of other gbrains do not say what was asked for; their sources stand for the scope.
        let sources = value.get("source_ids").and_then(Value::as_array).cloned();
        let mut names: Vec<String> =
            sources.unwrap_or_default().iter().map(ToString::to_string).collect();
        names.sort();
        names.join(" ")
    };
    RequestKey { tool: row.operation.name(), query_hash: query_hash(&row.query), rest }
}

/// One row per request: the newest, with the weight of all.
fn fold(rows: impl Iterator<Item = InputRow>) -> BTreeMap<RequestKey, (Value, CapturedRow)> {
    let mut folded: BTreeMap<RequestKey, (Value, CapturedRow)> = BTreeMap::new();
    for (value, row) in rows {
        let key = request_key(&value, &row);
        match folded.entry(key) {
            std::collections::btree_map::Entry::Vacant(entry) => {
                entry.insert((value, row));
            }
            std::collections::btree_map::Entry::Occupied(mut entry) => {
                let weight = entry.get().1.weight.saturating_add(row.weight);
                if age(&row) < age(&entry.get().1) {
                    entry.insert((value, row));
                }
                entry.get_mut().1.weight = weight;
            }
        }
    }
    folded
}

/// Newest first; rows without a time keep the order of the export, which has the newest first.
fn age(row: &CapturedRow) -> (Reverse<Option<Timestamp>>, Reverse<Option<i64>>, usize) {
    (Reverse(row.created_at), Reverse(row.id), row.line)
}

fn write(
    folded: BTreeMap<RequestKey, (Value, CapturedRow)>,
    refused: Vec<RefusedRow>,
    draft: &BaselineDraft,
) -> PublishedBaseline {
    let lines: Vec<String> = folded
        .iter()
        .map(|(key, (value, row))| row_line(value, &key.query_hash, row.weight))
        .collect();
    let rows: Vec<&CapturedRow> = folded.values().map(|(_, row)| row).collect();
    let real: Vec<usize> = rows.iter().filter(|row| row.is_real()).map(|row| row.line).collect();
    let weight_total = rows.iter().fold(0, |sum: u64, row| sum.saturating_add(row.weight));
    let mut wire = WireMetadata {
        schema_version: CAPTURE_VERSION,
        _kind: KIND.to_owned(),
        label: draft.label.clone(),
        published_at: milliseconds(draft.published_at),
        source_hash: source_hash(folded.keys().map(|key| key.query_hash.as_str())),
        thresholds: draft.thresholds,
        row_count: lines.len(),
        baseline_mean_latency_ms: mean_latency(&rows),
        weight_total: Some(weight_total),
        synthetic: Some(real.is_empty()),
        why: draft.why.clone(),
        history: history(draft.previous.as_ref()),
        key_id: draft.key.as_ref().map(BaselineKey::id),
        rows_hash: None,
        rows_hmac: None,
    };
    let bare = serde_json::to_string(&wire).expect("metadata has text keys only");
    let mut hash = RowsHash::new(&bare, None, None);
    lines.iter().for_each(|line| hash.line(line));
    let hash = hash.finish();
    let signature = draft.key.as_ref().map(|key| key.sign(&hash));
    let mut ends = end_member("rows_hash", &hash);
    ends.extend(signature.as_deref().map(|signature| end_member("rows_hmac", signature)));
    let head = format!("{}{ends}}}", &bare[..bare.len() - 1]);
    (wire.rows_hash, wire.rows_hmac) = (Some(hash), signature);
    let text = std::iter::once(&head).chain(&lines).map(|line| format!("{line}\n")).collect();
    PublishedBaseline { text, metadata: wire.into(), weight_total, refused, real }
}

/// A moment as every gbrain writes it: milliseconds and `Z`.
pub(crate) fn milliseconds(at: Timestamp) -> String {
    format!("{at:.3}")
}

fn row_line(value: &Value, query_hash: &str, weight: u64) -> String {
    let mut object = Map::new();
    object.insert("schema_version".to_owned(), CAPTURE_VERSION.into());
    let members = value.as_object().cloned().unwrap_or_default();
    object.extend(members);
    object.insert("query_hash".to_owned(), query_hash.into());
    object.insert("weight".to_owned(), weight.into());
    Value::Object(object).to_string()
}

fn mean_latency(rows: &[&CapturedRow]) -> Option<f64> {
    let known: Vec<f64> = rows.iter().filter_map(|row| row.latency_ms).collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

/// Maximum number of earlier baselines that a file lists.
const HISTORY: usize = 100;

fn history(previous: Option<&BaselineMetadata>) -> Vec<PastBaseline> {
    let Some(previous) = previous else { return Vec::new() };
    let newest = PastBaseline {
        label: previous.label.clone(),
        published_at: previous.published_at.clone(),
        row_count: previous.row_count,
        rows_hash: previous.rows_hash.clone(),
        why: previous.why.clone(),
    };
    std::iter::once(newest).chain(previous.history.iter().cloned()).take(HISTORY).collect()
}
