//! Tests of the server with real parsers, sockets and stores.

#![expect(clippy::unwrap_used, reason = "a step of a test that fails has failed the test")]

mod collector;
mod dashboards;
mod logs;
mod metrics;
mod traces;
