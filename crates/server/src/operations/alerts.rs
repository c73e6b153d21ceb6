//! Alerts. Delivery errors may name hosts and are not returned.

use gbrain_core::fault::Fault;
use gbrain_eval::alert::wire;
use gbrain_store::AlertStatus;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::http::{OperationCall, Reply};

/// Which alerts to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListAlerts {
    /// Only alerts in this state: `firing` or `resolved`.
    #[serde(default)]
    state: Option<AlertStatus>,
}

/// Lists alerts, firing ones first.
pub(crate) fn list(call: &OperationCall<'_>, input: ListAlerts) -> Result<Reply, Fault> {
    let (store, workspace) = (call.registry.store(), &call.principal.workspace);
    Reply::json(&wire::alerts(store, workspace, input.state, call.now)?)
}
