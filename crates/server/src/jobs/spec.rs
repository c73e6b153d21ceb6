//! What a job is asked to do, as it is sent and stored.

use std::path::PathBuf;

use gbrain_core::baseline::Thresholds;
use gbrain_core::fault::{Fault, FaultKind};
use gbrain_core::format::body;
use gbrain_core::gate::{Confidence, CorrectnessThresholds};
use gbrain_core::id::SourceId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::moment::Moment;
use crate::operations::bounds::within;
use crate::operations::documents::{MOST_ROWS, NAME_PATTERN, checked};
use crate::operations::pages::TextFormat;

/// The kinds that change the brain.
pub(crate) const JOBS: &[&str] = &["import", ImportFilesSpec::KIND, "reindex"];
/// The kinds that measure it.
pub(crate) const RUNS: &[&str] = &["replay", "gate"];
/// The kinds that run suites, which the scheduler queues.
pub(crate) const SUITES: &[&str] = &[gbrain_eval::suite::KIND];

/// A job that a caller may start.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum JobBody {
    /// Takes in many pages.
    Import(ImportSpec),
    /// Makes the index again from the store.
    Reindex(ReindexSpec),
}

/// A measurement that a caller may start.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum RunBody {
    /// Asks captured requests again and says what moved.
    Replay(ReplaySpec),
    /// Pass or fail: a baseline, known-right answers, or both.
    Gate(GateSpec),
}

/// Pages to take in. Each is written once, whatever happens to whoever writes them.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ImportSpec {
    /// The source of pages that do not name theirs.
    #[serde(default)]
    #[schemars(regex(pattern = r"^[a-z0-9][a-z0-9-]{0,31}$"))]
    pub source: Option<String>,
    /// The pages, in the order in which they are written.
    #[serde(deserialize_with = "body::objects")]
    #[schemars(length(min = 1, max = 10_000))]
    pub pages: Vec<NewPage>,
}

/// A page to take in.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewPage {
    /// Its name: a slug, or `source::slug`.
    #[schemars(length(min = 1, max = 546))]
    pub slug: String,
    /// Its whole text, frontmatter included.
    pub content: String,
    /// What kind of text it is; markdown if it is not said.
    #[serde(default)]
    pub format: Option<TextFormat>,
}

/// Files to take in, as paths on the machine of the worker. Only the command line may ask for it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImportFilesSpec {
    /// The source of the pages; made if it is not there.
    pub source: String,
    pub paths: Vec<PathBuf>,
    /// Whether a directory that holds no page any more deletes the pages it held.
    #[serde(default)]
    pub allow_empty: bool,
}

impl ImportFilesSpec {
    /// The kind of job that it is.
    pub const KIND: &str = "import_files";
}

/// An index to make again.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReindexSpec {}

/// Which rows are asked again.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rows {
    /// The name of a stored baseline; the captures of the window if it is not said.
    #[serde(default)]
    #[schemars(length(min = 1, max = 100), regex(pattern = NAME_PATTERN))]
    pub baseline: Option<String>,
    /// Captures at or after this moment.
    #[serde(default)]
    pub since: Option<Moment>,
    /// Captures before this moment.
    #[serde(default)]
    pub until: Option<Moment>,
    /// At most this many rows, the newest.
    #[serde(default)]
    #[schemars(range(min = 1, max = 100_000))]
    pub limit: Option<u32>,
}

/// A replay.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReplaySpec {
    /// Which rows are asked again.
    #[serde(deserialize_with = "body::object")]
    pub against: Rows,
    /// Which corpus is asked: `now`, or each row's own (`capture`).
    #[serde(default)]
    pub as_of: When,
    /// Whose settings are used: those that are `live`, or each row's own (`capture`).
    #[serde(default)]
    pub settings: Whose,
    /// How often each row is asked: the shortest time counts.
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
    /// Put every row into the result.
    #[serde(default)]
    pub verbose: bool,
}

/// A gate.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GateSpec {
    /// The name of a stored baseline: did it change?
    #[serde(default)]
    #[schemars(length(min = 1, max = 100), regex(pattern = NAME_PATTERN))]
    pub baseline: Option<String>,
    /// The name of stored judgements: is it any good?
    #[serde(default)]
    #[schemars(length(min = 1, max = 100), regex(pattern = NAME_PATTERN))]
    pub qrels: Option<String>,
    /// How many pages of a judged query count.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 1000))]
    pub k: u16,
    /// Least mean overlap with the baseline, instead of the baseline's own threshold.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1))]
    pub threshold_jaccard: Option<f64>,
    /// Least share of rows with the same first page.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1))]
    pub threshold_top1: Option<f64>,
    /// How many times as long an answer may take.
    #[serde(default)]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub threshold_latency_multiplier: Option<f64>,
    /// Least mean recall at k of judged queries.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1))]
    pub threshold_recall_at_k: Option<f64>,
    /// Least share of judged queries whose first page is relevant.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1))]
    pub threshold_first_relevant_hit: Option<f64>,
    /// Least share of judged queries whose first page is the expected one.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1))]
    pub threshold_expected_top1: Option<f64>,
    /// Call a breach a failure only when it is this sure.
    #[serde(default)]
    #[schemars(range(min = 0.5), extend("exclusiveMaximum" = 1))]
    pub confidence: Option<f64>,
    /// Ask judged queries with the time as it is, instead of the fixed pipeline.
    #[serde(default)]
    pub production: bool,
    /// Whose settings replayed rows use.
    #[serde(default)]
    pub settings: Whose,
    /// How often each row is asked.
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 100))]
    pub repeats: u16,
}

/// Which corpus is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum When {
    /// The newest.
    #[default]
    Now,
    /// That of each capture.
    Capture,
}

/// Whose settings are used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Whose {
    /// The brain's as it is.
    #[default]
    Live,
    /// Those of each capture.
    Capture,
}

impl ImportSpec {
    /// Refuses what the schema does not allow. A page that can't be taken in is the job's business.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        if !(1..=10_000).contains(&self.pages.len()) {
            return Err(Fault::usage("an import takes 1 to 10000 pages"));
        }
        self.source.as_deref().map(SourceId::new).transpose()?;
        let is_name = |page: &NewPage| (1..=546).contains(&page.slug.chars().count());
        match self.pages.iter().position(|page| !is_name(page)) {
            Some(at) => {
                Err(Fault::usage(format!("page {} has no name of 1 to 546 characters", at + 1)))
            }
            None => Ok(()),
        }
    }
}

impl Rows {
    fn check(&self) -> Result<(), Fault> {
        self.baseline.clone().map(checked).transpose()?;
        within("limit", self.limit, 1..=MOST_ROWS)
    }
}

impl ReplaySpec {
    /// Refuses what the schema does not allow.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        self.against.check()?;
        within("repeats", Some(self.repeats), 1..=100)?;
        within("top_regressions", Some(self.top_regressions), 0..=1000)
    }
}

impl GateSpec {
    /// Refuses what the schema does not allow, and a gate on nothing.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        for name in [&self.baseline, &self.qrels] {
            name.clone().map(checked).transpose()?;
        }
        within("k", Some(self.k), 1..=1000)?;
        within("repeats", Some(self.repeats), 1..=100)?;
        let wrong = |error: &dyn std::error::Error| Fault::of(FaultKind::Usage, error);
        self.confidence.map(Confidence::new).transpose().map_err(|error| wrong(&error))?;
        self.regression(Thresholds::default()).check().map_err(|error| wrong(&error))?;
        self.correctness().check().map_err(|error| wrong(&error))?;
        if self.baseline.is_none() && self.qrels.is_none() {
            return Err(Fault::new(FaultKind::Input, "nothing to gate on")
                .hint("name a baseline, qrels, or both"));
        }
        Ok(())
    }

    /// What is asked of a baseline whose own thresholds are these.
    pub(crate) fn regression(&self, own: Thresholds) -> Thresholds {
        Thresholds {
            jaccard: self.threshold_jaccard.unwrap_or(own.jaccard),
            top1: self.threshold_top1.unwrap_or(own.top1),
            latency_multiplier: self.threshold_latency_multiplier.unwrap_or(own.latency_multiplier),
        }
    }

    /// What is asked of judged queries.
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
