//! What became of work on a whole brain: imports, indexing, embedding, pruning.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::named;

/// What `import --json` prints.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportBody {
    /// Pages that are new.
    pub added: usize,
    /// Pages with a new version.
    pub changed: usize,
    /// Pages whose text is the same.
    pub unchanged: usize,
    /// Pages whose file has vanished.
    pub deleted: usize,
    /// Files that could not be taken in.
    pub failed: Vec<FileRemark>,
    /// What the authors should know.
    pub warnings: Vec<FileRemark>,
    /// Files of a directory that were passed over, by kind: their ending, or what they are.
    #[serde(default)]
    pub skipped: BTreeMap<String, usize>,
}

/// Something to say about a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileRemark {
    /// The file.
    pub path: String,
    /// What is so.
    pub reason: String,
}

/// What `reindex --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReindexBody {
    /// The last change that is indexed.
    pub generation: i64,
    /// Pages indexed.
    pub pages: u64,
    /// Passages indexed.
    pub chunks: u64,
}

/// What `reindex --verify --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VerifyBody<'a> {
    /// Whether everything agrees.
    pub status: Soundness,
    /// Pages compared.
    pub pages: u64,
    /// Passages compared.
    pub chunks: u64,
    /// What does not agree.
    pub findings: Vec<VerifyRow<'a>>,
}

/// Whether store and index agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Soundness {
    /// Everything agrees.
    Pass,
    /// Something does not.
    Fail,
}

named! { Soundness { Pass = "pass", Fail = "fail" } }

/// Something that does not agree.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VerifyRow<'a> {
    /// Which check.
    pub check: &'a str,
    /// What it found; no page text.
    pub detail: &'a str,
}

/// What `reembed --json` prints: whose vectors there are, and how far the next ones are.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VectorsBody<'a> {
    /// The model whose vectors are held.
    pub held: Option<&'a str>,
    /// Whether this process can search them.
    pub is_searchable: bool,
    /// The model that this process wants.
    pub wanted: Option<&'a str>,
    /// Passages that have a vector of the model wanted.
    pub made: u64,
    /// Passages in all.
    pub total: u64,
    /// Whether embedding again would change nothing.
    pub is_settled: bool,
}

/// The version of [`PruneBody`].
pub const PRUNE_VERSION: u32 = 1;

/// What `eval prune --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PruneBody {
    /// The version.
    pub schema_version: u32,
    /// Whether rows were only counted.
    pub dry_run: bool,
    /// Rows stored before this.
    #[schemars(extend("format" = "date-time"))]
    pub before: String,
    /// How many captures; 0 when failures were asked for.
    pub rows: u64,
    /// How many failures; null when they were not asked for.
    pub failures: Option<u64>,
    /// How many logs of live retrievals; null where they were left or only captures were counted.
    pub logs: Option<u64>,
}
