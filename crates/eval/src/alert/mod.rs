//! Alerts: the evaluator reads recorded runs and stores changes with their messages; the delivery
//! worker sends messages until they are received.
//!
//! ```text
//! runs, silence ─▶ evaluator ─▶ states + messages (one transaction) ─▶ delivery ─▶ PagerDuty, chat, webhook, mail
//! ```
//!
//! Promises: every recorded run is evaluated once, in order, by any process; a run that cannot be
//! parsed raises an alert and delays nothing. A message is sent until it is received or permanently
//! rejected: at least once, in the order of its channel and key, and exactly once unless a failure
//! occurs between receipt and its record. A hanging receiver delays no other. Secrets are read when
//! a message is sent and appear in no error; stored messages contain no receiver-specific format
//! and no secret.
//!
//! Deliberately absent: alert rules and routing ([`gbrain_core::alert`]), long-running threads, and
//! logging.

mod channels;
mod delivery;
mod evaluator;
mod metrics;
#[cfg(test)]
mod tests;
mod transport;
pub mod wire;

pub use channels::{AlertSettings, ChannelRegistry, ChannelSettings};
pub use delivery::{DeliveryMode, DeliveryOutcome, DeliveryWorker, OnDelivery, SendLimits};
pub use evaluator::{AlertEvaluation, AlertEvaluator};
pub use gbrain_core::alert::DeliveryTally;
pub use metrics::{suites_with_thresholds, workspace_metrics};
pub use transport::{MessageId, SendResult, Transport};
