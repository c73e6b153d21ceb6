//! The outcome of one autopilot pass.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PROBE_VERSION, ProbeReport};

/// One pass: the output of `gbrain autopilot --once --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AutopilotLook")]
pub struct AutopilotPassBody {
    /// Version of this format.
    pub schema_version: u32,
    /// Outcomes of the enabled duties, by workspace.
    pub duties: Vec<AutopilotDuty>,
}

/// Outcome of one duty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AutopilotDuty {
    /// Workspace of the duty.
    pub workspace: String,
    /// The duty: `quality_probe`, `suite:<name>`, `alerts`, `alerts:<channel>` or `retention`.
    pub duty: String,
    /// The outcome: `ran`, `queued` (a server or worker runs it, or the message is retried), `notified`
    /// (the channel received the message), `erased` (retention deleted data), `not_due`, `stopped` or
    /// `broken`.
    pub state: String,
    /// Report of the probe, if it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<ProbeReport>,
    /// Why the duty failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl AutopilotPassBody {
    /// The outcome of a pass.
    pub fn new(duties: Vec<AutopilotDuty>) -> Self {
        Self { schema_version: PROBE_VERSION, duties }
    }

    /// The exit code of the worst duty: 2 inconclusive or broken, 1 failed, 0 otherwise. A duty that is
    /// not due or was queued counts as 0.
    pub fn exit_code(&self) -> u8 {
        let code = |duty: &AutopilotDuty| match &duty.report {
            Some(report) => report.event.outcome.exit_code(),
            None if matches!(duty.state.as_str(), "not_due" | "queued" | "notified" | "erased") => {
                0
            }
            None => 2,
        };
        self.duties.iter().map(code).max().unwrap_or(0)
    }
}
