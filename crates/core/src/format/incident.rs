//! Incidents on the wire: what is kept of one, and how it is told.
//!
//! A record holds ids of queries and what people wrote, scrubbed; no text and no name of a page.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::triage::{TriageBody, WireFinding};
use crate::triage::Class;

/// The version of [`IncidentRecord`].
pub const INCIDENT_VERSION: u32 = 1;

/// What is kept of an incident beside its title and its times.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct IncidentRecord {
    /// The version of this form.
    pub schema_version: u32,
    /// The run that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<i64>,
    /// The alert that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alert: Option<String>,
    /// The suite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<String>,
    /// What the run was taken for when the incident was opened, most cases first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<IncidentFinding>,
    /// What happened since, in order.
    #[serde(default)]
    pub notes: Vec<IncidentNote>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Resolution>,
}

/// What was wrong in one way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IncidentFinding {
    /// Which.
    pub class: Class,
    /// What it was chosen by, each once.
    pub because: Vec<String>,
    /// The cases, by the ids of their queries.
    pub cases: Vec<String>,
}

/// What somebody wrote down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IncidentNote {
    /// When.
    pub at: String,
    /// Who.
    pub author: String,
    /// What.
    pub text: String,
}

/// How an incident ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Resolution {
    /// When.
    pub at: String,
    /// Who says so.
    pub author: String,
    /// What it was.
    pub root_cause: String,
    /// What was done.
    pub fix: String,
    /// What is still to do.
    pub follow_ups: Vec<String>,
}

/// An incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Incident")]
pub struct IncidentBody {
    /// Its number.
    pub id: i64,
    /// `open` or `resolved`.
    pub state: String,
    /// What it is about.
    pub title: String,
    /// When it was opened.
    pub opened_at: String,
    /// When it was resolved.
    pub resolved_at: Option<String>,
    /// Its record; null if it can't be read.
    pub record: Option<IncidentRecord>,
    /// Channels whose message was queued just now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<String>,
}

/// Incidents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Incidents")]
pub struct IncidentsBody {
    /// The newest first.
    pub incidents: Vec<IncidentBody>,
}

impl IncidentRecord {
    /// What a triage found, as an incident keeps it.
    pub fn of_triage(body: &TriageBody) -> Self {
        let finding = |one: &WireFinding| {
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
