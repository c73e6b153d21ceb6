//! Text embeddings.
//!
//! The built-in model is a table: one vector per word piece, summed over a text and brought to
//! length one. It is compiled into the binary, costs nothing until it is used, and needs no key,
//! server or download. The vector of a text depends on the text and the model alone: sums run in a
//! fixed order, dimension by dimension, so every machine computes the same bits.
//!
//! Deliberately absent: storage and search of vectors, batching over the network, caches.

mod adder;
mod basic;
mod embedder;
mod layout;
#[cfg(feature = "onnx")]
mod onnx;
mod slot;
mod table;
mod vocabulary;
mod wordpiece;

pub use embedder::{EmbedError, EmbedErrorKind, Embedder, PassageText, Urgency};
#[cfg(feature = "onnx")]
pub use onnx::OnnxModel;
pub use table::StaticTable;
pub use vocabulary::{PieceId, Vocabulary};
pub use wordpiece::WordPiece;
