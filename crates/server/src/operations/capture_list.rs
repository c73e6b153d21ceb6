//! Browses captures of remote callers: a filtered list, one capture, failures, and promotion to a
//! canonical query.
//!
//! Promises: rows are those of the export, so names of private pages are masked and captures of
//! local callers never appear; one call reads a bounded number of rows.

use std::ops::ControlFlow;

use gbrain_brain::capture::private_names;
use gbrain_core::capture::{FailureReason, StoredCapture, write_line};
use gbrain_core::clock::with_milliseconds;
use gbrain_core::fault::{Fault, FaultKind};
use gbrain_core::format::suite::{FilterEntry, QUERY_VERSION, QueryEntry, WireKey};
use gbrain_core::request::{Operation, RetrievalMode};
use gbrain_core::scrub::MARKER;
use gbrain_core::suite::anonymous::anonymous;
use gbrain_core::suite::query::{CanonicalQuery, Difficulty, QueryOrigin, QueryState, is_scrubbed};
use gbrain_eval::suite::{all_queries, import_queries};
use gbrain_store::{CaptureFilter, CapturePosition, WriteKind};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::bounds::{at_most, within};
use super::labels::exist;
use super::pages::parse_page_name;
use crate::http::{OperationCall, Reply};
use crate::wire_timestamp::WireTimestamp;

/// Most rows that one call reads while it looks for matching ones.
const MAX_READ: usize = 5_000;
const DEFAULT_LIMIT: u16 = 50;
const MAX_LIMIT: u16 = 200;
/// Most bytes of rows in one answer.
const MAX_BYTES: usize = 4 << 20;
const MAX_FAILURES: u16 = 1_000;

/// Whether a capture found something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CaptureResults {
    With,
    Without,
}

/// Which captures to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListCaptures {
    /// Only queries that contain this text, ignoring case.
    text: Option<String>,
    /// Only this operation: `query` or `search`.
    tool: Option<Operation>,
    /// Only this requested retrieval mode: `knowledge`, `graph` or `hybrid`.
    mode: Option<RetrievalMode>,
    /// Only captures that returned a page of this source.
    source: Option<String>,
    /// Only captures `with` or `without` results.
    results: Option<CaptureResults>,
    /// Stored at or after this time.
    since: Option<WireTimestamp>,
    /// Stored before this time.
    until: Option<WireTimestamp>,
    /// Where the page of the list starts: `next_before` of the page before.
    #[schemars(regex(pattern = "^[0-9]{1,14}-[0-9]{1,18}$"))]
    before: Option<String>,
    /// The maximum number of captures; 50 by default.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u16>,
}

/// Captures, newest first.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CapturesBody {
    /// The rows, as in the export.
    #[schemars(with = "Vec<Value>")]
    captures: Vec<Box<RawValue>>,
    /// Where the next page of the list starts; null at the end. A page may have fewer captures than
    /// the limit, or none, and not be the last: one call reads 5,000 rows at most.
    next_before: Option<String>,
    /// Rows read to find these.
    read: usize,
}

/// A capture by its id.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CaptureNumber {
    #[schemars(range(min = 1))]
    id: i64,
}

/// One capture.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CaptureBody {
    /// The row, as in the export.
    #[schemars(with = "Value")]
    capture: Box<RawValue>,
    /// The canonical query with the same text; null if there is none.
    canonical: Option<CanonicalQueryName>,
}

/// A canonical query by its number and id.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CanonicalQueryName {
    number: i64,
    id: String,
    /// candidate, active or retired.
    state: QueryState,
}

/// Which capture failures to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListFailures {
    /// At or after this time.
    since: Option<WireTimestamp>,
    /// The maximum number of failures; 100 by default.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u16>,
}

/// Requests that were not captured.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FailuresBody {
    /// Newest first.
    failures: Vec<FailureBody>,
    /// How many there are, in all.
    total: u64,
}

/// A request that was not captured. Neither the query nor the error message is part of it: messages
/// may contain names of this machine.
#[derive(Debug, Serialize, JsonSchema)]
struct FailureBody {
    #[serde(serialize_with = "with_milliseconds")]
    #[schemars(with = "String")]
    at: Timestamp,
    reason: FailureReason,
}

/// How to promote a capture.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PromoteCapture {
    /// The pages that must be found, as `source::slug`; the first result of the capture by default.
    #[serde(default)]
    #[schemars(length(max = 100), inner(length(min = 1, max = 546)))]
    expected: Option<Vec<String>>,
    /// Whether suites ask the query from now on. By default it is a candidate, which a person
    /// accepts with `gbrain queries promote --accept`.
    #[serde(default)]
    active: bool,
}

/// The canonical query that a capture became.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PromotedBody {
    number: i64,
    id: String,
    /// candidate, active or retired.
    state: QueryState,
    /// One of: added; joined, if a query with that text existed; unchanged.
    outcome: &'static str,
}

/// The parts of a row that filters read.
#[derive(Deserialize)]
struct FilteredExtra {
    #[serde(default)]
    retrieval_mode: Option<RetrievalMode>,
}

pub(crate) fn list(call: &OperationCall<'_>, input: ListCaptures) -> Result<Reply, Fault> {
    at_most("`text`", input.text.as_deref(), 1_000)?;
    at_most("`source`", input.source.as_deref(), 100)?;
    within("limit", input.limit, 1..=MAX_LIMIT)?;
    let limit = usize::from(input.limit.unwrap_or(DEFAULT_LIMIT));
    let filter = CaptureFilter {
        since: input.since.map(|since| since.0),
        until: input.until.map(|until| until.0),
        tool: input.tool,
        remote: Some(true),
        older_than: input.before.as_deref().map(position).transpose()?,
        limit: Some(MAX_READ as u64 + 1),
        ..CaptureFilter::default()
    };
    let matcher = CaptureMatcher::new(&input);
    let private = private(call)?;
    let mut body = CapturesBody { captures: Vec::new(), next_before: None, read: 0 };
    let (mut last, mut bytes): (Option<String>, usize) = (None, 0);
    call.registry.store().captures(&call.principal.workspace, &filter, &mut |mut row| {
        let is_full = body.captures.len() == limit || body.read == MAX_READ || bytes > MAX_BYTES;
        if is_full || call.stop.is_stopped() {
            body.next_before = last.take();
            return Ok(ControlFlow::Break(()));
        }
        body.read += 1;
        last = Some(format!("{}-{}", row.created_at.as_millisecond(), row.id));
        private.mask(&mut row);
        if matcher.is_match(&row) {
            let raw = raw(&row);
            bytes += raw.get().len();
            body.captures.push(raw);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    call.check_stop()?;
    Reply::json(&body)
}

/// The filters that are not part of the SQL: they mean the same on both engines.
struct CaptureMatcher<'a> {
    text: Option<String>,
    mode: Option<RetrievalMode>,
    source: Option<&'a str>,
    results: Option<CaptureResults>,
}

impl<'a> CaptureMatcher<'a> {
    fn new(input: &'a ListCaptures) -> Self {
        let ListCaptures { text, mode, source, results, .. } = input;
        let text = text.as_ref().map(|text| text.to_lowercase());
        Self { text, mode: *mode, source: source.as_deref(), results: *results }
    }

    fn is_match(&self, row: &StoredCapture) -> bool {
        let fields = &row.fields;
        let has_text = |text: &String| fields.query.to_lowercase().contains(text.as_str());
        let has_source = |source: &str| {
            serde_json::from_str::<Vec<String>>(&fields.source_ids)
                .is_ok_and(|sources| sources.iter().any(|one| one == source))
        };
        let has_mode = |mode: RetrievalMode| {
            serde_json::from_str::<FilteredExtra>(&fields.extra)
                .is_ok_and(|extra| extra.retrieval_mode == Some(mode))
        };
        let has_results = |wanted: CaptureResults| {
            let pages: Vec<Value> =
                serde_json::from_str(&fields.retrieved_slugs).unwrap_or_default();
            pages.is_empty() == (wanted == CaptureResults::Without)
        };
        self.text.as_ref().is_none_or(has_text)
            && self.source.is_none_or(has_source)
            && self.mode.is_none_or(has_mode)
            && self.results.is_none_or(has_results)
    }
}

pub(crate) fn show(call: &OperationCall<'_>, input: CaptureNumber) -> Result<Reply, Fault> {
    let row = find(call, input.id)?;
    let hash = CanonicalQuery::normalized_text_hash(&anonymous(&row.fields.query));
    let all = all_queries(call.registry.store(), &call.principal.workspace)?.read;
    let same =
        all.into_iter().find(|one| CanonicalQuery::normalized_text_hash(&one.query.text) == hash);
    let canonical = same.map(|one| CanonicalQueryName {
        number: one.number,
        id: one.query.id,
        state: one.query.state,
    });
    Reply::json(&CaptureBody { capture: raw(&row), canonical })
}

pub(crate) fn failures(call: &OperationCall<'_>, input: ListFailures) -> Result<Reply, Fault> {
    within("limit", input.limit, 1..=MAX_FAILURES)?;
    let (store, ws) = (call.registry.store(), &call.principal.workspace);
    let since = input.since.map(|since| since.0);
    let failures = store.capture_failures(ws, since, usize::from(input.limit.unwrap_or(100)))?;
    Reply::json(&FailuresBody {
        total: store.count_capture_failures(ws, since, None)?,
        failures: failures
            .iter()
            .map(|one| FailureBody { at: one.at, reason: one.reason })
            .collect(),
    })
}

/// Makes a canonical query of a capture, as `gbrain queries promote` does of many.
pub(crate) fn promote(
    call: &OperationCall<'_>,
    input: CaptureNumber,
    body: PromoteCapture,
) -> Result<Reply, Fault> {
    let row = find(call, input.id)?;
    if is_scrubbed(&anonymous(&row.fields.query)) {
        return Err(Fault::new(FaultKind::Input, "the query of this capture was scrubbed: its text stands for several queries with different answers")
            .hint("write the query without personal data: `gbrain queries add TEXT --expected PAGE`"));
    }
    let keys = match body.expected {
        Some(expected) => checked(call, expected)?,
        None => first_result(&row).into_iter().collect(),
    };
    let suites = call.registry.suites();
    let ws = &call.principal.workspace;
    let identity = suites.identity.as_ref().map(|key| key.for_workspace(ws));
    let entry = entry(&row, keys, body.active);
    let store = call.registry.store();
    let import =
        import_queries(store, ws, vec![entry], &suites.scrubber, identity.as_ref(), call.now)
            .map_err(|error| Fault::new(FaultKind::Input, error.to_string()))?;
    let made = import.queries.into_iter().next();
    let made = made.ok_or_else(|| Fault::internal("a capture became no query"))?;
    let outcome = match made.kind {
        WriteKind::Added => "added",
        WriteKind::Changed => "joined",
        _ => "unchanged",
    };
    Reply::json(&PromotedBody { number: made.number, id: made.id, state: made.state, outcome })
}

/// The capture as a canonical query.
fn entry(row: &StoredCapture, keys: Vec<String>, is_active: bool) -> QueryEntry {
    let mode = serde_json::from_str::<FilteredExtra>(&row.fields.extra);
    QueryEntry {
        schema_version: QUERY_VERSION,
        id: None,
        query: row.fields.query.clone(),
        original_hash: None,
        source: keys.first().and_then(|page| Some(page.split_once("::")?.0.to_owned())),
        difficulty: Difficulty::default(),
        // The default mode is the target's own choice.
        retrieval_mode: mode
            .ok()
            .and_then(|extra| extra.retrieval_mode)
            .filter(|mode| *mode != RetrievalMode::Hybrid),
        filter: FilterEntry::default(),
        family: None,
        expected: keys.first().cloned().map(WireKey::Document).into_iter().collect(),
        acceptable: keys.iter().skip(1).cloned().map(WireKey::Document).collect(),
        expected_snippets: Vec::new(),
        entities: Vec::new(),
        answer_end: None,
        tags: Vec::new(),
        origin: QueryOrigin::Analytics,
        state: if is_active { QueryState::Active } else { QueryState::Candidate },
    }
}

/// Pages that the caller may see, by their full names.
fn checked(call: &OperationCall<'_>, expected: Vec<String>) -> Result<Vec<String>, Fault> {
    if expected.len() > 100 {
        return Err(Fault::usage("`expected` must have at most 100 pages"));
    }
    let keys: Vec<_> =
        expected.iter().map(|page| parse_page_name(page)).collect::<Result<_, _>>()?;
    if let Some((key, _)) = keys.iter().zip(exist(call, &keys)?).find(|(_, exists)| !exists) {
        return Err(Fault::not_found(format!("there is no page `{key}`")));
    }
    Ok(keys.iter().map(ToString::to_string).collect())
}

/// The first page of the ranking, if its name is not masked.
fn first_result(row: &StoredCapture) -> Option<String> {
    #[derive(Deserialize)]
    struct CapturedRanking {
        retrieved: Vec<RankedName>,
    }
    #[derive(Deserialize)]
    struct RankedName {
        source_id: String,
        slug: String,
    }
    let ranked: CapturedRanking = serde_json::from_str(&row.fields.extra).ok()?;
    let RankedName { source_id, slug } = ranked.retrieved.into_iter().next()?;
    Some(format!("{source_id}::{slug}")).filter(|name| !name.contains(MARKER))
}

/// A capture of a remote caller, masked.
fn find(call: &OperationCall<'_>, id: i64) -> Result<StoredCapture, Fault> {
    let filter = CaptureFilter { id: Some(id), remote: Some(true), ..CaptureFilter::default() };
    let mut found = None;
    call.registry.store().captures(&call.principal.workspace, &filter, &mut |row| {
        found = Some(row);
        Ok(ControlFlow::Break(()))
    })?;
    let mut row = found.ok_or_else(|| {
        Fault::not_found(format!("there is no capture {id}")).hint("it may have been pruned")
    })?;
    private(call)?.mask(&mut row);
    Ok(row)
}

/// A captured page may have been made private since.
fn private(call: &OperationCall<'_>) -> Result<gbrain_core::capture::PrivateNames, Fault> {
    let ws = &call.principal.workspace;
    let identity = call.registry.suites().identity.map(|key| key.for_workspace(ws));
    Ok(private_names(call.registry.store(), ws, identity)?)
}

/// The row as the export writes it.
fn raw(row: &StoredCapture) -> Box<RawValue> {
    let mut line = Vec::new();
    write_line(row, &mut line);
    let text = String::from_utf8(line).unwrap_or_default();
    RawValue::from_string(text.trim_end().to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// The place that `next_before` names.
fn position(text: &str) -> Result<CapturePosition, Fault> {
    let parts = text.split_once('-').and_then(|(at, id)| {
        Some(CapturePosition {
            at: Timestamp::from_millisecond(at.parse().ok()?).ok()?,
            id: id.parse().ok()?,
        })
    });
    parts.ok_or_else(|| Fault::usage("`before` is not a `next_before` of this list"))
}
