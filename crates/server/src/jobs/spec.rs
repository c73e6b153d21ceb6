//! Job specifications, as sent and stored.

use std::path::PathBuf;

use gbrain_core::baseline::BaselineThresholds;
use gbrain_core::fault::{Fault, FaultKind};
use gbrain_core::format::body;
use gbrain_core::gate::{ConfidenceLevel, CorrectnessThresholds};
use gbrain_core::id::SourceId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operations::bounds::within;
use crate::operations::documents::{MAX_ROWS, NAME_PATTERN, checked};
use crate::operations::pages::TextFormat;
use crate::wire_timestamp::WireTimestamp;

/// Kinds of jobs that change the brain.
pub(crate) const JOBS: &[&str] = &["import", ImportFilesSpec::KIND, "reindex"];
/// Kinds of jobs that evaluate it.
pub(crate) const RUNS: &[&str] = &["replay", "gate"];
/// Kinds of jobs that run suites, queued by the scheduler.
pub(crate) const SUITES: &[&str] = &[gbrain_eval::suite::KIND];

/// A job that a caller may start.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum JobBody {
    /// Imports the pages in the specification.
    Import(ImportSpec),
    /// Rebuilds the index from the store.
    Reindex(ReindexSpec),
}

/// An evaluation that a caller may start.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum RunBody {
    /// Replays captured requests and compares the rankings.
    Replay(ReplaySpec),
    /// Checks a baseline, qrels, or both, and returns a verdict.
    Gate(GateSpec),
}

/// Pages to import. Each is written once, even if a worker crashes.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ImportSpec {
    /// The source of pages whose name contains none.
    #[serde(default)]
    #[schemars(regex(pattern = r"^[a-z0-9][a-z0-9-]{0,31}$"))]
    pub source: Option<String>,
    /// The pages, in the order in which they are written.
    #[serde(deserialize_with = "body::objects")]
    #[schemars(length(min = 1, max = 10_000))]
    pub pages: Vec<NewPage>,
}

/// A page to import.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewPage {
    /// The page name: a slug, or `source::slug`.
    #[schemars(length(min = 1, max = 546))]
    pub slug: String,
    /// The whole text, including frontmatter.
    pub content: String,
    /// The format of the text; markdown by default.
    #[serde(default)]
    pub format: Option<TextFormat>,
}

/// Files to import, as paths on the worker's machine. Only the command line may start this job.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImportFilesSpec {
    /// The source of the pages; created if it does not exist.
    pub source: String,
    pub paths: Vec<PathBuf>,
    /// Whether a directory without pages deletes the pages it contained before.
    #[serde(default)]
    pub allow_empty: bool,
}

impl ImportFilesSpec {
    pub const KIND: &str = "import_files";
}

/// A rebuild of the index from the store.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReindexSpec {}

/// The rows to replay.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RowSelection {
    /// The name of a stored baseline; by default the captures between `since` and `until`.
    #[serde(default)]
    #[schemars(length(min = 1, max = 100), regex(pattern = NAME_PATTERN))]
    pub baseline: Option<String>,
    /// Captures at or after this time.
    #[serde(default)]
    pub since: Option<WireTimestamp>,
    /// Captures before this time.
    #[serde(default)]
    pub until: Option<WireTimestamp>,
    /// At most this many rows, the newest.
    #[serde(default)]
    #[schemars(range(min = 1, max = 100_000))]
    pub limit: Option<u32>,
}

/// A replay of captured requests.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReplaySpec {
    /// The rows to replay.
    #[serde(deserialize_with = "body::object")]
    pub against: RowSelection,
    /// The corpus to query: `now`, or each row's own (`capture`).
    #[serde(default)]
    pub as_of: CorpusChoice,
    /// The settings to use: `live`, or each row's own (`capture`).
    #[serde(default)]
    pub settings: SettingsChoice,
    /// How often each row is replayed; the shortest latency counts.
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 100))]
    pub repeats: u16,
    /// Find out what moved each query.
    #[serde(default)]
    pub blame: bool,
    /// How many of the worst queries to show and explain.
    #[serde(default = "five")]
    #[schemars(range(max = 1000))]
    pub top_regressions: u16,
    /// Include every row in the result.
    #[serde(default)]
    pub verbose: bool,
}

/// A gate on a baseline, qrels, or both.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GateSpec {
    /// The name of a stored baseline, to check for regressions.
    #[serde(default)]
    #[schemars(length(min = 1, max = 100), regex(pattern = NAME_PATTERN))]
    pub baseline: Option<String>,
    /// The name of stored qrels, to check correctness.
    #[serde(default)]
    #[schemars(length(min = 1, max = 100), regex(pattern = NAME_PATTERN))]
    pub qrels: Option<String>,
    /// How many results of a judged query count.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 1000))]
    pub k: u16,
    /// Minimum mean Jaccard overlap with the baseline; overrides the baseline's own threshold.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1))]
    pub threshold_jaccard: Option<f64>,
    /// Minimum share of rows with the same first page.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1))]
    pub threshold_top1: Option<f64>,
    /// Maximum latency as a multiple of the baseline's.
    #[serde(default)]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub threshold_latency_multiplier: Option<f64>,
    /// Minimum mean recall at k of judged queries.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1))]
    pub threshold_recall_at_k: Option<f64>,
    /// Minimum share of judged queries whose first page is relevant.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1))]
    pub threshold_first_relevant_hit: Option<f64>,
    /// Minimum share of judged queries whose first page is the expected one.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1))]
    pub threshold_expected_top1: Option<f64>,
    /// Fail on a breach only at this confidence level.
    #[serde(default)]
    #[schemars(range(min = 0.5), extend("exclusiveMaximum" = 1))]
    pub confidence: Option<f64>,
    /// Run judged queries at the current time, instead of with the fixed pipeline.
    #[serde(default)]
    pub production: bool,
    /// The settings for replayed rows.
    #[serde(default)]
    pub settings: SettingsChoice,
    /// How often each row is replayed.
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 100))]
    pub repeats: u16,
}

/// The corpus to query.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CorpusChoice {
    /// The corpus as it is now.
    #[default]
    Now,
    /// The corpus of each capture.
    Capture,
}

/// The settings to use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SettingsChoice {
    /// The brain's current settings.
    #[default]
    Live,
    /// The settings of each capture.
    Capture,
}

impl ImportSpec {
    /// Checks the limits of the schema. Pages that cannot be imported are reported by the job.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        if !(1..=10_000).contains(&self.pages.len()) {
            return Err(Fault::usage("an import takes 1 to 10000 pages"));
        }
        self.source.as_deref().map(SourceId::new).transpose()?;
        let is_name = |page: &NewPage| (1..=546).contains(&page.slug.chars().count());
        match self.pages.iter().position(|page| !is_name(page)) {
            Some(at) => Err(Fault::usage(format!(
                "the name of page {} must have 1 to 546 characters",
                at + 1
            ))),
            None => Ok(()),
        }
    }
}

impl RowSelection {
    fn check(&self) -> Result<(), Fault> {
        self.baseline.clone().map(checked).transpose()?;
        within("limit", self.limit, 1..=MAX_ROWS)
    }
}

impl ReplaySpec {
    pub(crate) fn check(&self) -> Result<(), Fault> {
        self.against.check()?;
        within("repeats", Some(self.repeats), 1..=100)?;
        within("top_regressions", Some(self.top_regressions), 0..=1000)
    }
}

impl GateSpec {
    /// Checks the limits of the schema, and that a baseline or qrels are given.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        for name in [&self.baseline, &self.qrels] {
            name.clone().map(checked).transpose()?;
        }
        within("k", Some(self.k), 1..=1000)?;
        within("repeats", Some(self.repeats), 1..=100)?;
        let wrong = |error: &dyn std::error::Error| Fault::of(FaultKind::Usage, error);
        self.confidence.map(ConfidenceLevel::new).transpose().map_err(|error| wrong(&error))?;
        self.regression(BaselineThresholds::default()).check().map_err(|error| wrong(&error))?;
        self.correctness().check().map_err(|error| wrong(&error))?;
        if self.baseline.is_none() && self.qrels.is_none() {
            return Err(Fault::new(FaultKind::Input, "nothing to gate on")
                .hint("name a baseline, qrels, or both"));
        }
        Ok(())
    }

    /// The regression thresholds, with defaults from the baseline.
    pub(crate) fn regression(&self, own: BaselineThresholds) -> BaselineThresholds {
        BaselineThresholds {
            jaccard: self.threshold_jaccard.unwrap_or(own.jaccard),
            top1: self.threshold_top1.unwrap_or(own.top1),
            latency_multiplier: self.threshold_latency_multiplier.unwrap_or(own.latency_multiplier),
        }
    }

    pub(crate) fn correctness(&self) -> CorrectnessThresholds {
        let own = CorrectnessThresholds::default();
        CorrectnessThresholds {
            recall_at_k: self.threshold_recall_at_k.unwrap_or(own.recall_at_k),
            first_relevant_hit: self.threshold_first_relevant_hit.unwrap_or(own.first_relevant_hit),
            expected_top1: self.threshold_expected_top1.unwrap_or(own.expected_top1),
        }
    }
}

fn three() -> u16 {
    3
}

fn five() -> u16 {
    5
}

fn ten() -> u16 {
    10
}
