//! Documents of measuring, kept under a name.

use gbrain_core::clock::with_milliseconds;
use gbrain_core::hash::Hash;
use gbrain_core::named;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

/// What a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DocumentKind {
    Baseline,
    Qrels,
}

named! { DocumentKind { Baseline = "baseline", Qrels = "qrels" } }

/// A stored document, without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "DocumentBody")]
pub struct DocumentInfo {
    // 1 to 512 bytes.
    /// Its name.
    pub name: String,
    /// SHA-256 of its text.
    pub hash: Hash,
    /// Bytes of text.
    pub bytes: u64,
    /// When this text was stored.
    #[serde(serialize_with = "with_milliseconds")]
    #[schemars(with = "String")]
    pub created_at: Timestamp,
}

/// A document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// All but its text.
    pub info: DocumentInfo,
    pub body: String,
}
