//! A baseline: frozen captures with label, thresholds, provenance and hashes.
//!
//! The file is NDJSON: one line of metadata, then one row a line, sorted, so that the same captures
//! published at the same time give the same bytes. `source_hash` is over the queries, as other
//! gbrains compute it; `rows_hash` is over everything, and a file whose hash is wrong is refused. The
//! hash has no key: it shows accidental edits. `rows_hmac` signs it with a key of the owner.

mod hash;
mod key;
mod metadata;
mod own_fields;
mod publish;
mod ratchet;
mod read;
mod reseal;

pub use hash::{query_hash, source_hash};
pub use key::{BaselineKey, BaselineKeyError, SignatureCheck};
pub(crate) use metadata::check_rate;
pub use metadata::{BaselineMetadata, BaselineThresholds, PastBaseline, ThresholdsError};
pub use publish::{BaselineDraft, PublishError, PublishedBaseline, RefusedRow, publish};
pub use ratchet::{RowChange, judged_rows, row_change};
pub use read::{Baseline, BaselineError, BaselineIntegrity, BaselineReader, CaptureFile};
pub use reseal::{ResealOutcome, reseal};
