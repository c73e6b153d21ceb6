//! Stand-in until the shared request body is there.

use schemars::JsonSchema;
use serde::Deserialize;

/// What to ask.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskBody {
    /// What to look for.
    pub query: String,
    /// How many pages.
    #[serde(default)]
    pub limit: Option<u16>,
}
