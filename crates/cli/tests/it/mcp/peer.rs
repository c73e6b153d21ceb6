//! Talking to gbrain through the official client of others (`tests/peers/mcp_client.py`).

use std::path::Path;
use std::process::Command;

use gbrain_testkit::process::Running;
use gbrain_testkit::served::Served;
use serde_json::{Value, json};

use crate::support::{Home, described};

/// How clients of one kind begin, and the protocol that they and we agree on.
#[derive(Clone, Copy)]
pub(super) struct Era {
    pub(super) mode: &'static str,
    pub(super) version: &'static str,
}

/// A handshake with `initialize`, and requests that each stand for themselves.
pub(super) const ERAS: [Era; 2] =
    [Era { mode: "legacy", version: "2025-11-25" }, Era { mode: "auto", version: "2026-07-28" }];

/// One way to a brain.
pub(super) enum Entrance<'a> {
    /// A process of `gbrain mcp` for each conversation.
    Stdio(&'a Home),
    /// One server for all.
    Http(Box<Served>),
}

/// A client: its workspace, and whether it may write.
#[derive(Clone)]
pub(super) struct Role {
    pub(super) workspace: &'static str,
    pub(super) writes: bool,
    /// Its token over HTTP.
    pub(super) token: String,
}

impl Role {
    /// A role with a token of its own.
    pub(super) fn new(home: &Home, workspace: &'static str, writes: bool) -> Self {
        let scope = if writes { "write" } else { "read" };
        let args = ["--workspace", workspace, "tokens", "create", "--name", "peer"];
        let args: Vec<&str> = args.into_iter().chain(["--scope", scope]).collect();
        let minted = home.json(&args);
        Self { workspace, writes, token: minted["token"].as_str().unwrap().to_owned() }
    }
}

impl Entrance<'_> {
    /// The transport's messages to the client.
    fn connect(&self, role: &Role) -> Value {
        match self {
            Self::Http(served) => {
                json!({ "url": format!("http://{}/mcp", served.address()), "token": role.token })
            }
            Self::Stdio(home) => {
                let mut command = home.command(&["--workspace", role.workspace, "mcp"]);
                if !role.writes {
                    command.arg("--read-only");
                }
                started_by(&command)
            }
        }
    }

    /// Ends what is left running, and gives what it logged.
    pub(super) fn close(self) -> String {
        let Self::Http(served) = self else { return String::new() };
        let output = served.stop().unwrap();
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        output.stderr
    }
}

/// The same command for the client to start.
fn started_by(command: &Command) -> Value {
    let (words, env) = described(command);
    json!({ "command": words, "env": env })
}

/// The responses that a client received.
pub(super) struct Talk {
    /// Everything, as it was printed.
    pub(super) text: String,
    seen: Value,
    steps: Vec<&'static str>,
}

/// Has the official client take these steps, each of which has a name.
#[track_caller]
pub(super) fn talk(
    entrance: &Entrance<'_>,
    role: &Role,
    era: Era,
    steps: &[(&'static str, Value)],
) -> Talk {
    let python = std::env::var("GBRAIN_TEST_PYTHON")
        .expect("GBRAIN_TEST_PYTHON is not set: run `cargo xtask test`");
    let mut client = Command::new(python);
    client.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/mcp_client.py"));
    // Importing the SDK takes longer than all that it is asked for, if nothing is kept of it.
    client.env_remove("PYTHONDONTWRITEBYTECODE");
    let todo: Vec<&Value> = steps.iter().map(|(_, step)| step).collect();
    let job = json!({ "connect": entrance.connect(role), "mode": era.mode, "steps": todo });
    let output = Running::start(client, &job.to_string()).unwrap().wait().unwrap();
    assert_eq!(output.complaint(), None);
    let seen = output.json().unwrap();
    assert_eq!(seen["protocol_version"], era.version);
    assert_eq!(seen["server"]["name"], "gbrain");
    assert!(seen["instructions"].as_str().unwrap().contains("`query`"), "{seen}");
    for capability in ["tools", "resources", "prompts"] {
        assert!(seen["capabilities"][capability].is_object(), "{seen}");
    }
    Talk { text: output.stdout, seen, steps: steps.iter().map(|(name, _)| *name).collect() }
}

impl Talk {
    #[track_caller]
    fn outcome(&self, step: &str) -> &Value {
        let at = self.steps.iter().position(|name| *name == step).unwrap();
        &self.seen["outcomes"][at]
    }

    /// The result of a step.
    #[track_caller]
    pub(super) fn result(&self, step: &str) -> &Value {
        let outcome = self.outcome(step);
        assert!(outcome["ok"].is_object(), "{step}: {outcome}");
        &outcome["ok"]
    }

    /// A tool's result; its text equals its structured content.
    #[track_caller]
    pub(super) fn told(&self, step: &str) -> &Value {
        let result = self.result(step);
        assert_eq!(result["isError"], json!(false), "{step}: {result}");
        assert_eq!(result["arguments_fit"], json!(true), "{step}");
        self.structure(step)
    }

    /// The kind and the message of the fault that a tool answered with.
    #[track_caller]
    pub(super) fn fault(&self, step: &str) -> (&str, &str) {
        assert_eq!(self.result(step)["isError"], json!(true), "{step}: {}", self.result(step));
        let error = &self.structure(step)["error"];
        (error["kind"].as_str().unwrap(), error["message"].as_str().unwrap())
    }

    /// The code and the message of a protocol error.
    #[track_caller]
    pub(super) fn error(&self, step: &str) -> (i64, &str) {
        let error = &self.outcome(step)["error"];
        assert!(error.is_object(), "{step}: {}", self.outcome(step));
        (error["code"].as_i64().unwrap(), error["message"].as_str().unwrap())
    }

    #[track_caller]
    fn structure(&self, step: &str) -> &Value {
        let result = self.result(step);
        let structure = &result["structuredContent"];
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(&serde_json::from_str::<Value>(text).unwrap(), structure, "{step}");
        structure
    }
}
