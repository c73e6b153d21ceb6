//! Two brains that differ in private pages, with a server and an MCP process on each.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use fastrand::Rng;
use gbrain_testkit::http::Caller;
use gbrain_testkit::process::Gbrain;
use gbrain_testkit::served::Served;
use serde_json::{Value, json};

use super::NoninterferencePlan;
use super::compare::Reply;
use super::requests::{Content, Interface, Request};
use crate::campaign::scaffold::Setup;
use crate::campaign::tree;

/// Pages that one brain has alone.
pub(super) const PRIVATE_PAGES: usize = 40;
/// How long a job may take.
const JOB_LIMIT: Duration = Duration::from_secs(120);

/// Both brains.
#[derive(Debug)]
pub(super) struct Pair {
    plain: Side,
    more: Side,
}

/// One brain and the ways to it.
#[derive(Debug)]
struct Side {
    stdio: Session,
    caller: Caller,
    server: Served,
    token: String,
    brain: Gbrain,
}

/// A conversation with `gbrain mcp`.
#[derive(Debug)]
struct Session {
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    child: Child,
}

impl Pair {
    /// Makes a brain, copies it, and gives the copy its private pages.
    pub(super) fn make(setup: &Setup, plan: &NoninterferencePlan) -> Result<Self> {
        let mut rng = Rng::with_seed(setup.seed ^ 1);
        let plain = setup.brain()?;
        let dir = tempfile::Builder::new().prefix("gbrain-tree-").tempdir()?;
        for number in 0..plan.pages {
            let slug = format!("seed/page-{number}");
            let text = tree::page(&mut rng, &slug, &format!("n{number}"));
            // Links to pages that one brain has: an edge to a page that can't be seen leads nowhere.
            let link = format!("It depends on [[hidden/{}]].\n", number % PRIVATE_PAGES);
            write(dir.path(), &slug, &format!("{text}\n{link}"))?;
        }
        finish(&plain, &["init"])?;
        import(&plain, dir.path())?;
        let words = ["tokens", "create", "--name", "all", "--scope", "admin", "--rate", "1000000"];
        let token = plain.run(&[&words[..], &["--json"]].concat())?.json()?;
        let token = token["token"].as_str().context("no token was made")?.to_owned();
        capture(&plain, &token)?;
        run_suite(&plain)?;
        plain.settle()?;
        let more = plain.copy()?;
        for number in 0..PRIVATE_PAGES {
            let slug = format!("hidden/{number}");
            let output = more.run_with_input(&["put", &slug], &private_page(number))?;
            ensure!(output.complaint().is_none(), "put: {:?}", output.complaint());
        }
        ask_as_owner(&more)?;
        Ok(Self { plain: Side::start(plain, &token)?, more: Side::start(more, &token)? })
    }

    /// The operations of the OpenAPI document.
    pub(super) fn operations(&mut self) -> Result<Vec<String>> {
        let document = self.plain.caller.get("/v1/openapi.json")?.json();
        let paths = document["paths"].as_object().context("the document has paths")?;
        let operations = paths.values().filter_map(Value::as_object).flat_map(|path| path.values());
        let names = operations.filter_map(|one| one["operationId"].as_str().map(str::to_owned));
        Ok(names.collect())
    }

    /// The answers of both.
    pub(super) fn ask(&mut self, request: &Request) -> Result<(Reply, Reply)> {
        let plain = self.plain.ask(request).with_context(|| format!("{request}"))?;
        let more = self.more.ask(request).with_context(|| format!("{request}"))?;
        Ok((plain, more))
    }

    pub(super) fn end(self) -> Result<()> {
        for side in [self.plain, self.more] {
            let output = side.server.stop()?;
            ensure!(output.complaint().is_none(), "a server {:?}", output.complaint());
        }
        Ok(())
    }
}

impl Side {
    fn start(brain: Gbrain, token: &str) -> Result<Self> {
        let server = Served::start(brain.command(&["serve"]))?;
        let mut caller = server.connect()?;
        caller.set_token(token);
        let stdio = Session::start(&brain)?;
        Ok(Self { stdio, caller, server, token: token.to_owned(), brain })
    }

    fn ask(&mut self, request: &Request) -> Result<Reply> {
        match (&request.content, request.interface) {
            (Content::Http(method, path, kind, body), _) => {
                let reply = self.call(method, path, kind, body.as_bytes())?;
                self.wait_for_job(&request.operation, &reply)?;
                Ok(reply)
            }
            (Content::Message(message), Interface::McpHttp) => {
                self.call("POST", "/mcp", "application/json", message.to_string().as_bytes())
            }
            (Content::Message(message), _) => {
                Ok(Reply { status: 0, body: self.stdio.ask(message)? })
            }
            (Content::Arguments(arguments), _) => {
                let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
                let output = self.brain.run(&words)?;
                let status = output.code.context("a command was ended by a signal")?;
                Ok(Reply { status, body: format!("{}{}", output.stdout, output.stderr) })
            }
        }
    }

    fn call(&mut self, method: &str, path: &str, kind: &str, body: &[u8]) -> Result<Reply> {
        let answer = match self.caller.call_with_type(method, path, kind, body) {
            Ok(answer) => answer,
            // The server closes connections that were idle while the other brain was asked.
            Err(_) if method == "GET" => {
                self.caller = self.server.connect()?;
                self.caller.set_token(&self.token);
                self.caller.call_with_type(method, path, kind, body)?
            }
            Err(error) => return Err(error.into()),
        };
        Ok(Reply { status: answer.status.into(), body: answer.text() })
    }

    /// A job that was started ends before the next request: how far it is would be a matter of time.
    fn wait_for_job(&mut self, operation: &str, reply: &Reply) -> Result<()> {
        if !matches!(operation, "start_job" | "start_run") || reply.status != 202 {
            return Ok(());
        }
        let kind = if operation == "start_job" { "jobs" } else { "runs" };
        let started: Value = serde_json::from_str(&reply.body)?;
        let path = format!("/v1/{kind}/{}", started["id"]);
        let begun = Instant::now();
        loop {
            let state: Value = serde_json::from_str(&self.call("GET", &path, "", b"")?.body)?;
            match state["state"].as_str() {
                Some("done" | "failed" | "cancelled") => return Ok(()),
                _ if begun.elapsed() > JOB_LIMIT => bail!("{path} does not end: {state}"),
                _ => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }
}

impl Session {
    fn start(brain: &Gbrain) -> Result<Self> {
        let mut command = brain.command(&["mcp"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let input = child.stdin.take();
        let output = child.stdout.take().context("its output is a pipe")?;
        let mut session = Self { input, output: BufReader::new(output), child };
        let client = json!({ "name": "campaign", "version": "1" });
        let params =
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        session.ask(&hello)?;
        session.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(session)
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        let input = self.input.as_mut().context("its input is a pipe")?;
        Ok(writeln!(input, "{message}")?)
    }

    fn ask(&mut self, message: &Value) -> Result<String> {
        self.send(message)?;
        let mut line = String::new();
        ensure!(self.output.read_line(&mut line)? > 0, "gbrain mcp has ended");
        Ok(line)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The end of its input is its end.
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

fn write(root: &Path, slug: &str, text: &str) -> Result<()> {
    let path = root.join(format!("{slug}.md"));
    std::fs::create_dir_all(path.parent().context("a slug has a directory")?)?;
    Ok(std::fs::write(path, text)?)
}

fn finish(brain: &Gbrain, args: &[&str]) -> Result<()> {
    let output = brain.run(args)?;
    ensure!(output.complaint().is_none(), "{args:?} {:?}", output.complaint());
    Ok(())
}

fn import(brain: &Gbrain, dir: &Path) -> Result<()> {
    finish(brain, &["import", dir.to_str().context("a temporary directory has a plain name")?])
}

/// Shares words, tags, names, aliases and links with public pages, so that every arm could tell of it.
fn private_page(number: usize) -> String {
    format!(
        "---\ntitle: Locked {number}\naliases: [About seed/page-{number}, hush{number}word]\n\
         tags: [harbour]\nvisibility: private\nworks_at: seed/page-{number}\n---\n\n\
         harbour lantern granite falcon ember winter signal hush{number}word depends on \
         [[seed/page-{number}]] and [[hidden/{}]].\n",
        (number + 1) % PRIVATE_PAGES
    )
}

/// Questions over HTTP that are captured, so that captures, baselines and feedback have something to show.
fn capture(brain: &Gbrain, token: &str) -> Result<()> {
    let mut command = brain.command(&["serve"]);
    command.env("GBRAIN_CONTRIBUTOR_MODE", "1");
    let server = Served::start(command)?;
    let mut caller = server.connect()?;
    caller.set_token(token);
    for query in ["harbour lantern", "what depends on seed/page-1?", "granite falcon"] {
        caller.send("POST", "/v1/query", &json!({ "query": query }))?;
    }
    let output = server.stop()?;
    ensure!(output.complaint().is_none(), "a server {:?}", output.complaint());
    Ok(())
}

/// A run of a suite, so that runs have something to show; whether it passes does not matter here.
fn run_suite(brain: &Gbrain) -> Result<()> {
    let suites = "suites: [{ name: smoke, type: smoke, workspace: '*', owners: [x] }]\n";
    std::fs::write(brain.home().join("suites.yaml"), suites)?;
    let queries: String = (0..5)
        .map(|number| {
            let expected = [format!("default::seed/page-{number}")];
            format!("{}\n", json!({ "query": format!("zzn{number}zz"), "expected": expected }))
        })
        .collect();
    let path = brain.home().join("queries.jsonl");
    std::fs::write(&path, queries)?;
    finish(brain, &["queries", "import", path.to_str().context("a home has a plain name")?])?;
    brain.run(&["suites", "run", "smoke"])?;
    Ok(())
}

/// Questions of the owner, who sees private pages and whose captures no other caller sees.
fn ask_as_owner(brain: &Gbrain) -> Result<()> {
    for number in 0..3 {
        let mut command = brain.command(&["query", &format!("hush{number}word"), "--json"]);
        command.env("GBRAIN_CONTRIBUTOR_MODE", "1");
        let output = command.output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        ensure!(text.contains("hidden/"), "the owner does not find a private page: {text}");
    }
    Ok(())
}
