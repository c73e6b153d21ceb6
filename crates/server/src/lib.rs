//! HTTP API and MCP over one layer of operations, background jobs, scheduler and metrics. The only
//! async crate.
//!
//! Guarantees: a caller sees only its own workspace and no private page, over any transport;
//! nothing blocks the reactor; excess load is refused; acknowledged writes are stored; on shutdown
//! the server answers the requests it has begun, releases its jobs and stores its captures.
//!
//! Non-goals: TLS (use a proxy), and reading files of this machine for a caller.

#![cfg_attr(test, expect(clippy::disallowed_methods, reason = "the clock of a test is right"))]

mod access;
mod alerts;
mod audit;
mod console;
mod document;
mod files;
mod http;
mod jobs;
mod mcp;
mod operations;
mod principal;
mod rankings;
mod rate;
mod run;
mod scheduler;
mod session;
pub mod telemetry;
mod threads;
mod token;
mod wire_timestamp;
mod work_queue;
mod workspace_registry;

pub use access::{Authenticator, LoopbackAccess, TokenStatus};
pub use alerts::AlertTools;
pub use audit::{Audit, AuditEvent};
pub use document::serve_document;
pub use http::{ConnectionOptions, OriginGuard, RequestLimits, ServerComponents, openapi};
pub use jobs::{ATTEMPTS, ImportFilesSpec, WorkerOptions};
pub use operations::jobs::shown_to_owner as job_shown;
pub use principal::Principal;
pub use run::{ServeOptions, StdioOptions, run_scheduler, serve, serve_stdio, work};
pub use scheduler::SchedulerOptions;
pub use token::{MintedToken, NoRandomness, TokenKey};
pub use work_queue::{QueueLimits, StopFlag, WorkQueues};
pub use workspace_registry::{
    ModelLoader, PromptLister, RegistryOptions, SuiteTools, WorkspaceRegistry,
};
