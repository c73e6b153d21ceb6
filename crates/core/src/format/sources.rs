//! Where pages come from, and whose brains there are.

use schemars::JsonSchema;
use serde::Serialize;

use crate::named;
use crate::source::SourceTrust;

/// What `sources list --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SourcesBody<'a> {
    /// The sources.
    pub sources: Vec<SourceRow<'a>>,
}

/// A source.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SourceRow<'a> {
    /// Its id.
    pub id: &'a str,
    /// What people call it.
    pub name: &'a str,
    /// Whether its pages may take names.
    pub trust: SourceTrust,
    /// How many live pages it has.
    pub pages: u64,
}

/// What happened to a source or workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It is new.
    Added,
    /// It was there and is another now.
    Changed,
    /// It is gone.
    Removed,
}

named! { Change { Added = "added", Changed = "changed", Removed = "removed" } }

/// What `sources add --json` and `sources remove --json` print.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SourceChanged<'a> {
    /// The source.
    pub source: &'a str,
    /// What happened.
    pub outcome: Change,
}

/// What `workspaces list --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WorkspacesBody<'a> {
    /// The workspaces.
    pub workspaces: Vec<WorkspaceRow<'a>>,
}

/// A workspace.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WorkspaceRow<'a> {
    /// Its name.
    pub id: &'a str,
    /// Live pages.
    pub pages: u64,
    /// Their passages.
    pub chunks: u64,
    /// The last change.
    pub generation: i64,
    /// Its content, as one hash.
    pub root: String,
    /// When it was made.
    #[schemars(extend("format" = "date-time"))]
    pub created_at: String,
}

/// What `workspaces add --json` and `workspaces remove --json` print.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WorkspaceChanged<'a> {
    /// The workspace.
    pub workspace: &'a str,
    /// What happened.
    pub outcome: Change,
}
