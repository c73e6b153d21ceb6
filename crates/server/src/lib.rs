//! What gbrain serves: the HTTP API and MCP over one layer of operations, background jobs, metrics.
//! The only async crate.
//!
//! Promises: a caller sees its own workspace and no private page, whichever way it comes; nothing
//! blocks the reactor; what is too much is refused; what is acknowledged is stored; a server that
//! is told to stop answers what it has begun, lets its jobs go and stores its captures.
//!
//! Deliberately absent: TLS (a proxy in front does that), pages for browsers, and any way to read a
//! file of this machine.

#![cfg_attr(test, expect(clippy::disallowed_methods, reason = "the clock of a test is right"))]

mod access;
mod alerts;
mod audit;
mod files;
mod house;
mod http;
mod jobs;
mod lanes;
mod mcp;
mod moment;
mod operations;
mod rate;
mod run;
mod scheduler;
pub mod telemetry;
mod threads;
mod token;
mod visitor;

pub use access::{Gatekeeper, Loopback, Tokens};
pub use alerts::AlertTools;
pub use audit::{Audit, Event};
pub use house::{House, HouseOptions, ModelsOf, SuiteTools};
pub use http::{Bounds, Connections, Guard, Parts, openapi};
pub use jobs::{ATTEMPTS, ImportFilesSpec, WorkerOptions};
pub use lanes::{LaneSizes, Lanes, StopFlag};
pub use operations::jobs::shown_to_owner as job_shown;
pub use run::{Serving, Stdio, run_scheduler, serve, serve_stdio, work};
pub use scheduler::Autopilot;
pub use token::{Minted, NoRandomness, TokenKey};
pub use visitor::Visitor;
