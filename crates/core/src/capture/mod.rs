//! A capture: one observed request with its ranking, scrubbed.
//!
//! The stored form is decided here, so that both engines store the same and an export can be
//! spliced together without reading JSON again.

mod captured;
mod line;
mod mask;
mod observe;
mod of_target;
mod row;
mod scrubbing;
mod settings;
mod window;

pub use captured::{CapturedPage, CapturedRow};
pub use line::write_line;
pub use mask::PrivateNames;
pub(crate) use observe::chunk_number;
pub use observe::{CapturePolicy, ObservedAnswer, keys};
pub use of_target::TargetCapture;
pub(crate) use row::{CAPTURE_VERSION, QUERY_MAX_BYTES};
pub use row::{CaptureFailure, CaptureFields, FailureReason, StoredCapture};
pub use scrubbing::{ScrubbedAnswer, ScrubbedFilter};
pub use settings::{CaptureSettingError, CaptureSettings, CaptureSwitch};
pub use window::{CLOCK_SKEW, CaptureWindow, EmptyWindow};
