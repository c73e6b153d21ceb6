//! Fakes and servers shared by tests, benchmarks and campaigns; never part of the product.
//!
//! Servers listen on loopback and stop when they are dropped: model providers, a retrieval API, receivers of alerts, a
//! mail server, addresses that are down. `browser` drives Chromium. `engine` and `cluster` give databases and whole PostgreSQL servers, `process`
//! and `served` run the real binary in a home of its own.

#![expect(
    clippy::disallowed_methods,
    reason = "tests and campaigns run with a clock that is right"
)]

pub mod browser;
pub mod cluster;
pub mod console;
pub mod engine;
pub mod http;
pub mod listener;
pub mod mailbox;
pub mod mcp;
pub mod outage;
pub mod process;
pub mod providers;
pub mod receivers;
pub mod retrieval;
pub mod served;
pub mod tls;
pub mod vitals;
