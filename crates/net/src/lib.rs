//! HTTP and SMTP clients: calls with classified failures, retries, concurrency and rate limits, and
//! secrets that are never printed.
//!
//! Guarantees: redirects and proxy variables never decide where a key is sent; an oversized
//! response is not read to its end; a timeout covers a whole call, however slowly the response
//! arrives; certificates are always verified.
//!
//! Non-goals: the content of requests and responses, async, reading settings from the environment.

mod concurrency;
mod http;
pub mod mail;
mod pause;
mod rate_limiter;
mod retry;
mod secret;

pub use concurrency::{ConcurrencyLimit, Permit};
pub use http::{
    Client, ClientOptions, HttpFailure, HttpFailureKind, HttpRequest, Response, ResponseHead,
    ResponseStatus,
};
pub use pause::pause;
pub use rate_limiter::RateLimiter;
pub use retry::{RetryPolicy, retry_after};
pub use secret::Secret;
