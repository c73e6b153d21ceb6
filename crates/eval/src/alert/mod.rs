//! Alerts, raised and delivered: the evaluator reads recorded runs and stores what changed with the messages about
//! it; the delivery worker sends messages until they are received.
//!
//! ```text
//! runs, silence ─▶ evaluator ─▶ states + messages (one transaction) ─▶ delivery ─▶ PagerDuty, chat, webhook, mail
//! ```
//!
//! Promises: every recorded run is looked at once, in its order, whoever looks; a run that can't be read
//! is an alert, and holds nobody up. A message is sent until it is received or refused for good: at least
//! once, in the order of its channel and key, and once if nothing breaks between its arrival and the word
//! of it. A receiver that hangs holds up nobody else. Secrets are read when a message is sent, and show
//! in no error; what is stored has no receiver's form and no secret.
//!
//! Deliberately absent: what is an alert and who is told ([`gbrain_core::alert`]), threads that go on
//! for ever, and logs.

mod channels;
mod delivery;
mod evaluator;
mod metrics;
#[cfg(test)]
mod tests;
mod transport;
pub mod wire;

pub use channels::{AlertSettings, ChannelRegistry, Channels};
pub use delivery::{
    DeliveryCount, DeliveryMode, DeliveryOutcome, DeliveryWorker, OnDelivery, SendLimits,
};
pub use evaluator::{AlertEvaluator, Evaluation};
pub use metrics::{held_against, reading};
pub use transport::{MessageId, SendResult, Transport};
