//! API tokens: credentials for one workspace.

use std::fmt;

use gbrain_core::access::Scope;
use gbrain_core::id::WorkspaceId;
use jiff::Timestamp;

/// The keyed hash of a token's secret. It has no `==`, so that comparisons are written in constant
/// time, and its `Debug` shows no bytes.
#[derive(Clone, Copy)]
pub struct TokenDigest(pub [u8; 32]);

/// A token to store.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// The public part of the token: 1 to 64 bytes, unique across workspaces.
    pub id: String,
    /// A name for people.
    pub name: String,
    /// The operations that the bearer may call.
    pub scope: Scope,
    pub digest: TokenDigest,
    /// Requests per second, at least one.
    pub rate_per_second: u32,
    pub expires_at: Option<Timestamp>,
}

/// An API token without its secret, of which only a digest is stored.
#[derive(Debug, Clone)]
pub struct ApiToken {
    /// The workspace that it gives access to.
    pub workspace: WorkspaceId,
    /// The public part of the token.
    pub id: String,
    /// A name for people.
    pub name: String,
    /// The operations that the bearer may call.
    pub scope: Scope,
    pub digest: TokenDigest,
    pub rate_per_second: u32,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    /// The last recorded use.
    pub last_used_at: Option<Timestamp>,
}

impl ApiToken {
    /// Whether it is neither revoked nor expired.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }
}

impl fmt::Debug for TokenDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenDigest(..)")
    }
}
