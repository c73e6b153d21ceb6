//! MCP as a client sees it that we did not write: the official SDK, over both transports, on both
//! stores, with both ways to begin that the protocol has had.

mod http;
mod peer;
mod stdio;

use std::path::Path;

use gbrain_testkit::mcp::TOOLS;
use gbrain_testkit::served::Served;
use serde_json::{Value, json};

use crate::capture::{capturing, exported};
use crate::support::{Home, assert_fields};

use peer::{ERAS, Entrance, Era, Role, Talk, talk};

const READERS_TOOLS: usize = 8;

/// Pages that make the list of resources longer than one piece of it.
const NOTES: usize = 101;

/// Words that no client may ever see: of a private page, and of another workspace.
const SECRETS: [&str; 3] = ["zanzibarish", "Quillfeather", "people/ghost"];

/// A home that captures, with pages to find, a private one, and another workspace.
fn furnished(home: Home) -> Home {
    let home = capturing(home);
    let files = home.path().join("files");
    let write = |path: &str, text: &str| {
        let path = files.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write(
        "wiki/people/ada.md",
        "---\ntitle: Ada Marlow\ntype: person\nworks_at: wiki::companies/slipway\n---\n\n\
         Ada paints boats, and boats only.",
    );
    write("wiki/companies/slipway.md", "---\ntitle: Slipway\ntype: company\n---\n\nBuilds boats.");
    write(
        "wiki/people/ghost.md",
        "---\ntitle: Ghost\nvisibility: private\n---\n\nKnows a zanzibarish word about boats. \
         See [[wiki::people/ada]].",
    );
    write("other/people/eve.md", "---\ntitle: Eve Quillfeather\n---\n\nEve sinks boats.");
    for note in 0..NOTES {
        write(&format!("notes/n/{note:03}.md"), &format!("Note number {note}."));
    }
    let import = |args: &[&str], dir: &str, source: &str| {
        let dir = files.join(dir).to_str().unwrap().to_owned();
        let rest = ["import", &dir, "--source", source, "--quiet"];
        home.ok(&args.iter().copied().chain(rest).collect::<Vec<_>>());
    };
    import(&[], "wiki", "wiki");
    import(&[], "notes", "notes");
    home.ok(&["workspaces", "add", "other"]);
    import(&["--workspace", "other"], "other", "wiki");
    home
}

fn call(name: &str, arguments: Value) -> Value {
    json!({ "do": "call_tool", "name": name, "arguments": arguments })
}

fn call_for(name: &str, arguments: Value, meta: Value) -> Value {
    json!({ "do": "call_tool", "name": name, "arguments": arguments, "meta": meta })
}

fn read(uri: &str) -> Value {
    json!({ "do": "read_resource", "uri": uri })
}

fn prompt(name: &str, arguments: Value) -> Value {
    json!({ "do": "get_prompt", "name": name, "arguments": arguments })
}

/// Everything that a client can do, and what it should not.
fn everything() -> Vec<(&'static str, Value)> {
    let page = |name: &str| json!({ "page": name });
    let ada = "wiki::people/ada";
    let put = |content: &str| json!({ "page": "journal/today", "content": content });
    vec![
        ("tools", json!({ "do": "list_tools" })),
        (
            "query",
            call_for(
                "query",
                json!({ "query": "who paints boats?", "limit": 5, "explain": true }),
                json!({ "job_id": 7, "subagent_id": 2 }),
            ),
        ),
        (
            "search",
            call_for(
                "search",
                json!({ "query": "boats for ada@example.org", "detail": "high" }),
                json!({ "job_id": "8" }),
            ),
        ),
        ("ghost hunt", call("query", json!({ "query": "ghost", "why_not": "wiki::people/bob" }))),
        ("get", call("get_page", json!({ "page": ada, "details": true }))),
        ("get compact", call("get_page", page(ada))),
        ("list", call("list_pages", json!({ "source": "wiki" }))),
        ("links", call("links", page(ada))),
        ("sources", call("sources", json!({}))),
        ("status", call("eval_status", json!({}))),
        ("contradictions", call("find_contradictions", json!({ "severity": "low", "limit": 5 }))),
        ("put", call("put_page", put("# Today\n\nA boat was painted."))),
        ("get what was put", call("get_page", page("journal/today"))),
        ("put again", call("put_page", put("# Today\n\nTwo boats were painted."))),
        ("delete", call("delete_page", page("journal/today"))),
        ("get what was deleted", call("get_page", page("journal/today"))),
        ("get unknown", call("get_page", page("wiki::people/bob"))),
        ("get private", call("get_page", page("wiki::people/ghost"))),
        ("links of private", call("links", page("wiki::people/ghost"))),
        ("delete private", call("delete_page", page("wiki::people/ghost"))),
        (
            "put private",
            call(
                "put_page",
                json!({ "page": "journal/mine", "content": "---\nvisibility: private\n---\nMine." }),
            ),
        ),
        (
            "put over private",
            call("put_page", json!({ "page": "wiki::people/ghost", "content": "Boo." })),
        ),
        ("get of others", call("get_page", page("wiki::people/eve"))),
        ("no argument", call("get_page", json!({}))),
        ("wrong type", call("get_page", json!({ "page": 7 }))),
        ("unknown argument", call("list_pages", json!({ "workspace": "other" }))),
        ("out of range", call("list_pages", json!({ "limit": 501 }))),
        ("blank", call("query", json!({ "query": " " }))),
        ("unknown tool", call("drop_table", json!({}))),
        ("bad meta", call_for("sources", json!({}), json!({ "job_id": "seven" }))),
        ("resources", json!({ "do": "list_resources" })),
        ("templates", json!({ "do": "list_templates" })),
        ("read", read("gbrain://page/wiki/people/ada")),
        ("read unknown", read("gbrain://page/wiki/people/bob")),
        ("read private", read("gbrain://page/wiki/people/ghost")),
        ("read of others", read("gbrain://page/wiki/people/eve")),
        ("read a file", read("file:///etc/passwd")),
        ("prompts", json!({ "do": "list_prompts" })),
        ("use-memory", prompt("use-memory", json!({}))),
        ("answer", prompt("answer-with-sources", json!({ "question": "who paints boats?" }))),
        ("remember", prompt("remember", json!({ "what": "Ada paints boats" }))),
        ("half a prompt", prompt("remember", json!({}))),
        ("no prompt", prompt("forget", json!({}))),
    ]
}

/// The tools as they are listed, in their order.
fn check_tools(talk: &Talk, expected: &[&str]) {
    let tools = talk.result("tools")["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, expected);
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        let hints = &tool["annotations"];
        let writes = matches!(name, "put_page" | "delete_page");
        assert_eq!(hints["readOnlyHint"], json!(!writes), "{name}");
        assert_eq!(hints["destructiveHint"], json!(name == "delete_page"), "{name}");
        assert_eq!(hints["idempotentHint"], json!(true), "{name}");
        assert_eq!(hints["openWorldHint"], json!(false), "{name}");
        for schema in ["inputSchema", "outputSchema"] {
            assert_eq!(tool[schema]["type"], "object", "{schema} of {name}");
        }
        assert!(tool["description"].as_str().unwrap().len() > 40, "{name}");
        assert!(!tool["title"].as_str().unwrap().is_empty(), "{name}");
    }
}

fn check_answers(talk: &Talk, home: &Home) {
    assert_eq!(talk.told("query")["hits"][0]["slug"], "people/ada");
    assert_eq!(talk.told("search")["operation"], "search");
    assert!(talk.told("ghost hunt")["why_not"].is_object());
    assert_eq!(talk.told("get"), &home.json(&["get", "wiki::people/ada"]), "as the command prints");
    let compact = talk.told("get compact");
    assert_eq!(compact["content"], talk.told("get")["content"]);
    assert!(compact.get("content_hash").is_none() && compact.get("chunks").is_none(), "{compact}");
    let hit = &talk.told("query")["hits"][0];
    assert!(hit["passages"][0]["snippet"].is_string(), "{hit}");
    assert!(hit["passages"][0].get("chunk_id").is_none(), "{hit}");
    assert!(talk.told("query").get("request").is_none(), "no settings hash");
    let listed = talk.told("list")["pages"].as_array().unwrap();
    let slugs: Vec<&Value> = listed.iter().map(|page| &page["slug"]).collect();
    assert_eq!(slugs, ["companies/slipway", "people/ada"]);
    let edges = talk.told("links")["edges"].as_array().unwrap();
    assert_eq!(edges.len(), 1, "none to a private page: {edges:?}");
    assert_eq!(edges[0]["to"], "wiki::companies/slipway");
    let sources = talk.told("sources")["sources"].as_array().unwrap();
    let wiki = sources.iter().find(|source| source["id"] == "wiki").unwrap();
    assert_eq!(wiki["pages"], 2, "a private page is not counted: {sources:?}");
    assert!(talk.told("status").is_object());
}

fn check_changes(talk: &Talk) {
    assert_ne!(talk.told("put")["outcome"], "unchanged");
    let content = talk.told("get what was put")["content"].as_str().unwrap();
    assert_eq!(content, "# Today\n\nA boat was painted.");
    assert_eq!(talk.told("put again")["outcome"], "changed");
    assert_eq!(talk.told("delete")["pages"][0]["outcome"], "deleted");
    assert_eq!(talk.fault("get what was deleted").0, "not_found");
}

fn check_faults(talk: &Talk) {
    let (kind, message) = talk.fault("get unknown");
    assert_eq!(kind, "not_found");
    for (step, name) in [("get private", "people/ghost"), ("get of others", "people/eve")] {
        let same = message.replace("people/bob", name);
        assert_eq!(talk.fault(step), (kind, same.as_str()), "no other words than for what is not");
    }
    for step in ["links of private", "delete private"] {
        assert_eq!(talk.fault(step).0, "not_found", "{step}");
    }
    assert_eq!(talk.fault("put private").0, "forbidden");
    assert_eq!(talk.fault("put over private").0, "forbidden");
    for (step, part) in [
        ("no argument", "missing field `page`"),
        ("wrong type", "expected a string"),
        ("unknown argument", "unknown field `workspace`"),
        ("out of range", "500"),
        ("blank", "blank"),
    ] {
        let (kind, message) = talk.fault(step);
        assert_eq!(kind, "usage", "{step}");
        assert!(message.contains(part), "{step}: {message}");
        assert_eq!(talk.result(step)["arguments_fit"], json!(false), "{step}");
    }
    assert_eq!(talk.error("unknown tool").0, -32602);
    assert_eq!(talk.error("bad meta").0, -32602);
}

fn check_resources(talk: &Talk) {
    let listed = talk.result("resources");
    assert_eq!(listed["pieces"], 2);
    let resources = listed["resources"].as_array().unwrap();
    assert_eq!(resources.len(), NOTES + 2, "all but the private page");
    let ada = resources.iter().find(|one| one["uri"] == "gbrain://page/wiki/people/ada").unwrap();
    assert_eq!(ada["name"], "wiki::people/ada");
    assert_eq!((&ada["title"], &ada["mimeType"]), (&json!("Ada Marlow"), &json!("text/markdown")));
    let templates = talk.result("templates")["resourceTemplates"].as_array().unwrap();
    assert_eq!(templates.len(), 1);
    assert_eq!(templates[0]["uriTemplate"], "gbrain://page/{source}/{+slug}");
    let contents = &talk.result("read")["contents"][0];
    assert_eq!(contents["uri"], "gbrain://page/wiki/people/ada");
    assert_eq!(contents["text"], talk.told("get")["content"]);
    let (code, message) = talk.error("read unknown");
    for (step, name) in [("read private", "people/ghost"), ("read of others", "people/eve")] {
        let same = message.replace("people/bob", name);
        assert_eq!(talk.error(step), (code, same.as_str()), "no other words than for what is not");
    }
    assert_eq!(talk.error("read a file").0, code);
}

fn check_prompts(talk: &Talk) {
    let prompts = talk.result("prompts")["prompts"].as_array().unwrap();
    let names: Vec<&Value> = prompts.iter().map(|prompt| &prompt["name"]).collect();
    assert_eq!(names, ["use-memory", "answer-with-sources", "remember"]);
    for step in ["use-memory", "answer", "remember"] {
        let message = &talk.result(step)["messages"][0];
        assert_eq!(message["role"], "user");
        assert!(message["content"]["text"].as_str().unwrap().len() > 200, "{step}");
    }
    let text = talk.result("answer")["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.ends_with("\n\nquestion: who paints boats?"), "{text}");
    assert_eq!(talk.error("half a prompt").0, -32602);
    assert_eq!(talk.error("no prompt").0, -32602);
}

/// A client that may read only: it sees no tool that writes, and can't call one all the same.
fn check_reader(entrance: &Entrance<'_>, role: &Role, era: Era) {
    let put = json!({ "page": "journal/mine", "content": "Mine." });
    let steps = [
        ("tools", json!({ "do": "list_tools" })),
        ("prompts", json!({ "do": "list_prompts" })),
        ("put", call("put_page", put)),
        ("delete", call("delete_page", json!({ "page": "wiki::people/ada" }))),
        ("remember", prompt("remember", json!({ "what": "x" }))),
        ("get", call("get_page", json!({ "page": "wiki::people/ada" }))),
        ("get mine", call("get_page", json!({ "page": "journal/mine" }))),
    ];
    let talk = talk(entrance, role, era, &steps);
    check_tools(&talk, &TOOLS[..READERS_TOOLS]);
    assert_eq!(talk.result("prompts")["prompts"].as_array().unwrap().len(), 2);
    assert_eq!(talk.fault("put").0, "forbidden");
    assert_eq!(talk.fault("delete").0, "forbidden");
    assert_eq!(talk.error("remember").0, -32602);
    assert_eq!(talk.told("get")["title"], "Ada Marlow");
    assert_eq!(talk.fault("get mine").0, "not_found");
}

/// A client in another workspace: nothing of the first is there.
fn check_stranger(entrance: &Entrance<'_>, role: &Role, era: Era) {
    let steps = [
        ("query", call("query", json!({ "query": "who paints boats?" }))),
        ("list", call("list_pages", json!({}))),
        ("get", call("get_page", json!({ "page": "wiki::people/ada" }))),
        ("delete", call("delete_page", json!({ "page": "wiki::people/ada" }))),
        ("resources", json!({ "do": "list_resources" })),
        ("read", read("gbrain://page/wiki/people/ada")),
    ];
    let talk = talk(entrance, role, era, &steps);
    let pages = talk.told("list")["pages"].as_array().unwrap();
    assert_eq!(pages.len(), 1);
    assert_eq!(talk.told("query")["hits"][0]["slug"], "people/eve");
    assert_eq!(talk.fault("get").0, "not_found");
    assert_eq!(talk.fault("delete").0, "not_found");
    assert_eq!(talk.result("resources")["resources"].as_array().unwrap().len(), 1);
    talk.error("read");
    assert!(!talk.text.contains("Marlow"), "{}", talk.text);
}

/// The rows of one conversation, newest first, as their consumers read them.
fn check_captures(rows: &[Value]) {
    let [ghost, search, query] = rows else { panic!("not three rows: {rows:?}") };
    for row in rows {
        assert_eq!(row["schema_version"], 1);
        assert_eq!((&row["remote"], &row["trust"]), (&json!(true), &json!("untrusted")), "{row}");
        assert!(row["latency_ms"].as_f64().unwrap() > 0.0);
        assert!(row["created_at"].as_str().unwrap().ends_with('Z'));
        let slugs = row["retrieved_slugs"].as_array().unwrap();
        let chunks = row["retrieved_chunk_ids"].as_array().unwrap();
        assert!(chunks.len() >= slugs.len() && chunks.iter().all(Value::is_number), "{row}");
        assert!(!slugs.contains(&json!("people/ghost")));
    }
    assert_eq!(query["tool_name"], "query");
    assert_eq!(query["query"], "who paints boats?");
    assert_eq!((&query["job_id"], &query["subagent_id"]), (&json!(7), &json!(2)));
    assert_eq!((&query["limit"], &query["expand_enabled"]), (&json!(5), &json!(false)));
    assert_eq!((&query["vector_enabled"], &query["detail"]), (&json!(true), &Value::Null));
    assert_eq!(query["expansion_applied"], false);
    assert_eq!(query["retrieved_slugs"][0], "people/ada");
    assert!(query["source_ids"].as_array().unwrap().contains(&json!("wiki")));
    assert_eq!(search["tool_name"], "search");
    assert_eq!(search["query"], "boats for [REDACTED]");
    assert_eq!((&search["job_id"], &search["subagent_id"]), (&json!(8), &Value::Null));
    assert_eq!((&search["detail"], &search["detail_resolved"]), (&json!("high"), &json!("high")));
    assert_fields(search, &json!({ "expand_enabled": null, "vector_enabled": false }));
    assert_eq!(ghost["query"], "ghost");
    assert_eq!((&ghost["job_id"], &ghost["subagent_id"]), (&Value::Null, &Value::Null));
}

/// The operations and outcomes in the audit log.
fn audited(home: &Home) -> Vec<(String, String)> {
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    let files = std::fs::read_dir(home.path().join("audit")).unwrap();
    let paths = files.map(|file| file.unwrap().path());
    let access = paths.filter(|path| path.to_str().unwrap().contains("access-"));
    let text: String = access.map(|path| read(&path)).collect();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    lines.map(|line| (word(&line["action"]), word(&line["outcome"]))).collect()
}

fn check(home: Home, enter: fn(&Home) -> Entrance<'_>) {
    let home = furnished(home);
    let [writer, reader, stranger] = [("default", true), ("default", false), ("other", true)]
        .map(|(workspace, writes)| Role::new(&home, workspace, writes));
    let entrance = enter(&home);
    let mut told = String::new();
    for era in ERAS {
        let talk = talk(&entrance, &writer, era, &everything());
        check_tools(&talk, &TOOLS);
        check_answers(&talk, &home);
        check_changes(&talk);
        check_faults(&talk);
        check_resources(&talk);
        check_prompts(&talk);
        told.push_str(&talk.text);
    }
    check_reader(&entrance, &reader, ERAS[1]);
    check_stranger(&entrance, &stranger, ERAS[0]);
    let log = entrance.close();
    // The client's own name is echoed.
    told = told.replace("`wiki::people/ghost`", "").replace("gbrain://page/wiki/people/ghost", "");
    for secret in SECRETS {
        assert!(!told.contains(secret), "{secret} in {told}");
        assert!(!log.contains(secret), "{secret} in {log}");
    }
    assert!(!log.contains("paints"), "{log}");
    let rows = exported(&home);
    assert_eq!(rows.len(), 6, "three of each conversation, none of the stranger's: {rows:?}");
    rows.chunks(3).for_each(check_captures);
    let others = home.ok(&["--workspace", "other", "eval", "export", "--quiet"]);
    assert_eq!(others.lines().count(), 1, "{others}");
    let audited = audited(&home);
    let count = |action: &str, outcome: &str| {
        audited
            .iter()
            .filter(|line| (line.0.as_str(), line.1.as_str()) == (action, outcome))
            .count()
    };
    assert_eq!(count("put_page", "done"), 4);
    assert_eq!(count("delete_page", "done"), 2);
    assert_eq!((count("put_page", "forbidden"), count("delete_page", "forbidden")), (5, 1));
}

fn over_stdio(home: &Home) -> Entrance<'_> {
    Entrance::Stdio(home)
}

fn over_http(home: &Home) -> Entrance<'_> {
    Entrance::Http(Box::new(Served::start(home.command(&["serve"])).unwrap()))
}

#[test]
fn an_official_client_over_stdio_on_sqlite() {
    check(Home::sqlite(), over_stdio);
}

#[test]
fn an_official_client_over_stdio_on_postgres() {
    check(Home::postgres(), over_stdio);
}

#[test]
fn an_official_client_over_http_on_sqlite() {
    check(Home::sqlite(), over_http);
}

#[test]
fn an_official_client_over_http_on_postgres() {
    check(Home::postgres(), over_http);
}
