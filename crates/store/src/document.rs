//! Documents of measuring, kept under a name.

use gbrain_core::hash::Hash;
use gbrain_core::named;
use jiff::Timestamp;

/// What a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DocumentKind {
    /// Captures, frozen.
    Baseline,
    /// Judgements.
    Qrels,
}

named! { DocumentKind { Baseline = "baseline", Qrels = "qrels" } }

/// A document without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentInfo {
    /// Its name: 1 to 512 bytes.
    pub name: String,
    /// SHA-256 of its text.
    pub hash: Hash,
    /// Bytes of text.
    pub bytes: u64,
    /// When this text was put there.
    pub created_at: Timestamp,
}

/// A document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// All but its text.
    pub info: DocumentInfo,
    /// Its text.
    pub body: String,
}
