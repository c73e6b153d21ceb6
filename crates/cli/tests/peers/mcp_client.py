"""A client of MCP servers that is not ours: the official Python SDK, told what to do step by step.

Reads one JSON document from stdin and prints one to stdout:

    {"connect": {"command": [...], "env": {...}} or {"url": ..., "token": ...},
     "mode": "legacy" (initialize) or "auto" (discover),
     "steps": [{"do": "call_tool", ...}, ...]}

    {"protocol_version": ..., "server": ..., "instructions": ..., "capabilities": ...,
     "outcomes": [{"ok": ...} or {"error": {"code": ..., "message": ..., "data": ...}}, ...]}

It judges only what a client judges: the SDK checks every message against the protocol's types and
every structured result against the tool's output schema, and the schemas of listed tools must be
schemas. Everything else is the reader's to judge.
"""

import asyncio
import json
import sys

import jsonschema
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client


def transport(connect):
    """How to reach the server."""
    if "command" in connect:
        program, *arguments = connect["command"]
        return StdioServerParameters(command=program, args=arguments, env=connect.get("env"))
    headers = {"Authorization": f"Bearer {connect['token']}"} if connect.get("token") else None
    return streamable_http_client(connect["url"], http_client=create_mcp_http_client(headers))


def plain(result):
    """A result as it was on the wire."""
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


async def every_page(fetch, name):
    """All items of a list that comes in pieces, and how many pieces there were."""
    items, cursor, pieces = [], None, 0
    while True:
        piece = plain(await fetch(cursor=cursor))
        items += piece[name]
        pieces += 1
        cursor = piece.get("nextCursor")
        if cursor is None or pieces == 1000:
            return {name: items, "pieces": pieces}


async def list_tools(client):
    """The tools, whose schemas must be schemas."""
    listed = await every_page(client.list_tools, "tools")
    for tool in listed["tools"]:
        for schema in ("inputSchema", "outputSchema"):
            if schema in tool:
                jsonschema.Draft202012Validator.check_schema(tool[schema])
    return listed


async def call_tool(client, step):
    """One call, and whether its arguments are what the tool's schema asks for."""
    arguments = step.get("arguments", {})
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    fits = None
    if step["name"] in tools:
        schema = tools[step["name"]].input_schema
        fits = jsonschema.Draft202012Validator(schema).is_valid(arguments)
    result = await client.call_tool(step["name"], arguments, meta=step.get("meta"))
    return plain(result) | {"arguments_fit": fits}


async def take(client, step):
    """Takes one step."""
    match step["do"]:
        case "list_tools":
            return await list_tools(client)
        case "call_tool":
            return await call_tool(client, step)
        case "list_resources":
            return await every_page(client.list_resources, "resources")
        case "list_templates":
            return await every_page(client.list_resource_templates, "resourceTemplates")
        case "read_resource":
            return plain(await client.read_resource(step["uri"]))
        case "list_prompts":
            return await every_page(client.list_prompts, "prompts")
        case "get_prompt":
            return plain(await client.get_prompt(step["name"], step.get("arguments")))
        case unknown:
            raise ValueError(f"there is no step {unknown!r}")


async def outcome(client, step):
    """What became of a step; an error of the protocol is one of the things to expect."""
    try:
        return {"ok": await take(client, step)}
    except MCPError as error:
        return {"error": {"code": error.code, "message": error.message, "data": error.data}}


async def run(job):
    """Connects, takes the steps in order, and says what came of each."""
    server = transport(job["connect"])
    async with Client(server, mode=job["mode"], read_timeout_seconds=60) as client:
        return {
            "protocol_version": client.protocol_version,
            "server": plain(client.server_info),
            "instructions": client.instructions,
            "capabilities": plain(client.server_capabilities),
            "outcomes": [await outcome(client, step) for step in job["steps"]],
        }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(run(json.load(sys.stdin)))))
