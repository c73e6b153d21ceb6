//! Triage of suite runs, and incidents. Private pages are treated as missing; remote targets and
//! models are not called.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gbrain_core::fault::Fault;
use gbrain_core::format::incident::IncidentsBody;
use gbrain_core::request::Viewer;
use gbrain_core::target::LOCAL;
use gbrain_eval::incident::incident_body;
use gbrain_eval::triage::{TriageContext, find, triage_run};
use gbrain_store::IncidentState;
use schemars::JsonSchema;
use serde::Deserialize;

use super::bounds::within;
use super::suites::SuiteRunNumber;
use crate::http::{OperationCall, Reply};

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
}

pub(crate) fn list(call: &OperationCall<'_>, input: ListIncidents) -> Result<Reply, Fault> {
    within("limit", input.limit, 1..=1000)?;
    let limit = usize::from(input.limit.unwrap_or(DEFAULT_INCIDENTS));
    let incidents =
        call.registry.store().incidents(&call.principal.workspace, input.state, limit)?;
    Reply::json(&IncidentsBody { incidents: incidents.iter().map(incident_body).collect() })
}

pub(crate) fn triage(call: &OperationCall<'_>, input: SuiteRunNumber) -> Result<Reply, Fault> {
    let (registry, workspace) = (call.registry, &call.principal.workspace);
    let subject = find(registry.store(), workspace, &input.id.to_string())?;
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
    Reply::json(&triage_run(&means, &subject, false)?)
}
