//! What one look of the autopilot found.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PROBE_VERSION, ProbeReport};

/// One look: what `gbrain autopilot --once --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AutopilotLook {
    /// The version.
    pub schema_version: u32,
    /// What is turned on, by workspace.
    pub duties: Vec<AutopilotDuty>,
}

/// What came of one duty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AutopilotDuty {
    /// Whose it is.
    pub workspace: String,
    /// Which: `quality_probe`, `suite:` and its name, `alerts`, with the channel that a message was for, or
    /// `retention`.
    pub duty: String,
    /// `ran`, `queued` (for a server or a worker to run, or to be sent again), `told` (a message was received),
    /// `erased` (what was kept long enough), `not_due`, `stopped` or `broken`.
    pub state: String,
    /// What it found, if it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<ProbeReport>,
    /// Why it broke.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl AutopilotLook {
    /// The wire form of a look.
    pub fn new(duties: Vec<AutopilotDuty>) -> Self {
        Self { schema_version: PROBE_VERSION, duties }
    }

    /// The worst of what ran: no verdict, then a measured fail. What was not due, or is another's to
    /// run, is well.
    pub fn exit_code(&self) -> u8 {
        let code = |duty: &AutopilotDuty| match &duty.report {
            Some(report) => report.event.outcome.exit_code(),
            None if matches!(duty.state.as_str(), "not_due" | "queued" | "told" | "erased") => 0,
            None => 2,
        };
        self.duties.iter().map(code).max().unwrap_or(0)
    }
}
