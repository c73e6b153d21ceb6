//! Bodies that list suites, their runs and events.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Drift;
use crate::gate::Verdict;
use crate::suite::report::InconclusiveReason;
use crate::suite::size::SampleSize;
use crate::suite::{SuiteKind, SuiteRun};

/// Suites of a workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Suites")]
pub struct SuitesBody {
    /// The suites, sorted by name.
    pub suites: Vec<SuiteInfo>,
}

/// A suite with its status.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Suite")]
pub struct SuiteInfo {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: SuiteKind,
    /// The workspace that it belongs to; `*` is every workspace.
    pub workspace: String,
    pub target: String,
    pub owners: Vec<String>,
    /// Triggers: `manual`, `ci`, `cron:...`, `interval:...`, `event:...`.
    pub triggers: Vec<String>,
    /// Whether the suite is stored.
    pub registered: bool,
    /// Whether its triggers are active.
    pub enabled: bool,
    /// How the registered suite differs from the file, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<Drift>,
    /// Why the stored suite cannot run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    pub last_run: Option<SuiteRunLine>,
    /// When its schedule fires next; absent without a schedule or when its triggers are inactive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_run: Option<String>,
}

/// A page of suite runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SuiteRuns")]
pub struct SuiteRunsBody {
    /// The runs, newest first.
    pub runs: Vec<SuiteRunLine>,
    /// Value of `before` for the next page; null on the last page.
    pub next: Option<i64>,
}

/// A run in one line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SuiteRunLine {
    pub id: i64,
    pub suite: String,
    /// Idempotency key of the run.
    pub key: Option<String>,
    pub trigger: String,
    /// The target; empty if the stored run can't be read.
    pub target: String,
    /// Whether the run used another target than the suite's own.
    #[serde(alias = "elsewhere")]
    pub ad_hoc: bool,
    pub started_at: String,
    /// When the run was recorded.
    pub finished_at: String,
    pub verdict: Verdict,
    /// Why the run is inconclusive.
    pub inconclusive_reasons: Vec<InconclusiveReason>,
    /// Number of planned queries.
    pub planned: usize,
    /// Number of queries sent.
    pub asked: usize,
    /// Sample size; null if the run could not start.
    #[serde(default)]
    pub sample: Option<SampleSize>,
    /// Number of failing cases.
    pub failing: usize,
    /// Why it failed: measures with their segments and values, or the outage of the target.
    pub breaches: Vec<String>,
    /// Whether recalibration is recommended.
    pub recalibrate: bool,
}

/// Output of `suites run --json`: the run, its number, and the alerts that it changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SuiteRan")]
pub struct SuiteRunResultBody {
    pub id: Option<i64>,
    /// Alerts that the run changed.
    pub alerts: ChangedAlerts,
    #[serde(flatten)]
    pub run: SuiteRun,
}

/// Changed alerts by key.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ChangedAlerts {
    // Also those that are sent to a channel for the first time.
    pub raised: Vec<String>,
    pub resolved: Vec<String>,
    /// Alerts that stay open although the run measured no breach.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub still_open: Vec<OpenAlert>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenAlert {
    pub key: String,
    /// Why it stays open, and what closes it.
    pub reason: String,
}

/// A recorded run with its report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedSuiteRun {
    pub id: i64,
    /// The figures of the run.
    #[schemars(with = "FiguresSchema")]
    pub summary: SuiteRun,
    /// The full run; null if a page in it was purged, or if only its figures are retained.
    pub run: Option<SuiteRun>,
}

/// Schema of a run in figures: that of a run, with a count of failing cases instead of the cases.
struct FiguresSchema;

impl JsonSchema for FiguresSchema {
    fn schema_name() -> Cow<'static, str> {
        "SuiteSummary".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = SuiteRun::json_schema(generator).to_value();
        schema["description"] = json!("A run in figures.");
        for (key, description) in [
            ("schema_version", "Schema version of this document, the same as that of a run."),
            ("ad_hoc", "Whether the run queried another target than the suite's own."),
            (
                "measures",
                "The measures over all cases, and every other measure that can fail the run.",
            ),
        ] {
            schema["properties"][key]["description"] = json!(description);
        }
        let mut failing = generator.subschema_for::<usize>();
        failing.insert("description".into(), "Number of failing cases.".into());
        let mut named = generator.subschema_for::<Vec<String>>();
        let first = "Query ids of the first failing cases.";
        named.insert("description".into(), first.into());
        if let Some(properties) = schema["properties"].as_object_mut() {
            properties.shift_remove("finished_at");
            properties.shift_remove("cases");
            let at = properties.keys().position(|key| key == "rerank_threshold").unwrap_or(0);
            properties.shift_insert(at, "failing".into(), failing.to_value());
            properties.shift_insert(at + 1, "failing_cases".into(), named.to_value());
        }
        if let Some(required) = schema["required"].as_array_mut() {
            required.retain(|key| key != "finished_at" && key != "cases");
            let at = required.iter().position(|key| key == "rerank_threshold").unwrap_or(0);
            required.splice(at..at, [json!("failing"), json!("failing_cases")]);
        }
        schema.try_into().expect("an object is a schema")
    }
}

/// The version of [`SuitePruneBody`].
pub const SUITE_PRUNE_VERSION: u32 = 1;

/// Output of `suites prune --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SuitePruneBody {
    /// Version of this format.
    pub schema_version: u32,
    /// Whether runs were only counted.
    pub dry_run: bool,
    /// Runs recorded before this time were pruned.
    #[schemars(extend("format" = "date-time"))]
    pub before: String,
    /// Whether figures were pruned together with reports.
    pub whole_runs: bool,
    /// Number of pruned runs.
    pub runs: u64,
    /// Number of pruned retrieval logs.
    pub logs: u64,
    /// Number of pruned events.
    pub events: u64,
}

/// Events that trigger suites.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Events")]
pub struct EventsBody {
    /// The events, newest last.
    pub events: Vec<EventBody>,
}

/// An event that triggers suites.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Event")]
pub struct EventBody {
    pub seq: i64,
    pub kind: String,
    pub document: String,
    pub version: String,
    /// When the event was reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Whether the event is new; only set when it was just reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_new: Option<bool>,
}
