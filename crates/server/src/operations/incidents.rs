//! Triage of suite runs, and incidents. Private pages are treated as missing; remote targets and
//! models are not called.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gbrain_core::fault::Fault;
use gbrain_core::format::incident::{IncidentBody, IncidentRecord, IncidentsBody};
use gbrain_core::format::suite::SuiteEntry;
use gbrain_core::format::triage::TriageBody;
use gbrain_core::incident::notified_channels;
use gbrain_core::request::Viewer;
use gbrain_core::suite::AlertRouting;
use gbrain_core::target::LOCAL;
use gbrain_eval::incident::{
    IncidentEditor, IncidentProblem, ResolutionText, incident_body, post, read,
};
use gbrain_eval::triage::{TriageContext, TriageError, find, triage_run};
use gbrain_store::{Incident, IncidentState};
use schemars::JsonSchema;
use serde::Deserialize;

use super::bounds::{at_most, within};
use super::suites::SuiteRunNumber;
use crate::http::{NoParameters, OperationCall, Reply};

/// Default number of listed incidents.
const DEFAULT_INCIDENTS: u16 = 20;

/// Which incidents to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListIncidents {
    /// Only incidents in this state.
    #[serde(default)]
    state: Option<IncidentState>,
    /// The maximum number of incidents; 20 by default.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u16>,
    /// Incidents with a lower id than this.
    #[serde(default)]
    #[schemars(range(min = 1))]
    before: Option<i64>,
}

/// An incident by its id.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct IncidentNumber {
    /// The id of the incident, as listed.
    #[schemars(range(min = 1))]
    id: i64,
}

/// A new incident.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenIncident {
    /// What is wrong, in one line.
    #[schemars(length(min = 1, max = 500), regex(pattern = r"\S"))]
    title: String,
    /// The suite run that shows it; its triage becomes part of the record.
    #[serde(default)]
    #[schemars(range(min = 1))]
    run: Option<i64>,
}

/// A note for the timeline.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AddNote {
    /// The text; personal data and secrets are removed before it is stored.
    #[schemars(length(min = 1, max = 20_000), regex(pattern = r"\S"))]
    text: String,
}

/// How an incident ended.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResolveIncident {
    #[schemars(length(min = 1, max = 20_000), regex(pattern = r"\S"))]
    root_cause: String,
    #[schemars(length(min = 1, max = 20_000), regex(pattern = r"\S"))]
    fix: String,
    /// Work that remains; `none` if there is none.
    #[schemars(length(min = 1, max = 100), inner(regex(pattern = r"\S")))]
    follow_ups: Vec<String>,
}

pub(crate) fn list(call: &OperationCall<'_>, input: ListIncidents) -> Result<Reply, Fault> {
    within("limit", input.limit, 1..=1000)?;
    let limit = usize::from(input.limit.unwrap_or(DEFAULT_INCIDENTS));
    within("before", input.before, 1..=i64::MAX)?;
    let (store, before) = (call.registry.store(), input.before.unwrap_or(i64::MAX));
    let ws = &call.principal.workspace;
    let incidents = store.incidents_before(ws, input.state, before, limit)?;
    Reply::json(&IncidentsBody { incidents: incidents.iter().map(incident_body).collect() })
}

pub(crate) fn show(call: &OperationCall<'_>, input: IncidentNumber) -> Result<Reply, Fault> {
    let found = call.registry.store().incident(&call.principal.workspace, input.id)?;
    let found = found.ok_or(IncidentProblem::None(input.id))?;
    Reply::json(&incident_body(&found))
}

/// Opens an incident, with the triage of a run if one is given.
pub(crate) fn open(
    call: &OperationCall<'_>,
    _: NoParameters,
    body: OpenIncident,
) -> Result<Reply, Fault> {
    at_most("the title", Some(&body.title), 500)?;
    let record = match body.run {
        None => IncidentRecord::default(),
        Some(run) => record_of(call, run)?,
    };
    let editor = editor(call);
    let id = editor.open(&body.title, &record)?;
    Reply::json(&incident_body(&editor.note(id, "opened")?))
}

/// The record of a new incident. Of a pruned run only its number is known.
fn record_of(call: &OperationCall<'_>, run: i64) -> Result<IncidentRecord, Fault> {
    match triaged(call, run) {
        Ok(body) => Ok(IncidentRecord::of_triage(&body)),
        Err(TriageFault::Pruned) => Ok(IncidentRecord { run: Some(run), ..Default::default() }),
        Err(TriageFault::Other(fault)) => Err(fault),
    }
}

pub(crate) fn note(
    call: &OperationCall<'_>,
    input: IncidentNumber,
    body: AddNote,
) -> Result<Reply, Fault> {
    Reply::json(&incident_body(&editor(call).note(input.id, &body.text)?))
}

/// Resolves an incident and queues its message for the channels that its suite notifies.
pub(crate) fn resolve(
    call: &OperationCall<'_>,
    input: IncidentNumber,
    body: ResolveIncident,
) -> Result<Reply, Fault> {
    let ResolveIncident { root_cause, fix, follow_ups } = &body;
    within("follow_ups", Some(follow_ups.len()), 1..=100)?;
    let recipients = Recipients::of(call, input.id)?;
    let text = ResolutionText { root_cause, fix, follow_ups };
    let incident = editor(call).resolve(input.id, &text)?;
    let Recipients { channels, owners } = recipients;
    let (store, ws) = (call.registry.store(), &call.principal.workspace);
    let url = call.registry.suites().alerts.settings.public_url.as_deref();
    post(store, &incident, ws, &owners, &channels, url, call.now)?;
    Reply::json(&IncidentBody { notified: channels, ..incident_body(&incident) })
}

fn editor<'a>(call: &OperationCall<'a>) -> IncidentEditor<'a> {
    IncidentEditor {
        store: call.registry.store(),
        workspace: &call.principal.workspace,
        scrubber: &call.registry.suites().scrubber,
        author: &call.principal.name,
        now: call.now,
    }
}

/// The channels to notify of a resolved incident, and the owners of its suite.
struct Recipients {
    channels: Vec<String>,
    owners: Vec<String>,
}

impl Recipients {
    fn of(call: &OperationCall<'_>, id: i64) -> Result<Self, Fault> {
        let (store, ws) = (call.registry.store(), &call.principal.workspace);
        let incident: Incident = store.incident(ws, id)?.ok_or(IncidentProblem::None(id))?;
        let record = read(&incident).ok_or(IncidentProblem::Unreadable(id))?;
        let file = (call.registry.suites().alerts.registry.read)().file;
        let entry: Option<SuiteEntry> = match record.suite.as_deref() {
            None => None,
            Some(name) => match file.as_ref().and_then(|file| file.find(name, ws.as_str())) {
                Some(entry) => Some(entry.clone()),
                None => store.suite(ws, name)?.and_then(|one| serde_json::from_str(&one.spec).ok()),
            },
        };
        let AlertRouting { notify, .. } =
            entry.as_ref().and_then(|one| one.alerts.clone()).unwrap_or_default();
        let none = BTreeMap::new();
        let known = file.as_ref().map_or(&none, |file| &file.channels);
        let channels = notified_channels(&[], &notify, known).map_err(IncidentProblem::Invalid)?;
        Ok(Self { channels, owners: entry.map(|one| one.owners).unwrap_or_default() })
    }
}

pub(crate) fn triage(call: &OperationCall<'_>, input: SuiteRunNumber) -> Result<Reply, Fault> {
    match triaged(call, input.id) {
        Ok(body) => Reply::json(&body),
        Err(TriageFault::Pruned) => Err(TriageError::Gone(input.id).into()),
        Err(TriageFault::Other(fault)) => Err(fault),
    }
}

/// Why a run has no triage.
enum TriageFault {
    /// Only its figures are stored.
    Pruned,
    Other(Fault),
}

impl<E: Into<Fault>> From<E> for TriageFault {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}

fn triaged(call: &OperationCall<'_>, run: i64) -> Result<TriageBody, TriageFault> {
    let (registry, workspace) = (call.registry, &call.principal.workspace);
    let subject = match find(registry.store(), workspace, &run.to_string()) {
        Err(TriageError::Gone(_)) => return Err(TriageFault::Pruned),
        found => found?,
    };
    let is_local = subject.body.target == LOCAL;
    let service = registry.query_service(workspace)?;
    let stop = Arc::new(AtomicBool::new(false));
    let targets = &registry.suites().targets;
    let again = match is_local {
        true => Some(targets.open(LOCAL, service.brain(), None, &stop)?),
        false => None,
    };
    let means = TriageContext {
        store: registry.store(),
        workspace,
        brain: is_local.then(|| service.brain()),
        again: again.as_deref(),
        trust: Viewer::Untrusted,
        may_cost: false,
        // The configuration of this server is not shown to callers.
        target_problem: None,
        progress: &|_, _| (),
    };
    Ok(triage_run(&means, &subject, false)?)
}
