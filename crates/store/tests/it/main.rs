//! The contract of the store, run on both engines.
//!
//! PostgreSQL comes from `GBRAIN_TEST_POSTGRES`, which `cargo xtask test` sets; without it the
//! PostgreSQL half fails. Every test has a separate database.

#![expect(clippy::unwrap_used, reason = "a step of a test that fails has failed the test")]
#![expect(clippy::disallowed_methods, reason = "the clock of a test is right")]
#![expect(clippy::print_stdout, reason = "children report to their parent on stdout")]

#[macro_use]
mod database;

mod activity;
mod alerts;
mod calibration;
mod captures;
mod child;
mod clocks;
mod concurrency;
mod crash;
mod delivering;
mod erasure;
mod feed;
mod firing;
mod fixture;
mod forgotten;
mod jobs;
mod judgements;
mod kept;
mod leases;
mod limits;
mod listing;
mod model;
mod opening;
mod outage;
mod pages;
mod playbook;
mod query_set;
mod retrievals;
mod security;
mod settings;
mod soundness;
mod spending;
mod suites;
mod tls;
mod tokens;
mod upgrade;
mod windows;
