//! Alerts, raised and delivered: recorded runs are looked at, what changed is kept with the messages that
//! tell of it, and messages are sent until they are received.
//!
//! ```text
//! runs, silence ─▶ look ─▶ states + messages (one transaction) ─▶ courier ─▶ PagerDuty, chat, webhook, mail
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

mod book;
mod courier;
mod look;
mod post;
mod readings;
mod round;
#[cfg(test)]
mod tests;
pub mod wire;

pub use book::{AlertSettings, ChannelBook, Directory};
pub use courier::{Courier, Errand, Fate, SendLimits, Tally, Witness};
pub use look::{Lookout, Raised};
pub use post::{Post, Posted, Stamp};
pub use readings::{held_against, reading};
