//! The console, as a browser meets it: pages of a real server, sessions, forms.

mod browser;
mod captures;
mod explain;
mod hostile;
mod labelling;
mod labels;
mod memory;
mod monitor;
mod navigation;
mod progress;
mod reader;
mod runs;
mod sessions;
mod site;

use serde_json::Value;

use crate::serve::client::{Call, Server};

/// The captures of remote callers.
fn captures(server: &Server, token: &str) -> Vec<Value> {
    let reply = server.send(&Call::get("/v1/captures").token(token));
    let text = reply.text();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
