//! Why a run failed, as a caller may know it, and incidents. To whoever may not see a private page, it is
//! not there; targets elsewhere and models are not asked.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gbrain_core::fault::Fault;
use gbrain_core::format::incident::IncidentsBody;
use gbrain_core::request::Viewer;
use gbrain_core::target::LOCAL;
use gbrain_eval::incident::told;
use gbrain_eval::triage::{TriageMeans, find, look};
use gbrain_store::IncidentState;
use schemars::JsonSchema;
use serde::Deserialize;

use super::bounds::within;
use super::suites::SuiteRunNumber;
use crate::http::{Call, Reply};

/// Incidents that are told of, unless it is said how many.
const INCIDENTS: u16 = 20;

/// Which incidents to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListIncidents {
    /// In this state only.
    #[serde(default)]
    state: Option<IncidentState>,
    /// How many.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u16>,
}

pub(crate) fn list(call: &Call<'_>, input: ListIncidents) -> Result<Reply, Fault> {
    within("limit", input.limit, 1..=1000)?;
    let limit = usize::from(input.limit.unwrap_or(INCIDENTS));
    let incidents = call.house.store().incidents(&call.who.workspace, input.state, limit)?;
    Reply::json(&IncidentsBody { incidents: incidents.iter().map(told).collect() })
}

pub(crate) fn triage(call: &Call<'_>, input: SuiteRunNumber) -> Result<Reply, Fault> {
    let (house, workspace) = (call.house, &call.who.workspace);
    let subject = find(house.store(), workspace, &input.id.to_string())?;
    let is_local = subject.body.target == LOCAL;
    let door = house.door(workspace)?;
    let stop = Arc::new(AtomicBool::new(false));
    let targets = &house.suites().targets;
    let again = match is_local {
        true => Some(targets.open(LOCAL, door.brain(), None, &stop)?),
        false => None,
    };
    let means = TriageMeans {
        store: house.store(),
        workspace,
        brain: is_local.then(|| door.brain()),
        again: again.as_deref(),
        trust: Viewer::Untrusted,
        may_cost: false,
        // What this house describes is nobody's business elsewhere.
        target_problem: None,
        progress: &|_, _| (),
    };
    Reply::json(&look(&means, &subject, false)?)
}
