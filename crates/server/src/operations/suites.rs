//! Suites, their runs, and the events that trigger them. Runs name only queries and pages that
//! every caller may see; error details may name hosts and files and are not returned.

use gbrain_core::fault::Fault;
use gbrain_core::format::serving::QueuedBody;
use gbrain_core::format::suite::{
    Drift, EventBody, SuiteEntry, SuiteFile, SuiteInfo, SuiteJobLine, SuiteRunsBody, SuiteShown,
    SuitesBody,
};
use gbrain_core::job::JobState;
use gbrain_core::suite::due::EventKind;
use gbrain_eval::suite::{ATTEMPTS, KIND, SuiteJob, asked_key, group, wire};
use gbrain_store::{
    BacklogPolicy, JobFilter, JobInfo, NewDueRun, NewEvent, NewJob, SuiteRunFilter,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::activity::LastDays;
use super::bounds::{at_most, filled_at_most, within};
use crate::http::{NoParameters, OperationCall, Reply};

/// Default number of listed runs.
const DEFAULT_RUNS: u16 = 20;
/// Default number of days of the heat map.
const DEFAULT_SUITE_DAYS: u16 = 90;
/// Default number of runs of a trend.
const DEFAULT_TRENDS: u16 = 14;
/// Most unfinished jobs per workspace.
const OPEN_JOBS: usize = 100;

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

/// A suite by its name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SuiteName {
    /// The name of the suite.
    #[schemars(length(min = 1, max = 64))]
    name: String,
}

/// Which trends to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListTrends {
    /// Only this suite, with all its measures; by default all suites with one measure each.
    #[serde(default)]
    #[schemars(length(min = 1, max = 64))]
    suite: Option<String>,
    /// The number of runs of a suite; 14 by default, at most 30 without `suite`.
    #[serde(default)]
    #[schemars(range(min = 1, max = 200))]
    runs: Option<u16>,
}

pub(crate) fn list(call: &OperationCall<'_>, _: NoParameters) -> Result<Reply, Fault> {
    Reply::json(&SuitesBody { suites: suites(call)? })
}

/// The suites, compared with the suites file of this server if it can be read.
fn suites(call: &OperationCall<'_>) -> Result<Vec<SuiteInfo>, Fault> {
    let file = suites_file(call);
    Ok(wire::suites(call.registry.store(), &call.principal.workspace, file.as_ref(), call.now)?)
}

fn suites_file(call: &OperationCall<'_>) -> Option<SuiteFile> {
    let settings = (call.registry.suites().alerts.registry.read)();
    match settings.problem {
        Some(_) => None,
        // Without a file, nothing is in it.
        None => Some(settings.file.unwrap_or_default()),
    }
}

/// Shows a suite with its definition and its unfinished jobs.
pub(crate) fn definition(call: &OperationCall<'_>, input: SuiteName) -> Result<Reply, Fault> {
    at_most("the name of a suite", Some(&input.name), 64)?;
    let (store, ws) = (call.registry.store(), &call.principal.workspace);
    let unknown = || Fault::not_found(format!("there is no suite `{}`", input.name));
    let suite = suites(call)?.into_iter().find(|one| one.name == input.name).ok_or_else(unknown)?;
    let stored = store.suite(ws, &input.name)?;
    let definition = stored.and_then(|one| serde_json::from_str::<SuiteEntry>(&one.spec).ok());
    let is_other = suite.drift == Some(Drift::Differs) || !suite.registered;
    let in_file = suites_file(call).filter(|_| is_other).and_then(|file| {
        let entry = file.find(&input.name, ws.as_str())?;
        Some(file.standing(entry, ws.as_str()))
    });
    Reply::json(&SuiteShown { suite, definition, in_file, jobs: open_jobs(call, &input.name)? })
}

/// The unfinished jobs of a suite, newest first.
fn open_jobs(call: &OperationCall<'_>, suite: &str) -> Result<Vec<SuiteJobLine>, Fault> {
    let own = group(suite);
    let mut jobs = Vec::new();
    for state in [JobState::Running, JobState::Queued] {
        let kinds = vec![KIND.to_owned()];
        let filter = JobFilter { state: Some(state), kinds, before: None };
        let found = call.registry.store().jobs(&call.principal.workspace, &filter, OPEN_JOBS)?;
        jobs.extend(found.into_iter().filter(|job| job.group.as_deref() == Some(&own)));
    }
    let line = |job: JobInfo| SuiteJobLine {
        id: job.id,
        state: job.state.name().to_owned(),
        done: job.done,
        total: job.total,
        created_by: job.created_by,
        created_at: format!("{:.3}", job.created_at),
    };
    Ok(jobs.into_iter().map(line).collect())
}

/// Queues a run of a registered suite. A run that is queued already covers this one.
pub(crate) fn run(call: &OperationCall<'_>, input: SuiteName) -> Result<Reply, Fault> {
    const TRIGGER: &str = "manual";
    at_most("the name of a suite", Some(&input.name), 64)?;
    let (store, ws) = (call.registry.store(), &call.principal.workspace);
    if store.suite(ws, &input.name)?.is_none() {
        return Err(Fault::not_found(format!("no suite `{}` is registered", input.name))
            .hint("`gbrain suites create --from NAME` registers a suite of the file"));
    }
    let counts = store.job_counts_of(ws)?;
    if counts.queued + counts.running >= OPEN_JOBS as u64 {
        return Err(Fault::overloaded(format!("{OPEN_JOBS} jobs are unfinished"))
            .hint("wait until some have finished, or cancel some"));
    }
    let now = store.clock()?;
    let key = asked_key(TRIGGER, now, std::process::id());
    let job = SuiteJob {
        suite: input.name.clone(),
        key: key.clone(),
        trigger: TRIGGER.to_owned(),
        generation: None,
    };
    let spec = serde_json::to_string(&job).map_err(|error| Fault::internal(error.to_string()))?;
    let due = NewDueRun {
        suite: input.name.clone(),
        trigger: TRIGGER.to_owned(),
        cursor: None,
        backlog: BacklogPolicy::Coalesce,
        job: NewJob {
            kind: KIND.to_owned(),
            spec,
            created_by: call.principal.name.clone(),
            max_attempts: ATTEMPTS,
            key: Some(key),
            group: Some(group(&input.name)),
        },
    };
    let queued = |jobs: Vec<SuiteJobLine>| jobs.into_iter().find(|job| job.state == "queued");
    let id = match store.queue_due_run(ws, &due, now)? {
        Some(id) => Some(id),
        None => queued(open_jobs(call, &input.name)?).map(|job| job.id),
    };
    let id = id.ok_or_else(|| Fault::conflict("a run of this suite has just started"))?;
    Reply::accepted(&QueuedBody { id, kind: KIND.to_owned(), state: JobState::Queued.name() })
}

/// Verdicts of all suites by day.
pub(crate) fn days(call: &OperationCall<'_>, input: LastDays) -> Result<Reply, Fault> {
    let days = input.checked(DEFAULT_SUITE_DAYS)?;
    let (store, ws) = (call.registry.store(), &call.principal.workspace);
    Reply::json(&wire::days(store, ws, days, call.now)?)
}

/// Values of measures, run by run.
pub(crate) fn trends(call: &OperationCall<'_>, input: ListTrends) -> Result<Reply, Fault> {
    filled_at_most("the name of a suite", input.suite.as_deref(), 64)?;
    let most = if input.suite.is_some() { 200 } else { 30 };
    within("runs", input.runs, 1..=most)?;
    let runs = usize::from(input.runs.unwrap_or(DEFAULT_TRENDS));
    let (store, ws) = (call.registry.store(), &call.principal.workspace);
    Reply::json(&wire::suite_trends(store, ws, input.suite.as_deref(), runs)?)
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
