//! Alerts. Why a message could not be sent may name hosts, and is not told.

use gbrain_core::fault::Fault;
use gbrain_eval::alert::wire;
use gbrain_store::AlertStatus;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::http::{Call, Reply};

/// Which alerts to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListAlerts {
    /// `firing` or `resolved` only.
    #[serde(default)]
    state: Option<AlertStatus>,
}

/// Lists alerts, those that fire first.
pub(crate) fn list(call: &Call<'_>, input: ListAlerts) -> Result<Reply, Fault> {
    let (store, workspace) = (call.house.store(), &call.who.workspace);
    Reply::json(&wire::alerts(store, workspace, input.state, call.now)?)
}
