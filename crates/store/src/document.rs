//! Named evaluation documents: baselines and qrels.

use gbrain_core::clock::with_milliseconds;
use gbrain_core::hash::Hash;
use gbrain_core::named;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

named! {
    /// The kind of a document.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum DocumentKind {
        Baseline = "baseline",
        Qrels = "qrels",
    }
}

/// A stored document, without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "DocumentBody")]
pub struct DocumentInfo {
    // A name has 1 to 512 bytes.
    /// The name of the document.
    pub name: String,
    /// SHA-256 of the text.
    pub hash: Hash,
    /// Length of the text in bytes.
    pub bytes: u64,
    /// When this text was stored.
    #[serde(serialize_with = "with_milliseconds")]
    #[schemars(with = "String")]
    pub created_at: Timestamp,
}

/// A document with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub info: DocumentInfo,
    pub body: String,
}
