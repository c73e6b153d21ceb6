//! What gbrain serves: the HTTP API and MCP over one layer of operations, background jobs, metrics.
//! The only async crate.

pub mod lanes;
pub mod mcp;
pub mod telemetry;
pub mod visitor;
