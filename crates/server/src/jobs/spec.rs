//! What a job is asked to do, as it is sent and stored.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use gbrain_core::fault::Fault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::moment::Moment;
use crate::operations::pages::TextFormat;

/// The kinds that change the brain.
pub(crate) const JOBS: &[&str] = &["import", ImportFilesSpec::KIND, "reindex"];
/// The kinds that measure it.
pub(crate) const RUNS: &[&str] = &["replay", "gate"];

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
    pub source: Option<String>,
    /// The pages, in the order in which they are written.
    #[schemars(length(min = 1, max = 10_000))]
    pub pages: Vec<NewPage>,
}

/// A page to take in.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewPage {
    /// Its name: a slug, or `source::slug`.
    #[schemars(length(min = 1, max = 512))]
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
    /// Files and directories.
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
    pub baseline: Option<String>,
    /// The name of stored judgements: is it any good?
    #[serde(default)]
    pub qrels: Option<String>,
    /// How many pages of a judged query count.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 1000))]
    pub k: u16,
    /// Least mean overlap with the baseline, instead of the baseline's own threshold.
    #[serde(default)]
    pub threshold_jaccard: Option<f64>,
    /// Least share of rows with the same first page.
    #[serde(default)]
    pub threshold_top1: Option<f64>,
    /// How many times as long an answer may take.
    #[serde(default)]
    pub threshold_latency_multiplier: Option<f64>,
    /// Least mean recall at k of judged queries.
    #[serde(default)]
    pub threshold_recall_at_k: Option<f64>,
    /// Least share of judged queries whose first page is relevant.
    #[serde(default)]
    pub threshold_first_relevant_hit: Option<f64>,
    /// Least share of judged queries whose first page is the expected one.
    #[serde(default)]
    pub threshold_expected_top1: Option<f64>,
    /// Call a breach a failure only when it is this sure.
    #[serde(default)]
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

impl ReplaySpec {
    /// Refuses what is out of range.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        if let Some(limit) = self.against.limit {
            within("limit", limit, 1..=100_000)?;
        }
        within("repeats", self.repeats.into(), 1..=100)?;
        within("top_regressions", self.top_regressions.into(), 0..=1000)
    }
}

impl GateSpec {
    /// Refuses what is out of range.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        within("k", self.k.into(), 1..=1000)?;
        within("repeats", self.repeats.into(), 1..=100)
    }
}

fn within(name: &str, value: u32, range: RangeInclusive<u32>) -> Result<(), Fault> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(Fault::usage(format!("`{name}` is {} to {}", range.start(), range.end())))
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

fn three() -> u16 {
    3
}

fn five() -> u16 {
    5
}

fn ten() -> u16 {
    10
}
