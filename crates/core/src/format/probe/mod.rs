//! The nightly quality probe on the wire: its audit lines, and in `report` the complete runs.

mod autopilot;
mod report;

pub use autopilot::{AutopilotDuty, AutopilotPassBody};
pub use report::{
    ProbeAnswer, ProbeCost, ProbeHistory, ProbeMeasured, ProbeModels, ProbeReport, ProbeRun,
};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::WorkspaceId;
use crate::money::Usd;
use crate::probe::{Event, ProbeOutcome};

/// The version of [`ProbeEvent`].
pub const PROBE_VERSION: u32 = 1;

/// One run of the probe, as a line of `audit/quality-probe-YYYY-Www.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeEvent {
    /// Version of this format; absent in lines of other programs.
    #[serde(default)]
    pub schema_version: u32,
    /// End of the run.
    pub ts: String,
    /// Outcome of the run.
    pub outcome: ProbeOutcome,
    /// Exit code of the process.
    pub exit_code: u8,
    /// Workspace of the probe; `default` if absent, as in lines of other programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Number of questions that passed.
    #[serde(default)]
    pub pass_count: usize,
    /// Number of questions that failed.
    #[serde(default)]
    pub fail_count: usize,
    /// Number of inconclusive questions.
    #[serde(default)]
    pub inconclusive_count: usize,
    /// Number of questions that could not be answered or judged.
    #[serde(default)]
    pub error_count: usize,
    /// Maximum cost of the run estimated beforehand, in US dollars.
    #[serde(default)]
    pub est_cost_usd: f64,
    /// Cost of the run in US dollars.
    #[serde(default)]
    pub cost_usd: f64,
    /// Hash of the questions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixture_sha8: Option<String>,
    /// Explanation of the outcome, if it needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl From<&Event> for ProbeEvent {
    fn from(event: &Event) -> Self {
        let Event {
            at,
            outcome,
            pass,
            fail,
            inconclusive,
            error,
            estimate,
            cost,
            fixture_sha8,
            detail,
        } = event;
        Self {
            schema_version: PROBE_VERSION,
            ts: format!("{at:.3}"),
            outcome: *outcome,
            exit_code: outcome.exit_code(),
            workspace: None,
            pass_count: *pass,
            fail_count: *fail,
            inconclusive_count: *inconclusive,
            error_count: *error,
            est_cost_usd: estimate.as_f64(),
            cost_usd: cost.as_f64(),
            fixture_sha8: fixture_sha8.clone(),
            detail: detail.clone(),
        }
    }
}

impl ProbeEvent {
    /// The event with its workspace set.
    #[must_use]
    pub fn of(mut self, workspace: &WorkspaceId) -> Self {
        self.workspace = Some(workspace.as_str().to_owned());
        self
    }

    fn is_of(&self, workspace: &WorkspaceId) -> bool {
        let default = WorkspaceId::default();
        self.workspace.as_deref().unwrap_or(default.as_str()) == workspace.as_str()
    }

    /// The event as a line of the audit file.
    pub fn line(&self) -> String {
        let line = serde_json::to_string(self).expect("numbers and texts can be written");
        format!("{line}\n")
    }

    /// The event; none if its time is invalid.
    pub fn event(self) -> Option<Event> {
        let Self {
            schema_version: _,
            ts,
            outcome,
            exit_code: _,
            workspace: _,
            pass_count,
            fail_count,
            inconclusive_count,
            error_count,
            est_cost_usd,
            cost_usd,
            fixture_sha8,
            detail,
        } = self;
        Some(Event {
            at: ts.parse::<Timestamp>().ok()?,
            outcome,
            pass: pass_count,
            fail: fail_count,
            inconclusive: inconclusive_count,
            error: error_count,
            estimate: dollars(est_cost_usd),
            cost: dollars(cost_usd),
            fixture_sha8,
            detail,
        })
    }
}

/// The runs of a workspace in an audit file, oldest first. Truncated lines are skipped.
pub fn read_events(bytes: &[u8], workspace: &WorkspaceId) -> Vec<Event> {
    let lines = bytes.split(|byte| *byte == b'\n');
    let events = lines.filter_map(|line| serde_json::from_slice::<ProbeEvent>(line).ok());
    let events = events.filter(|event| event.is_of(workspace));
    let mut events: Vec<Event> = events.filter_map(ProbeEvent::event).collect();
    events.sort_by_key(|event| event.at);
    events
}

fn dollars(amount: f64) -> Usd {
    Usd::nanos((amount * 1e9).round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event() -> Event {
        Event {
            at: "2026-11-16T03:00:00.25Z".parse().unwrap(),
            outcome: ProbeOutcome::Fail,
            pass: 9,
            fail: 1,
            inconclusive: 0,
            error: 0,
            estimate: "0.70".parse().unwrap(),
            cost: "0.312345678".parse().unwrap(),
            fixture_sha8: Some("0a1b2c3d".to_owned()),
            detail: Some("q3: correctness mean_below_7".to_owned()),
        }
    }

    #[test]
    fn a_line_holds_the_whole_run() {
        let team = WorkspaceId::new("team").unwrap();
        let line = ProbeEvent::from(&event()).of(&team).line();
        insta::assert_snapshot!(line, @r#"{"schema_version":1,"ts":"2026-11-16T03:00:00.250Z","outcome":"fail","exit_code":1,"workspace":"team","pass_count":9,"fail_count":1,"inconclusive_count":0,"error_count":0,"est_cost_usd":0.7,"cost_usd":0.312345678,"fixture_sha8":"0a1b2c3d","detail":"q3: correctness mean_below_7"}"#);
        assert_eq!(read_events(line.as_bytes(), &team), [event()]);
        assert_eq!(read_events(line.as_bytes(), &WorkspaceId::default()), []);
    }

    #[test]
    fn files_are_read_oldest_first_and_in_spite_of_cuts() {
        let old = r#"{"ts":"2026-11-15T03:00:00Z","outcome":"no_embedding_key","exit_code":0}"#;
        let line = ProbeEvent::from(&event()).line();
        let text = [line.as_bytes(), b"{\"ts\":\"2026\xc3\n", old.as_bytes(), b"\n{}\n"].concat();
        let found = read_events(&text, &WorkspaceId::default());
        let outcomes: Vec<ProbeOutcome> = found.iter().map(|event| event.outcome).collect();
        assert_eq!(outcomes, [ProbeOutcome::NoEmbeddingKey, ProbeOutcome::Fail]);
    }
}
