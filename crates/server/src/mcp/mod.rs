//! The Model Context Protocol: the brain as tools, resources and prompts for agents.
//!
//! Guarantees: a caller sees what the HTTP API would show it and nothing more: it stays in its
//! workspace, private pages do not exist for it, and tools it may not call are not listed. A failed
//! operation is a tool result with kind, message and hints; a protocol error means an invalid
//! request.
//!
//! Non-goals: state for a client, such as sessions, subscriptions and tasks.

mod address;
mod caller;
mod compact;
mod dense;
mod handler;
mod outcome;
mod prompts;
mod resources;
#[cfg(test)]
mod tests;
mod tool_call;
mod tools;
mod transport;

pub(crate) use handler::{McpContext, timeout_fault};
pub(crate) use transport::{HttpService, http_service, serve_stdio};
