//! Stored baselines and qrels, by name.

use std::io::Cursor;
use std::ops::ControlFlow;
use std::path::Path;

use gbrain_brain::capture::private_names;
use gbrain_core::baseline::{Baseline, BaselineDraft, BaselineThresholds, SignatureCheck, publish};
use gbrain_core::capture::{CapturedRow, write_line};
use gbrain_core::fault::{Fault, FaultKind};
use gbrain_core::format::serving::{DocumentOutcomeBody, QrelsStoredBody};
use gbrain_core::id::WorkspaceId;
use gbrain_core::qrels::{Qrels, QrelsError};
use gbrain_core::reading::meter::ReadingMeter;
use gbrain_core::reading::shape::ReadingCost;
use gbrain_core::report::json::PublishBody;
use gbrain_eval::{Input, read_baseline, read_captures, read_publishable};
use gbrain_store::{CaptureFilter, DocumentInfo, DocumentKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounds::{at_most, within};
use super::limits::CallLimits;
use crate::http::{NDJSON, NoParameters, OperationCall, Reply};
use crate::jobs::{RowSelection, refuse_trusted};
use crate::wire_timestamp::WireTimestamp;
use crate::workspace_registry::WorkspaceRegistry;

/// Most captures that are read at once.
pub(crate) const MAX_ROWS: u32 = 100_000;

/// Memory cost of parsing qrels. The reader counts its own allocations.
pub(crate) const QRELS_COST: ReadingCost = ReadingCost { copies: 2, per_value: 0, per_object: 0 };

pub(crate) const NAME_PATTERN: &str = r"^[A-Za-z0-9][A-Za-z0-9._-]*$";

/// Stored documents, by name.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DocumentsBody {
    /// The documents.
    documents: Vec<DocumentInfo>,
}

/// A document by its name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DocumentName {
    /// The document's name: letters, digits, `-`, `_` and `.`.
    #[schemars(length(min = 1, max = 100), regex(pattern = NAME_PATTERN))]
    pub(crate) name: String,
}

/// The captures and thresholds of a new baseline.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PublishBaseline {
    /// A display name; by default the document's name.
    #[serde(default)]
    #[schemars(length(max = 200))]
    label: Option<String>,
    /// Why it is published.
    #[serde(default)]
    #[schemars(length(max = 2000))]
    why: Option<String>,
    /// Captures stored at or after this time.
    #[serde(default)]
    since: Option<WireTimestamp>,
    /// Captures stored before this time.
    #[serde(default)]
    until: Option<WireTimestamp>,
    /// At most this many, the newest.
    #[serde(default)]
    #[schemars(range(min = 1, max = 100_000))]
    limit: Option<u32>,
    /// Minimum mean Jaccard overlap that a gate accepts.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1))]
    threshold_jaccard: Option<f64>,
    /// Minimum share of rows with the same first page.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1))]
    threshold_top1: Option<f64>,
    /// Maximum latency as a multiple of the baseline's.
    #[serde(default)]
    #[schemars(extend("exclusiveMinimum" = 0))]
    threshold_latency_multiplier: Option<f64>,
}

pub(crate) fn list_baselines(call: &OperationCall<'_>, _: NoParameters) -> Result<Reply, Fault> {
    list(call, DocumentKind::Baseline)
}

pub(crate) fn list_qrels(call: &OperationCall<'_>, _: NoParameters) -> Result<Reply, Fault> {
    list(call, DocumentKind::Qrels)
}

fn list(call: &OperationCall<'_>, kind: DocumentKind) -> Result<Reply, Fault> {
    let documents = call.registry.store().documents(&call.principal.workspace, kind)?;
    Reply::json(&DocumentsBody { documents })
}

/// Returns a stored baseline as JSON lines.
pub(crate) fn get_baseline(call: &OperationCall<'_>, input: DocumentName) -> Result<Reply, Fault> {
    let text = text(call.registry, &call.principal.workspace, DocumentKind::Baseline, &input.name)?;
    Ok(Reply::Text { content_type: NDJSON, bytes: text.into_bytes() })
}

/// Returns stored qrels as they were uploaded.
pub(crate) fn get_qrels(call: &OperationCall<'_>, input: DocumentName) -> Result<Reply, Fault> {
    let text = text(call.registry, &call.principal.workspace, DocumentKind::Qrels, &input.name)?;
    Ok(Reply::Text { content_type: "text/plain; charset=utf-8", bytes: text.into_bytes() })
}

/// Publishes captures of remote callers as a baseline.
pub(crate) fn publish_baseline(
    call: &OperationCall<'_>,
    input: DocumentName,
    body: PublishBaseline,
) -> Result<Reply, Fault> {
    let name = checked(input.name)?;
    let own = BaselineThresholds::default();
    let thresholds = BaselineThresholds {
        jaccard: body.threshold_jaccard.unwrap_or(own.jaccard),
        top1: body.threshold_top1.unwrap_or(own.top1),
        latency_multiplier: body.threshold_latency_multiplier.unwrap_or(own.latency_multiplier),
    };
    thresholds.check().map_err(|error| Fault::of(FaultKind::Usage, &error))?;
    at_most("a label", body.label.as_deref(), 200)?;
    at_most("a reason", body.why.as_deref(), 2000)?;
    within("limit", body.limit, 1..=MAX_ROWS)?;
    let window =
        RowSelection { baseline: None, since: body.since, until: body.until, limit: body.limit };
    let lines = lines_of(call.registry, &call.principal.workspace, &window)?;
    let rows = read_publishable(Input::new(Path::new("captures"), Cursor::new(lines)))?;
    let previous = match call.registry.store().document(
        &call.principal.workspace,
        DocumentKind::Baseline,
        &name,
    )? {
        None => None,
        Some(document) => {
            let signature = SignatureCheck::if_signed(call.registry.baseline_key());
            Some(parse_baseline(&document.body, signature)?.metadata)
        }
    };
    let draft = BaselineDraft {
        label: body.label.unwrap_or_else(|| name.clone()),
        published_at: call.now,
        thresholds,
        why: body.why,
        previous,
        key: call.registry.baseline_key().cloned(),
    };
    let published = publish(rows, &draft).map_err(|error| {
        Fault::of(FaultKind::Input, &error).hint("requests are captured while eval.capture is on")
    })?;
    let store = call.registry.store();
    store.put_document(
        &call.principal.workspace,
        DocumentKind::Baseline,
        &name,
        &published.text,
        call.now,
    )?;
    Reply::json(&PublishBody::new(&name, &published))
}

pub(crate) fn delete_baseline(
    call: &OperationCall<'_>,
    input: DocumentName,
) -> Result<Reply, Fault> {
    delete(call, DocumentKind::Baseline, input.name)
}

pub(crate) fn delete_qrels(call: &OperationCall<'_>, input: DocumentName) -> Result<Reply, Fault> {
    delete(call, DocumentKind::Qrels, input.name)
}

fn delete(call: &OperationCall<'_>, kind: DocumentKind, name: String) -> Result<Reply, Fault> {
    let name = checked(name)?;
    if !call.registry.store().delete_document(&call.principal.workspace, kind, &name)? {
        return Err(nothing(kind, &name));
    }
    Reply::json(&DocumentOutcomeBody { name, outcome: "removed" })
}

/// Stores qrels in any format that `eval --qrels` reads.
pub(crate) fn put_qrels(
    call: &OperationCall<'_>,
    input: DocumentName,
    text: &str,
) -> Result<Reply, Fault> {
    let name = checked(input.name)?;
    let (queries, judgements) = {
        let limits = CallLimits::new(call);
        let (reserve, is_stopped) = (|bytes| limits.reserve(bytes), || limits.is_stopped());
        let qrels = parse_qrels(text, &limits, &mut ReadingMeter::new(&reserve, &is_stopped))?;
        (qrels.queries.len(), qrels.judgements())
    };
    call.check_stop()?;
    let store = call.registry.store();
    let replaced = store.put_document(
        &call.principal.workspace,
        DocumentKind::Qrels,
        &name,
        text,
        call.now,
    )?;
    Reply::json(&QrelsStoredBody {
        name,
        outcome: if replaced { "replaced" } else { "added" },
        queries,
        judgements,
    })
}

/// A stored baseline, verified.
pub(crate) fn baseline(
    registry: &WorkspaceRegistry,
    ws: &WorkspaceId,
    name: &str,
) -> Result<Baseline, Fault> {
    let signature = SignatureCheck::required(registry.baseline_key());
    let baseline = parse_baseline(&text(registry, ws, DocumentKind::Baseline, name)?, signature)?;
    refuse_trusted(&baseline.rows)?;
    Ok(baseline)
}

pub(crate) fn qrels(
    registry: &WorkspaceRegistry,
    ws: &WorkspaceId,
    name: &str,
) -> Result<Qrels, Fault> {
    let text = text(registry, ws, DocumentKind::Qrels, name)?;
    Qrels::parse(text.as_bytes()).map_err(|error| unreadable(&error))
}

/// Like `qrels`, within the limits of a call.
pub(crate) fn qrels_for_call(
    call: &OperationCall<'_>,
    name: &str,
    limits: &CallLimits<'_>,
    meter: &mut ReadingMeter<'_>,
) -> Result<Qrels, Fault> {
    let text = text(call.registry, &call.principal.workspace, DocumentKind::Qrels, name)?;
    let _stored = call.memory.add_document(text.len())?;
    parse_qrels(&text, limits, meter)
}

/// Captures of remote callers, newest first.
pub(crate) fn captures_of(
    registry: &WorkspaceRegistry,
    ws: &WorkspaceId,
    window: &RowSelection,
) -> Result<Vec<CapturedRow>, Fault> {
    let lines = lines_of(registry, ws, window)?;
    if lines.is_empty() {
        return Ok(Vec::new());
    }
    Ok(read_captures(Input::new(Path::new("captures"), Cursor::new(lines)))?.rows)
}

/// Captures of remote callers only: callers may not see what the owner queried locally.
fn lines_of(
    registry: &WorkspaceRegistry,
    ws: &WorkspaceId,
    window: &RowSelection,
) -> Result<Vec<u8>, Fault> {
    let limit = u64::from(window.limit.unwrap_or(MAX_ROWS).min(MAX_ROWS));
    let filter = CaptureFilter {
        since: window.since.map(|moment| moment.0),
        until: window.until.map(|moment| moment.0),
        remote: Some(true),
        limit: Some(limit),
        ..CaptureFilter::default()
    };
    // A captured page may have been made private since.
    let identity = registry.suites().identity.map(|key| key.for_workspace(ws));
    let private = private_names(registry.store(), ws, identity)?;
    let mut lines = Vec::new();
    registry.store().captures(ws, &filter, &mut |mut row| {
        private.mask(&mut row);
        write_line(&row, &mut lines);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(lines)
}

fn parse_baseline(text: &str, signature: SignatureCheck) -> Result<Baseline, Fault> {
    let input = Input::new(Path::new("baseline"), Cursor::new(text)).checking(signature);
    Ok(read_baseline(input)?)
}

fn parse_qrels(
    text: &str,
    limits: &CallLimits<'_>,
    meter: &mut ReadingMeter<'_>,
) -> Result<Qrels, Fault> {
    Qrels::parse_metered(text.as_bytes(), meter).map_err(|error| match error {
        QrelsError::Interrupted(interrupted) => limits.fault(&error, Some(interrupted)),
        error => unreadable(&error),
    })
}

fn unreadable(error: &QrelsError) -> Fault {
    Fault::of(FaultKind::Input, error)
        .hint("send JSON in a format that `gbrain eval --qrels` reads, or TREC lines")
}

fn text(
    registry: &WorkspaceRegistry,
    ws: &WorkspaceId,
    kind: DocumentKind,
    name: &str,
) -> Result<String, Fault> {
    let document = registry.store().document(ws, kind, &checked(name.to_owned())?)?;
    document.map(|document| document.body).ok_or_else(|| nothing(kind, name))
}

fn nothing(kind: DocumentKind, name: &str) -> Fault {
    Fault::not_found(format!("there is no {kind} `{name}`"))
}

/// Checks that a name is safe in a URL and as a file name.
pub(crate) fn checked(name: String) -> Result<String, Fault> {
    let is_valid = (1..=100).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        && name.as_bytes()[0].is_ascii_alphanumeric();
    if is_valid {
        return Ok(name);
    }
    Err(Fault::usage(
        "a name is 1 to 100 letters, digits, `-`, `_` and `.`, starting with a letter or digit",
    ))
}
