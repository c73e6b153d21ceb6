//! A capture: one observed request with its ranking, scrubbed.
//!
//! What a store keeps of it is decided here, so that both engines keep the same and an export can
//! be spliced together without reading JSON again.

mod captured;
mod line;
mod observe;
mod row;

pub use captured::{CapturedRow, Retrieved};
pub use line::write_line;
pub use observe::{CapturePolicy, Observed, Scrubbing, keys};
pub use row::{CaptureFailure, CaptureFields, FailureReason, QUERY_MAX_BYTES, StoredCapture};
