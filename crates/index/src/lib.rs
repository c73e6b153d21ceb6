//! What gbrain finds things with: derived from the store, rebuildable at any time.
//!
//! One index per workspace holds its pages by name, their chunks by word and their links by end.
//! A ranking is a function of the corpus, the query and the settings alone: not of segments,
//! merges, deleted documents, threads or the order in which pages came.
//!
//! Two indexes stand behind one set of traits. [`MemoryIndex`] scans everything and is the oracle;
//! [`DiskIndex`] is tantivy on disk with a scorer of its own, and must give the same bytes.
//!
//! Deliberately absent: the store (pages arrive as arguments), query syntax, phrases, an
//! approximate index of vectors (a scan is exact under every filter).

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

pub use contract::{ChunkHit, Corpus, Held, Index, PageWords, VectorHit, View, WordsQuery, Writer};
pub use disk::{DiskIndex, SEPARATOR, SplitStream, is_reading_files};
pub use entry::{LinkEntry, NameKind, Named, PageEntry, Passage};
pub use error::{IndexError, Result};
pub use memory::MemoryIndex;
pub use models::Models;
pub use vectors::{FlatVectors, VectorQuery};
