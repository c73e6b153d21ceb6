//! `suites.yaml`, also read as `braintrust_suites.yaml`.
//!
//! One format for the file, the stored suite and the JSON Schema. Unknown keys are errors. Omitted
//! keys take the playbook's default for the type of suite.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::alert::channel::Channel;
use crate::duration::{duration, format_duration};
use crate::format::target::WireTarget;
use crate::reading::plain::plain;
use crate::request::RetrievalMode;
use crate::suite::due::{Debounce, EventKind, RunInterval, Trigger};
use crate::suite::measure::{MeasureUnit, SuiteMeasure};
use crate::suite::threshold::{MeasureBound, Percent, SuiteThresholds, Threshold};
use crate::suite::{AlertRouting, Sample, Suite, SuiteError, SuiteKind};
use crate::yaml;

/// The suites file: targets, channels, thresholds and suites.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuiteFile {
    /// Version of this format: 1.
    #[serde(default = "one")]
    pub version: u32,
    /// Targets by name; `local` always exists.
    #[serde(default, deserialize_with = "or_nothing", skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, WireTarget>")]
    pub targets: BTreeMap<String, Value>,
    /// Notification channels by name.
    #[serde(default, deserialize_with = "or_nothing", skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, Channel>")]
    pub channels: BTreeMap<String, Value>,
    /// Thresholds for all suites.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thresholds: Option<ThresholdsEntry>,
    /// Thresholds of a workspace, overriding those for all suites.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub workspaces: BTreeMap<String, ThresholdsEntry>,
    #[serde(default, deserialize_with = "or_nothing")]
    pub suites: Vec<SuiteEntry>,
}

/// A suite of checks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuiteEntry {
    /// Its name: lower-case letters, digits and dashes.
    pub name: String,
    #[serde(rename = "type")]
    pub kind: SuiteKind,
    /// The workspace that it belongs to; `*` is every workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    #[serde(default, alias = "endpoint", skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub triggers: Option<Vec<TriggerEntry>>,
    #[serde(default)]
    pub owners: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<SampleEntry>,
    /// Random seed of the sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Time limit, such as `10m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_duration: Option<String>,
    /// Depths to measure. The largest, but at least ten, is the number of requested results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub k: Option<Vec<usize>>,
    /// Maximum number of concurrent queries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debounce: Option<DebounceEntry>,
    /// Thresholds that override the defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thresholds: Option<ThresholdsEntry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alerts: Option<AlertRouting>,
    /// Number of consecutive weekly drops of recall or precision before recalibration is
    /// recommended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drops: Option<usize>,
}

/// A trigger of a suite: `manual`, `ci`, or a key with its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TriggerEntry {
    /// Started by a user.
    Manual,
    /// Started by a CI build.
    Ci,
    /// Started by an event.
    Event(EventKind),
    /// A schedule in UTC, such as `0 2 * * 0`.
    Cron(String),
    /// `quarterly`, `monthly`, `weekly`, `daily`, or a duration such as `12h`.
    Interval(String),
}

/// Number of queries in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SampleEntry {
    /// Total number of queries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<usize>,
    /// Number of queries per source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_source: Option<usize>,
    /// The sources to sample; all sources by default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
}

/// Quiet period that must pass after events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DebounceEntry {
    /// Time since the last event, such as `5m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet: Option<String>,
    /// Longest wait since the first event, such as `30m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_wait: Option<String>,
}

/// Thresholds by measure and retrieval mode.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThresholdsEntry {
    /// For every retrieval mode.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub all: BTreeMap<SuiteMeasure, ThresholdEntry>,
    /// For one retrieval mode.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub modes: BTreeMap<RetrievalMode, BTreeMap<SuiteMeasure, ThresholdEntry>>,
}

/// Threshold of a measure: shares as `95%` or 0.95, times in milliseconds, a drop as `alert` alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThresholdEntry {
    /// Value that the measure should reach or stay below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<NumberOrPercent>,
    /// An alert fires beyond this value.
    pub alert: NumberOrPercent,
    /// Whether the alert pages the on-call engineer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<bool>,
}

/// A number, or a text such as `95%`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Amount")]
#[serde(untagged)]
pub enum NumberOrPercent {
    Number(f64),
    Text(String),
}

/// Why a file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    #[error("line {line}: {reason}")]
    Form { line: usize, reason: String },
    #[error("unknown version {0}; this gbrain reads version 1")]
    Version(u32),
    #[error(transparent)]
    Suite(#[from] SuiteError),
}

fn one() -> u32 {
    1
}

/// Treats a key without a value like a missing key.
fn or_nothing<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl SuiteFile {
    pub fn parse(text: &str) -> Result<Self, FileError> {
        if is_blank(text) {
            return Ok(Self { version: one(), ..Self::default() });
        }
        let file: Self = yaml::read_typed(text).map_err(|yaml::YamlError { line, reason }| {
            FileError::Form { line, reason: plain(&reason) }
        })?;
        if file.version != 1 {
            return Err(FileError::Version(file.version));
        }
        for (at, entry) in file.suites.iter().enumerate() {
            if file.suites[..at].iter().any(|other| other.is_same(entry)) {
                return Err(SuiteError::Twice(entry.name.clone()).into());
            }
        }
        Ok(file)
    }

    /// All suites of the file, validated.
    pub fn suites(&self) -> Result<Vec<Suite>, FileError> {
        self.suites.iter().map(|entry| self.suite(entry)).collect()
    }

    /// One validated suite; thresholds of the file and of its workspace apply below its own.
    pub fn suite(&self, entry: &SuiteEntry) -> Result<Suite, FileError> {
        let workspace = entry.workspace.as_deref().unwrap_or("default");
        let layers =
            [self.thresholds.as_ref(), self.workspaces.get(workspace), entry.thresholds.as_ref()];
        let mut suite = entry.suite()?;
        let mut thresholds = SuiteThresholds::default();
        for layer in layers.into_iter().flatten() {
            thresholds = thresholds.and(&layer.read(&entry.name)?);
        }
        suite.thresholds = thresholds;
        suite.check()?;
        Ok(suite)
    }
}

/// Whether the text is empty or holds comments only.
pub(super) fn is_blank(text: &str) -> bool {
    let says = |line: &str| !line.is_empty() && !line.starts_with('#') && line != "---";
    !text.lines().any(|line| says(line.trim()))
}

impl SuiteEntry {
    /// Whether both entries have the same name and workspace.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let workspace = |entry: &Self| entry.workspace.clone().unwrap_or("default".to_owned());
        self.name == other.name && workspace(self) == workspace(other)
    }

    /// The suite with its own thresholds over the defaults.
    pub fn suite(&self) -> Result<Suite, FileError> {
        let Self {
            name,
            kind,
            workspace,
            target,
            triggers,
            owners,
            sample,
            seed,
            max_duration,
            k,
            concurrency,
            debounce,
            thresholds,
            alerts,
            drops,
        } = self;
        let wrong = |what: String| SuiteError::Value { name: name.clone(), what };
        let time = |text: &str| duration(text).map_err(wrong);
        let mut suite = Suite::new(name, *kind, owners.clone());
        suite.workspace = workspace.clone().unwrap_or(suite.workspace);
        suite.target = target.clone().unwrap_or(suite.target);
        if let Some(triggers) = triggers {
            let read = triggers.iter().map(|trigger| trigger.read(name));
            suite.triggers = read.collect::<Result<_, _>>()?;
        }
        if let Some(sample) = sample {
            suite.sample = sample.read().map_err(wrong)?;
        }
        suite.seed = seed.unwrap_or(suite.seed);
        if let Some(text) = max_duration {
            suite.max_duration = time(text)?;
        }
        if k.as_ref().is_some_and(|k| k.contains(&0)) {
            return Err(wrong("`k` holds 0; a depth is at least 1".to_owned()).into());
        }
        if let Some(deepest) = k.as_ref().and_then(|k| k.iter().max()) {
            suite.depth = suite.depth.max(*deepest);
        }
        suite.concurrency = concurrency.unwrap_or(suite.concurrency);
        suite.drops = drops.unwrap_or(suite.drops);
        if let Some(DebounceEntry { quiet, max_wait }) = debounce {
            let Debounce { quiet: q, longest } = suite.debounce;
            let read = |text: &Option<String>, own| text.as_deref().map_or(Ok(own), time);
            suite.debounce = Debounce { quiet: read(quiet, q)?, longest: read(max_wait, longest)? };
        }
        if let Some(own) = thresholds {
            suite.thresholds = suite.thresholds.and(&own.read(name)?);
        }
        if let Some(routing) = alerts {
            if routing.silent_after_days == Some(0) {
                let what = "`silent_after_days` is 0; it is at least 1, or left out".to_owned();
                return Err(wrong(what).into());
            }
            suite.alerts = routing.clone();
        }
        suite.check()?;
        Ok(suite)
    }
}

impl TriggerEntry {
    fn read(&self, suite: &str) -> Result<Trigger, SuiteError> {
        Ok(match self {
            Self::Manual => Trigger::Manual,
            Self::Ci => Trigger::Ci,
            Self::Event(kind) => Trigger::Event(*kind),
            Self::Cron(text) => Trigger::Cron(text.parse()?),
            Self::Interval(text) => Trigger::Every(match text.as_str() {
                "quarterly" => RunInterval::Quarterly,
                "monthly" => RunInterval::Monthly,
                "weekly" => RunInterval::For(jiff::SignedDuration::from_hours(7 * 24)),
                "daily" => RunInterval::For(jiff::SignedDuration::from_hours(24)),
                text => {
                    let time = duration(text).ok().filter(|time| time.as_secs() >= 60);
                    let what = format!(
                        "invalid interval {text:?}: use quarterly, monthly, weekly, daily, or at least 1m"
                    );
                    let wrong = SuiteError::Value { name: suite.to_owned(), what };
                    RunInterval::For(time.ok_or(wrong)?)
                }
            }),
        })
    }
}

impl From<&Trigger> for TriggerEntry {
    fn from(trigger: &Trigger) -> Self {
        match trigger {
            Trigger::Manual => Self::Manual,
            Trigger::Ci => Self::Ci,
            Trigger::Event(kind) => Self::Event(*kind),
            Trigger::Cron(cron) => Self::Cron(cron.to_string()),
            Trigger::Every(RunInterval::For(time)) => Self::Interval(format_duration(*time)),
            Trigger::Every(interval) => Self::Interval(interval.to_string()),
        }
    }
}

impl SampleEntry {
    fn read(&self) -> Result<Sample, String> {
        match (self.total, self.per_source) {
            (Some(total), None) if self.sources.is_empty() => Ok(Sample::Total(total)),
            (None, Some(count)) => {
                Ok(Sample::PerSource { count, least: count, sources: self.sources.clone() })
            }
            _ => {
                Err("a sample is either `total`, or `per_source` with or without `sources`"
                    .to_owned())
            }
        }
    }
}

impl ThresholdsEntry {
    fn read(&self, suite: &str) -> Result<SuiteThresholds, SuiteError> {
        let rows = |entries: &BTreeMap<SuiteMeasure, ThresholdEntry>| {
            let row = |(measure, entry): (&SuiteMeasure, &ThresholdEntry)| {
                let wrong = |what| SuiteError::Value { name: suite.to_owned(), what };
                Ok((*measure, entry.read(*measure).map_err(wrong)?))
            };
            entries.iter().map(row).collect::<Result<BTreeMap<_, _>, SuiteError>>()
        };
        let modes = self.modes.iter().map(|(mode, entries)| Ok((*mode, rows(entries)?)));
        Ok(SuiteThresholds {
            all: rows(&self.all)?,
            by_mode: modes.collect::<Result<_, SuiteError>>()?,
        })
    }
}

impl ThresholdEntry {
    pub(super) fn read(&self, measure: SuiteMeasure) -> Result<Threshold, String> {
        let wrong = |what: &str| format!("`{measure}`: {what}");
        let target = || self.target.as_ref().ok_or_else(|| wrong("it has no target"));
        let bound = match measure.unit() {
            MeasureUnit::Share => {
                let share = |amount: &NumberOrPercent| {
                    amount.text().parse::<Percent>().map_err(|e| wrong(&e))
                };
                let (target, alert) = (share(target()?)?, share(&self.alert)?);
                if alert > target {
                    return Err(wrong("its alert is above its target"));
                }
                MeasureBound::Share { target, alert }
            }
            MeasureUnit::Millis => {
                let (target, alert) = (target()?.number()?, self.alert.number()?);
                if target > alert {
                    return Err(wrong("its alert is below its target"));
                }
                MeasureBound::Millis { target, alert }
            }
            MeasureUnit::Score => MeasureBound::Fall { alert: self.alert.number()? },
        };
        let own = SuiteThresholds::default().of(measure, None).is_some_and(|row| row.pages);
        Ok(Threshold { bound, pages: self.page.unwrap_or(own) })
    }
}

impl NumberOrPercent {
    fn text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
        }
    }

    fn number(&self) -> Result<f64, String> {
        let text = self.text();
        let number =
            text.trim().parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
        number.ok_or_else(|| format!("{text:?} is not a number above 0"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "
targets:
  prod: { kind: http, api: v1, url: 'https://search.example' }
thresholds:
  modes:
    graph:
      latency_p95_ms: { target: 800, alert: 850 }
workspaces:
  team-a:
    all: { recall@5: { target: 0.9, alert: 85%, page: false } }
suites:
  - name: post-ingest-regression
    type: regression
    workspace: team-a
    target: prod
    owners: ['@storage-ops']
    triggers: [manual, event: knowledge.persisted]
    debounce: { quiet: 1m }
    k: [5, 10, 20]
  - name: weekly
    type: weekly_benchmark
    owners: [ml]
    triggers:
      - cron: 0 2 * * 0
      - interval: quarterly
    sample: { per_source: 25, sources: [slack] }
    max_duration: 1h
    thresholds: { all: { snippet_accuracy: { target: 95%, alert: 90%, page: true } } }
    alerts: { page: [pd], notify: [slack], silent_after_days: 8 }
";

    #[test]
    fn a_file_whole() {
        let file = SuiteFile::parse(FILE).unwrap();
        let suites = file.suites().unwrap();
        let [regression, weekly] = &suites[..] else { panic!("{suites:?}") };
        assert_eq!((regression.depth, &*regression.target), (20, "prod"));
        assert_eq!(regression.debounce.quiet.as_mins(), 1);
        assert_eq!(regression.sample, Sample::Total(25));
        let recall = regression.thresholds.of(SuiteMeasure::RecallAt5, None).unwrap();
        assert!(!recall.pages, "{recall:?}");
        let graph = regression.thresholds.of(SuiteMeasure::LatencyP95, Some(RetrievalMode::Graph));
        assert_eq!(graph.unwrap().bound, MeasureBound::Millis { target: 800.0, alert: 850.0 });
        assert_eq!(weekly.triggers.len(), 2);
        assert_eq!(weekly.max_duration.as_mins(), 60);
        assert!(weekly.thresholds.of(SuiteMeasure::SnippetAccuracy, None).unwrap().pages);
        assert!(weekly.thresholds.of(SuiteMeasure::RecallAt5, None).unwrap().pages, "the table's");
        assert_eq!(weekly.alerts.silent_after_days, Some(8));
        let json = serde_json::to_string(&file).unwrap();
        assert_eq!(serde_json::from_str::<SuiteFile>(&json).unwrap(), file);
    }

    #[track_caller]
    fn refused(text: &str, says: &str) {
        let error = SuiteFile::parse(text).and_then(|file| file.suites()).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }

    #[test]
    fn errors_name_their_place() {
        let one = |more: &str| {
            format!("suites:\n  - name: a\n    type: smoke\n    owners: [x]\n    {more}\n")
        };
        refused(&one("colour: red"), "line 5");
        refused(&one("colour: red"), "colour");
        refused(&one("triggers: [event: nothing.happened]"), "nothing.happened");
        refused(&one("triggers: [cron: '61 * * * *']"), "61");
        refused(&one("triggers: [interval: 5s]"), "at least 1m");
        refused(&one("sample: { total: 5, per_source: 5 }"), "either `total`");
        refused(&one("max_duration: soon"), "no duration");
        refused(&one("k: [0]"), "`k` holds 0");
        refused(&one("alerts: { silent_after_days: 0 }"), "`silent_after_days` is 0");
        refused(
            &one("thresholds: { all: { recall@5: { target: 90%, alert: 95% } } }"),
            "above its target",
        );
        refused(&one("thresholds: { all: { recall@5: { alert: 95% } } }"), "no target");
        refused(&one("thresholds: { all: { recall@7: { alert: 95% } } }"), "recall@7");
        refused("suites:\n  - name: a\n    type: soak\n    owners: [x]\n", "soak");
        refused("suites:\n  - name: a\n    type: smoke\n", "no owners");
        refused("version: 2\nsuites: []\n", "version 2");
        refused("suites: {", "line");
        let twice = "suites:\n  - {name: a, type: smoke, owners: [x]}\n  - {name: a, type: smoke, owners: [x]}\n";
        refused(twice, "two suites are called `a`");
        assert!(SuiteFile::parse(twice).is_err(), "whoever reads it refuses it");
    }

    #[test]
    fn nothing_is_a_file_without_suites() {
        for text in ["", "# ours\n", "suites:\n", "suites: []\ntargets:\nchannels:\n"] {
            let file = SuiteFile::parse(text).unwrap();
            assert!(file.suites.is_empty() && file.version == 1, "{text:?}");
        }
    }
}
