//! What the server promises, against real parts: parsers, sockets and stores.

#![expect(clippy::unwrap_used, reason = "a step of a test that fails has failed the test")]

mod logs;
mod metrics;
