//! Reports for terminals: complete without colour, verdict first.
//!
//! Queries are shown, because the reader owns the brain.

mod benchmark;
mod calibration;
mod compare;
mod contradiction;
mod cross_modal;
mod gate;
mod probe;
mod replay;
mod rows;
mod spark;
mod suite;
mod table;
mod triage;

pub use benchmark::benchmark;
pub use calibration::{calibration, threshold as calibrated};
pub use compare::compare;
pub use contradiction::{TrendDay, contradiction_review, contradiction_trend, contradictions};
pub use cross_modal::{cross_modal, cross_modal_batch};
pub use gate::gate;
pub use probe::{autopilot, probe, probe_history};
pub use replay::replay;
pub use suite::{recorded_suite, suite};
pub use triage::triage;

/// Maximum length of untrusted text in a line, in characters.
const LINE: usize = 160;
