//! Sources: where pages come from.

use crate::named;

/// Whether a source is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SourceTrust {
    Trusted,
    /// Not trusted: its aliases cannot take another page's name.
    Untrusted,
}

named! { SourceTrust { Untrusted = "untrusted", Trusted = "trusted" } }
