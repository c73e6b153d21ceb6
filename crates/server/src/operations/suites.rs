//! Suites, their runs, and the events that trigger them. Runs name only queries and pages that
//! every caller may see; error details may name hosts and files and are not returned.

use gbrain_core::fault::Fault;
use gbrain_core::format::suite::{EventBody, SuiteRunsBody, SuitesBody};
use gbrain_core::suite::due::EventKind;
use gbrain_eval::suite::wire;
use gbrain_store::{NewEvent, SuiteRunFilter};
use schemars::JsonSchema;
use serde::Deserialize;

use super::bounds::{at_most, within};
use crate::http::{NoParameters, OperationCall, Reply};

/// Default number of listed runs.
const DEFAULT_RUNS: u16 = 20;

/// Which runs to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListSuiteRuns {
    /// The name of the suite whose runs are listed.
    #[schemars(length(min = 1, max = 64))]
    name: String,
    /// Runs with a lower id than this.
    #[serde(default)]
    #[schemars(range(min = 1))]
    before: Option<i64>,
    /// The maximum number of runs; 20 by default.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u16>,
}

/// A suite run by its id.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SuiteRunNumber {
    /// The id of the run, as listed for its suite.
    #[schemars(range(min = 1))]
    pub(super) id: i64,
}

/// An event that triggers suites.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "TellEvent")]
#[serde(deny_unknown_fields)]
pub(crate) struct ReportEvent {
    /// The kind of event.
    kind: EventKind,
    /// The document that changed.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    document: String,
    /// The document's new version. Reporting the same document and version again has no effect.
    #[schemars(length(min = 1, max = 200))]
    version: String,
}

pub(crate) fn list(call: &OperationCall<'_>, _: NoParameters) -> Result<Reply, Fault> {
    let suites = wire::suites(call.registry.store(), &call.principal.workspace, None)?;
    Reply::json(&SuitesBody { suites })
}

pub(crate) fn runs(call: &OperationCall<'_>, input: ListSuiteRuns) -> Result<Reply, Fault> {
    within("limit", input.limit, 1..=1000)?;
    within("before", input.before, 1..=i64::MAX)?;
    at_most("the name of a suite", Some(&input.name), 64)?;
    let limit = usize::from(input.limit.unwrap_or(DEFAULT_RUNS));
    let filter = SuiteRunFilter {
        suite: Some(input.name),
        before: input.before,
        ..SuiteRunFilter::default()
    };
    let runs = call.registry.store().suite_runs(&call.principal.workspace, &filter, limit)?;
    let next = runs.last().filter(|_| runs.len() == limit).map(|run| run.id);
    Reply::json(&SuiteRunsBody { runs: runs.iter().map(wire::run_line).collect(), next })
}

pub(crate) fn show(call: &OperationCall<'_>, input: SuiteRunNumber) -> Result<Reply, Fault> {
    let found = call.registry.store().suite_run(&call.principal.workspace, input.id)?;
    let found = found.as_ref().and_then(wire::recorded_run);
    let mut found =
        found.ok_or_else(|| Fault::not_found(format!("there is no run {}", input.id)))?;
    found.summary.notes.clear();
    if let Some(run) = &mut found.run {
        run.notes.clear();
        run.cases.iter_mut().flatten().for_each(|case| case.error_message = None);
    }
    Reply::json(&found)
}

pub(crate) fn report_event(
    call: &OperationCall<'_>,
    _: NoParameters,
    input: ReportEvent,
) -> Result<Reply, Fault> {
    let ReportEvent { kind, document, version } = input;
    if document.len() > 1024 || !(1..=200).contains(&version.len()) {
        return Err(Fault::usage("`document` must have at most 1024 bytes, `version` 1 to 200"));
    }
    let event = NewEvent { kind: kind.name().to_owned(), document, version, body: "{}".to_owned() };
    let receipt = call.registry.store().add_event(&call.principal.workspace, &event, call.now)?;
    Reply::json(&EventBody {
        seq: receipt.seq,
        kind: event.kind,
        document: event.document,
        version: event.version,
        at: None,
        is_new: Some(receipt.is_new),
    })
}
