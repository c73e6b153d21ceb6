//! Tokens: who may come over a wire, and to what.

use std::fmt;

use gbrain_core::access::Scope;
use gbrain_core::id::WorkspaceId;
use jiff::Timestamp;

/// What is kept of a token's secret: its keyed hash. Has no `==`, so that whoever checks a token
/// has to think of the time that takes, and no bytes in its `Debug`.
#[derive(Clone, Copy)]
pub struct TokenDigest(pub [u8; 32]);

/// A token to keep.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// The part of it that is no secret: 1 to 64 bytes, of one token of one workspace only.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// What it lets its bearer do.
    pub scope: Scope,
    /// The hash of its secret.
    pub digest: TokenDigest,
    /// Requests per second, at least one.
    pub rate_per_second: u32,
    /// When it ends by itself.
    pub expires_at: Option<Timestamp>,
}

/// A token that is kept.
#[derive(Debug, Clone)]
pub struct Token {
    /// Whose rows it opens.
    pub workspace: WorkspaceId,
    /// The part of it that is no secret.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// What it lets its bearer do.
    pub scope: Scope,
    /// The hash of its secret.
    pub digest: TokenDigest,
    pub rate_per_second: u32,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// When it was last seen, as far as that was told.
    pub last_used_at: Option<Timestamp>,
}

impl Token {
    /// Whether it opens anything at a moment.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }
}

impl fmt::Debug for TokenDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenDigest(..)")
    }
}
