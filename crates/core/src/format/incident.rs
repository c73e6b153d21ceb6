//! Incidents on the wire: the stored record and the list body.
//!
//! A record holds query ids and scrubbed notes, but no page text and no page names.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::triage::TriageBody;
use crate::triage::{FailureCause, FailureCauseFinding};

/// The version of [`IncidentRecord`].
pub const INCIDENT_VERSION: u32 = 1;

/// The stored part of an incident, without title and times.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct IncidentRecord {
    /// Version of this format.
    pub schema_version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alert: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<String>,
    /// Triage findings when the incident was opened, those with the most cases first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<IncidentFinding>,
    /// Notes of the timeline, oldest first.
    #[serde(default)]
    pub notes: Vec<IncidentNote>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Resolution>,
}

/// Cases that failed for the same reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IncidentFinding {
    pub class: FailureCause,
    /// Distinct reasons for the class.
    pub because: Vec<String>,
    /// Query ids of the cases.
    pub cases: Vec<String>,
}

/// A note of the timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IncidentNote {
    pub at: String,
    pub author: String,
    pub text: String,
}

/// How an incident was resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Resolution {
    pub at: String,
    pub author: String,
    pub root_cause: String,
    pub fix: String,
    pub follow_ups: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Incident")]
pub struct IncidentBody {
    pub id: i64,
    /// State: `open` or `resolved`.
    pub state: String,
    pub title: String,
    pub opened_at: String,
    pub resolved_at: Option<String>,
    /// The stored record; null if it can't be read.
    pub record: Option<IncidentRecord>,
    /// Channels for which a message was queued by this call.
    #[serde(default, alias = "told", skip_serializing_if = "Vec::is_empty")]
    pub notified: Vec<String>,
}

/// Incidents of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Incidents")]
pub struct IncidentsBody {
    /// The incidents, newest first.
    pub incidents: Vec<IncidentBody>,
}

impl IncidentRecord {
    /// The record of a new incident, from a triage.
    pub fn of_triage(body: &TriageBody) -> Self {
        let finding = |one: &FailureCauseFinding| {
            let mut because = one.because.clone();
            for why in one.cases.iter().flat_map(|case| &case.because) {
                if !because.contains(why) {
                    because.push(why.clone());
                }
            }
            let cases = one.cases.iter().map(|case| case.query_id.clone()).collect();
            IncidentFinding { class: one.class, because, cases }
        };
        Self {
            schema_version: INCIDENT_VERSION,
            run: Some(body.run),
            alert: body.alert.clone(),
            suite: Some(body.suite.clone()),
            findings: body.findings.iter().map(finding).collect(),
            ..Self::default()
        }
    }
}
