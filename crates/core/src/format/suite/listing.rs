//! Suites, their runs and events, as lists tell of them.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Drift;
use crate::gate::Verdict;
use crate::suite::report::Reason;
use crate::suite::size::SampleSize;
use crate::suite::{Kind, SuiteRun};

/// Suites.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Suites")]
pub struct SuitesBody {
    /// By name.
    pub suites: Vec<SuiteInfo>,
}

/// A suite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Suite")]
pub struct SuiteInfo {
    /// Its name.
    pub name: String,
    /// What it is for.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// Whose it is; `*` is every workspace.
    pub workspace: String,
    /// Who is asked.
    pub target: String,
    /// Who looks after it.
    pub owners: Vec<String>,
    /// What makes it run: `manual`, `ci`, `cron:...`, `interval:...`, `event:...`.
    pub triggers: Vec<String>,
    /// Whether the store knows it.
    pub registered: bool,
    /// Whether its triggers fire.
    pub enabled: bool,
    /// How what is registered stands to the file, where they are not the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<Drift>,
    /// Why it can't be run as it is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Its last run.
    pub last_run: Option<SuiteRunLine>,
}

/// Runs of suites.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SuiteRuns")]
pub struct SuiteRunsBody {
    /// The newest first.
    pub runs: Vec<SuiteRunLine>,
    /// What to give as `before` for the next ones; null when these are all.
    pub next: Option<i64>,
}

/// A run in a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SuiteRunLine {
    /// Its number.
    pub id: i64,
    /// The suite.
    pub suite: String,
    /// What names it.
    pub key: Option<String>,
    /// What started it.
    pub trigger: String,
    /// Who was asked; empty if what is kept of it can't be read.
    pub target: String,
    /// Whether that is somebody else than the suite's own target.
    pub elsewhere: bool,
    /// When it began.
    pub started_at: String,
    /// When it was recorded.
    pub finished_at: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Why it does not say enough.
    pub inconclusive_reasons: Vec<Reason>,
    /// Queries that were to be asked.
    pub planned: usize,
    /// Queries that were asked.
    pub asked: usize,
    /// How large the sample is; null of a run that could not begin.
    #[serde(default)]
    pub sample: Option<SampleSize>,
    /// Cases that somebody should look at.
    pub failing: usize,
    /// What made it fail: the measure, its segment and its value, or the outage of the target.
    pub breaches: Vec<String>,
    /// Whether a new calibration is asked for.
    pub recalibrate: bool,
}

/// What `suites run --json` prints: the run, its number, and what it changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SuiteRan {
    /// Its number.
    pub id: Option<i64>,
    /// Alerts that changed when it was looked at.
    pub alerts: ChangedAlerts,
    /// The run.
    #[serde(flatten)]
    pub run: SuiteRun,
}

/// Alerts that changed, by their keys.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ChangedAlerts {
    /// Those that began.
    pub raised: Vec<String>,
    /// Those that are over.
    pub resolved: Vec<String>,
    /// Those that the run does not resolve although it measured nothing wrong, with why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub still_open: Vec<OpenAlert>,
}

/// An alert that stays open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenAlert {
    /// Its key.
    pub key: String,
    /// Why it stays open, and what closes it.
    pub reason: String,
}

/// A recorded run with all that is kept of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedSuiteRun {
    /// Its number.
    pub id: i64,
    /// Its figures.
    #[schemars(with = "FiguresSchema")]
    pub summary: SuiteRun,
    /// The run; null if a page that it named was purged, or if only its figures are kept any more.
    pub run: Option<SuiteRun>,
}

/// The schema of a run in figures: that of a run, with its failing cases counted in place of its cases.
struct FiguresSchema;

impl JsonSchema for FiguresSchema {
    fn schema_name() -> Cow<'static, str> {
        "SuiteSummary".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = SuiteRun::json_schema(generator).to_value();
        schema["description"] = json!("A run in figures.");
        for (key, description) in [
            ("schema_version", "The version of the form, which is that of a run."),
            ("elsewhere", "Whether that is somebody else than the suite's own target."),
            ("measures", "The measures over all cases, and every other that can fail a run."),
        ] {
            schema["properties"][key]["description"] = json!(description);
        }
        let mut failing = generator.subschema_for::<usize>();
        failing.insert("description".into(), "Cases that somebody should look at.".into());
        let mut named = generator.subschema_for::<Vec<String>>();
        let first = "The first of them, by the ids of their queries.";
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

/// What `suites prune --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SuitePruneBody {
    /// The version.
    pub schema_version: u32,
    /// Whether it was only counted.
    pub dry_run: bool,
    /// What was recorded before this.
    #[schemars(extend("format" = "date-time"))]
    pub before: String,
    /// Whether figures went with reports.
    pub whole_runs: bool,
    /// How many runs.
    pub runs: u64,
    /// How many logs of what they asked.
    pub logs: u64,
    /// How many events.
    pub events: u64,
}

/// Events that suites wait for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Events")]
pub struct EventsBody {
    /// The newest last.
    pub events: Vec<EventBody>,
}

/// An event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Event")]
pub struct EventBody {
    /// Its number.
    pub seq: i64,
    /// What happened.
    pub kind: String,
    /// To which document.
    pub document: String,
    /// In which version.
    pub version: String,
    /// When it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Whether this was the first time; only where it was told just now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_new: Option<bool>,
}
