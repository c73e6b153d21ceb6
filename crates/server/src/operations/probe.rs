//! Past runs of the nightly quality probe.

use gbrain_core::fault::Fault;
use gbrain_core::probe::ProbeOutcome;
use gbrain_eval::probe::history;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::http::{OperationCall, Reply};

/// Default number of days.
const DEFAULT_DAYS: u16 = 30;

/// Which runs to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListProbes {
    /// The number of days to look back; 30 by default.
    #[serde(default)]
    #[schemars(range(min = 1, max = 90))]
    pub days: Option<u16>,
}

/// Lists runs, newest first. Error details may name hosts and files; they are only logged.
pub(crate) fn list(call: &OperationCall<'_>, input: ListProbes) -> Result<Reply, Fault> {
    let days = input.days.unwrap_or(DEFAULT_DAYS);
    if !(1..=90).contains(&days) {
        return Err(Fault::usage("`days` must be from 1 to 90"));
    }
    let workspace = &call.principal.workspace;
    let mut history = history(call.registry.store(), workspace, None, days.into(), call.now)?;
    for run in &mut history.runs {
        if run.event.outcome == ProbeOutcome::Error {
            run.event.detail = None;
        }
    }
    Reply::json(&history)
}
