//! Suites and their runs, and events that they wait for. Runs name ids of queries and of pages that every
//! caller may see; why something failed may name hosts and files, and is not told.

use gbrain_core::fault::Fault;
use gbrain_core::format::suite::{EventBody, SuiteRunsBody, SuitesBody};
use gbrain_core::suite::due::EventKind;
use gbrain_eval::suite::wire;
use gbrain_store::{NewEvent, SuiteRunFilter};
use schemars::JsonSchema;
use serde::Deserialize;

use super::bounds::{at_most, within};
use crate::http::{Call, NoParameters, Reply};

/// Runs that are told of, unless it is said how many.
const RUNS: u16 = 20;

/// Which runs to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListSuiteRuns {
    /// The suite.
    #[schemars(length(min = 1, max = 64))]
    name: String,
    /// Runs with lower numbers than this.
    #[serde(default)]
    #[schemars(range(min = 1))]
    before: Option<i64>,
    /// How many.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u16>,
}

/// A run by its number.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SuiteRunNumber {
    /// Its number.
    #[schemars(range(min = 1))]
    pub(super) id: i64,
}

/// Something that happened.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TellEvent {
    /// What.
    kind: EventKind,
    /// To which document.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    document: String,
    /// In which version. The same document and version told again is no news.
    #[schemars(length(min = 1, max = 200))]
    version: String,
}

pub(crate) fn list(call: &Call<'_>, _: NoParameters) -> Result<Reply, Fault> {
    let suites = wire::suites(call.house.store(), &call.who.workspace, None)?;
    Reply::json(&SuitesBody { suites })
}

/// Lists the runs of a suite.
pub(crate) fn runs(call: &Call<'_>, input: ListSuiteRuns) -> Result<Reply, Fault> {
    within("limit", input.limit, 1..=1000)?;
    within("before", input.before, 1..=i64::MAX)?;
    at_most("the name of a suite", Some(&input.name), 64)?;
    let limit = usize::from(input.limit.unwrap_or(RUNS));
    let filter = SuiteRunFilter {
        suite: Some(input.name),
        before: input.before,
        ..SuiteRunFilter::default()
    };
    let runs = call.house.store().suite_runs(&call.who.workspace, &filter, limit)?;
    let next = runs.last().filter(|_| runs.len() == limit).map(|run| run.id);
    Reply::json(&SuiteRunsBody { runs: runs.iter().map(wire::line).collect(), next })
}

pub(crate) fn show(call: &Call<'_>, input: SuiteRunNumber) -> Result<Reply, Fault> {
    let found = call.house.store().suite_run(&call.who.workspace, input.id)?;
    let found = found.as_ref().and_then(wire::whole);
    let mut found =
        found.ok_or_else(|| Fault::not_found(format!("there is no run {}", input.id)))?;
    found.summary.notes.clear();
    if let Some(run) = &mut found.run {
        run.notes.clear();
        run.cases.iter_mut().flatten().for_each(|case| case.error_message = None);
    }
    Reply::json(&found)
}

pub(crate) fn tell(call: &Call<'_>, _: NoParameters, input: TellEvent) -> Result<Reply, Fault> {
    let TellEvent { kind, document, version } = input;
    if document.len() > 1024 || !(1..=200).contains(&version.len()) {
        return Err(Fault::usage("a document takes up to 1024 bytes, a version 1 to 200"));
    }
    let event = NewEvent { kind: kind.name().to_owned(), document, version, body: "{}".to_owned() };
    let told = call.house.store().add_event(&call.who.workspace, &event, call.now)?;
    Reply::json(&EventBody {
        seq: told.seq,
        kind: event.kind,
        document: event.document,
        version: event.version,
        at: None,
        is_new: Some(told.is_new),
    })
}
