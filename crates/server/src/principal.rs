//! The principal: who makes a request, in which workspace and with which scope.

use gbrain_core::access::Scope;
use gbrain_core::id::WorkspaceId;

/// An authenticated remote caller. It never sees private pages, even with scope admin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The only workspace it can access.
    pub workspace: WorkspaceId,
    pub scope: Scope,
    /// Display name: the token's name.
    pub name: String,
    pub token_id: Option<String>,
}

impl Principal {
    /// A caller on this machine that needs no token.
    pub fn local(workspace: WorkspaceId, scope: Scope, name: &str) -> Self {
        Self { workspace, scope, name: name.to_owned(), token_id: None }
    }
}
