//! A baseline: frozen captures with label, thresholds, provenance and hashes.
//!
//! The file is NDJSON: one line of metadata, then one row a line, sorted, so that the same captures
//! published at the same time give the same bytes. `source_hash` is over the queries, as other
//! gbrains compute it; `rows_hash` is over everything, and a file whose hash is wrong is refused.

mod hash;
mod metadata;
mod publish;
mod read;

pub use hash::{query_hash, source_hash};
pub(crate) use metadata::check_rate;
pub use metadata::{Metadata, Past, Thresholds, ThresholdsError};
pub use publish::{Draft, PublishError, Published, Refused, publish};
pub use read::{Baseline, BaselineError, Captures, Integrity, Reader};
