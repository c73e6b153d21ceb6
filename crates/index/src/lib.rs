//! Search structures derived from the store; they can be rebuilt at any time.
//!
//! One index per workspace contains its pages by name, their chunks by word and vector, and their
//! links by end. A ranking depends only on the corpus, the query and the settings: not on segments,
//! merges, deleted documents, threads or insertion order.
//!
//! Two indexes implement one set of traits. [`MemoryIndex`] scans everything and is the oracle;
//! [`DiskIndex`] is tantivy on disk with its own scorer, and must return identical results.
//!
//! Deliberately absent: the store (pages arrive as arguments), query syntax, phrases, an
//! approximate vector index (a scan is exact under every filter).

mod bm25;
mod contract;
mod disk;
mod entry;
mod error;
mod filter;
mod memory;
mod models;
mod statistics;
mod tokens;
mod vectors;

pub use gbrain_embed::Urgency;

pub use contract::{
    ChunkHit, Corpus, Index, IndexCounts, PageWords, VectorHit, View, WordsQuery, Writer,
};
pub use disk::{DiskIndex, SEPARATOR, SplitStream, is_reading_files};
pub use entry::{LinkEntry, NameKind, NameMatch, PageEntry, Passage};
pub use error::{IndexError, IndexResult};
pub use memory::MemoryIndex;
pub use models::Models;
pub use vectors::{FlatVectors, VectorQuery};
