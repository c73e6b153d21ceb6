//! The Model Context Protocol: the brain as tools, resources and prompts for agents.
//!
//! It promises that a caller sees what the HTTP API would show it and nothing more: a visitor stays
//! in its workspace, private pages do not exist for it, and a tool that it may not call is not
//! listed. What goes wrong is an answer with a kind, a message and hints; a protocol error means
//! that the request itself was no request.
//!
//! It leaves out whatever would keep state for a client: sessions, subscriptions, tasks.

mod address;
mod caller;
mod dense;
mod errand;
mod handler;
mod outcome;
mod prompts;
mod resources;
#[cfg(test)]
mod tests;
mod tools;
mod transport;

pub(crate) use handler::{Context, took_too_long};
pub(crate) use transport::{HttpService, http_service, serve_stdio};
