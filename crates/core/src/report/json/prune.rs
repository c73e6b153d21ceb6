//! JSON output of pruning.

use schemars::JsonSchema;
use serde::Serialize;

/// The version of [`PruneBody`].
pub const PRUNE_VERSION: u32 = 1;

/// The output of `eval prune --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PruneBody {
    /// The version of this output format.
    pub schema_version: u32,
    /// Whether rows were only counted, not deleted.
    pub dry_run: bool,
    /// Rows stored before this time are pruned.
    #[schemars(extend("format" = "date-time"))]
    pub before: String,
    #[expect(missing_docs, reason = "the comment would be in the schema")]
    #[serde(flatten)]
    pub counts: PruneCounts,
}

// A doc comment would appear in the schema of the body.
#[expect(missing_docs, reason = "see above")]
#[derive(Debug, Clone, Copy, Default, Serialize, JsonSchema)]
pub struct PruneCounts {
    /// Number of captures; 0 if only failures were selected.
    pub rows: u64,
    /// Number of failures; null if they were not selected.
    pub failures: Option<u64>,
    /// Number of retrieval logs; null if they were not selected or only captures were counted.
    pub logs: Option<u64>,
}
