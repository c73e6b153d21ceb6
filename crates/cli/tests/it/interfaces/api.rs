//! The HTTP API as its OpenAPI document describes it, and the tools of MCP.

use serde_json::{Value, json};

use super::snapshot;
use crate::serve::client::{Call, Server};
use crate::support::Home;

#[test]
fn the_openapi_document() {
    let home = Home::sqlite();
    let server = Server::start(&home, &[]);
    let reply = server.send(&Call::get("/v1/openapi.json"));
    assert_eq!(reply.status, 200, "{}", reply.whole());
    snapshot::check("api/openapi.json", &pretty(&reply.json()));
    server.stop();
}

#[test]
fn mcp_tools_prompts_and_resources() {
    let home = Home::sqlite();
    let server = Server::start(&home, &[]);
    for (method, name) in [
        ("tools/list", "tools"),
        ("prompts/list", "prompts"),
        ("resources/templates/list", "resource-templates"),
    ] {
        let reply = server.send(&Call::mcp(method, &json!({})));
        let result = reply.message()["result"].clone();
        assert!(result.is_object(), "{method}: {}", reply.whole());
        snapshot::check(&format!("api/mcp-{name}.json"), &pretty(&result));
    }
    server.stop();
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}
