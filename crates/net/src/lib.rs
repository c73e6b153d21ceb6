//! Reaching others over HTTP and SMTP: one call and what came back, sorted by what it means; how often and how
//! patiently to try again; how many at once and how often; secrets that show nowhere.
//!
//! Promises: neither a redirect nor a proxy of the environment decides where a key goes; an answer that
//! is too large is not read to its end; a time limit holds for the whole of a call, however slowly an
//! answer drips; certificates are always verified.
//!
//! Deliberately absent: what is sent and what it means (that is for whoever asks), async, the environment.

mod call;
mod lane;
pub mod mail;
mod pace;
mod pause;
mod retry;
mod secret;

pub use call::{Call, Client, ClientOptions, Failure, FailureKind, Head, Reached, Response};
pub use lane::{Lane, Place};
pub use pace::Pace;
pub use pause::pause;
pub use retry::{Retry, retry_after};
pub use secret::Secret;
