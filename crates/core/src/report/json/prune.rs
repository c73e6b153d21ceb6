//! What pruning did.

use schemars::JsonSchema;
use serde::Serialize;

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
    #[expect(missing_docs, reason = "the comment would be in the schema")]
    #[serde(flatten)]
    pub counts: PruneCounts,
}

// A doc comment would go into the schema of the body.
#[expect(missing_docs, reason = "see above")]
#[derive(Debug, Clone, Copy, Default, Serialize, JsonSchema)]
pub struct PruneCounts {
    /// How many captures; 0 when failures were asked for.
    pub rows: u64,
    /// How many failures; null when they were not asked for.
    pub failures: Option<u64>,
    /// How many logs of live retrievals; null where they were left or only captures were counted.
    pub logs: Option<u64>,
}
