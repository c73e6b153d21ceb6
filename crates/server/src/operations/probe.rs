//! Past runs of the nightly quality probe, as far as a caller over a wire may see them.

use gbrain_core::fault::Fault;
use gbrain_core::probe::ProbeOutcome;
use gbrain_eval::probe::history;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::http::{Call, Reply};

/// Days that are told of, unless more are asked for.
const DAYS: u16 = 30;

/// Which runs to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListProbes {
    /// Of how many days.
    #[serde(default)]
    #[schemars(range(min = 1, max = 90))]
    pub days: Option<u16>,
}

/// Lists runs, newest first. Why one failed may name hosts and files, and goes to the log.
pub(crate) fn list(call: &Call<'_>, input: ListProbes) -> Result<Reply, Fault> {
    let days = input.days.unwrap_or(DAYS);
    if !(1..=90).contains(&days) {
        return Err(Fault::usage("days are 1 to 90"));
    }
    let workspace = &call.who.workspace;
    let mut history = history(call.house.store(), workspace, None, days.into(), call.now)?;
    for run in &mut history.runs {
        if run.event.outcome == ProbeOutcome::Error {
            run.event.detail = None;
        }
    }
    Reply::json(&history)
}
