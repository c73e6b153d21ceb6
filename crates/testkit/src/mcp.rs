//! The tools, resources and prompts that an MCP client of gbrain must find.

/// The tools of a client that may write, in the order in which they are listed; the last two write.
pub const TOOLS: [&str; 10] = [
    "query",
    "search",
    "get_page",
    "list_pages",
    "links",
    "sources",
    "eval_status",
    "find_contradictions",
    "put_page",
    "delete_page",
];
