//! Who asks.

use gbrain_core::access::Scope;
use gbrain_core::id::WorkspaceId;

/// A caller over a wire, after it has shown who it is. However much it may do, it is never trusted
/// with private pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visitor {
    /// The workspace it is let into. There is no way to another.
    pub workspace: WorkspaceId,
    /// What it may do there.
    pub scope: Scope,
    /// What people call it: the token's name.
    pub name: String,
    /// The token it came with.
    pub token_id: Option<String>,
}

impl Visitor {
    /// A caller on this machine who needs no token.
    pub fn local(workspace: WorkspaceId, scope: Scope, name: &str) -> Self {
        Self { workspace, scope, name: name.to_owned(), token_id: None }
    }
}
