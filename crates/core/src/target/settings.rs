//! A target as the settings describe it, checked: what is here can be asked.

use std::path::PathBuf;
use std::time::Duration;

use super::IdRule;
use super::path::Path;
use super::shape::{Reading, Shape};
use super::template::Template;

/// The name of the local brain among targets.
pub const LOCAL: &str = "local";

/// A target.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetSettings {
    pub name: String,
    /// What it is and where.
    pub kind: TargetKind,
    /// What its ids are called here.
    pub ids: IdRule,
    /// Where the id of a result is, if not where its kind has it.
    pub document: Option<Path>,
    /// Whose documents are searched unless the question says.
    pub workspace: Option<String>,
    /// The most results that may be asked for.
    pub most: Option<usize>,
    /// How long, how often, how many at once.
    pub limits: TargetLimits,
}

/// What a target is and where.
#[derive(Debug, Clone, PartialEq)]
pub enum TargetKind {
    Local,
    /// An API over HTTP.
    Http(HttpTarget),
    /// A tool of an MCP server.
    Mcp(McpTarget),
    /// A program that answers lines of JSON with lines of JSON.
    Command(Program),
    /// Answers that were saved.
    Run(SavedRun),
}

impl TargetKind {
    /// Its name in the settings.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Local => LOCAL,
            Self::Http(_) => "http",
            Self::Mcp(_) => "mcp",
            Self::Command(_) => "command",
            Self::Run(_) => "run",
        }
    }
}

/// An address and what is sent to it with every request.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Address {
    /// The whole of it.
    pub url: String,
    /// Headers as they are written.
    pub headers: Vec<(String, String)>,
    /// Headers, and the variables that hold them.
    pub headers_env: Vec<(String, String)>,
    /// Where the key is that is sent as `authorization: Bearer`.
    pub key: Option<KeyPlace>,
    /// The only certificates of authorities that are trusted; those of the program otherwise.
    pub ca_file: Option<PathBuf>,
}

impl Address {
    /// The host with its port, which may be shown.
    pub fn host(&self) -> &str {
        let rest = self.url.split_once("://").map_or("", |(_, rest)| rest);
        rest.split(['/', '?', '#']).next().unwrap_or_default()
    }
}

/// Where a key is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyPlace {
    /// In a variable of the environment.
    Env(String),
    /// In a file, alone.
    File(PathBuf),
}

/// An API over HTTP.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpTarget {
    pub address: Address,
    pub shape: Shape,
    /// The most results that it gives.
    pub max_results: Option<usize>,
}

/// A tool of an MCP server.
#[derive(Debug, Clone, PartialEq)]
pub struct McpTarget {
    /// How it is reached.
    pub transport: McpTransport,
    pub tool: String,
    /// What it is called with.
    pub arguments: Template,
    /// How its answer is read.
    pub reading: Reading,
}

/// How an MCP server is reached.
#[derive(Debug, Clone, PartialEq)]
pub enum McpTransport {
    /// A program that is started.
    Stdio(Program),
    Http(Address),
}

/// A program to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The program and its arguments; never empty.
    pub words: Vec<String>,
    /// Where it runs; where the settings are if not said.
    pub dir: Option<PathBuf>,
    /// Variables that it gets beside those that are there.
    pub env: Vec<(String, String)>,
}

/// Answers that were saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedRun {
    /// A TREC run, rows of a run, or rows of a benchmark.
    pub file: PathBuf,
    /// Texts of queries by id, for questions that come without one.
    pub queries: Option<PathBuf>,
}

/// How long, how often, how many at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TargetLimits {
    pub timeout: Duration,
    /// For one question, with its attempts and the waits between them.
    pub deadline: Duration,
    pub attempts: u32,
    /// Questions under way at once.
    pub concurrency: usize,
    /// Attempts begun in a second, at most.
    pub per_second: Option<f64>,
}

impl Default for TargetLimits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(10),
            deadline: Duration::from_secs(60),
            attempts: 3,
            concurrency: 8,
            per_second: None,
        }
    }
}

impl TargetSettings {
    /// The local brain.
    pub fn local() -> Self {
        Self {
            name: LOCAL.to_owned(),
            kind: TargetKind::Local,
            ids: IdRule::default(),
            document: None,
            workspace: None,
            most: None,
            limits: TargetLimits::default(),
        }
    }

    /// What it is and where, for people: no secret is in it.
    pub fn place(&self) -> String {
        match &self.kind {
            TargetKind::Local => "this brain".to_owned(),
            TargetKind::Http(HttpTarget { address, .. }) => address.host().to_owned(),
            TargetKind::Mcp(McpTarget { transport: McpTransport::Http(address), .. }) => {
                address.host().to_owned()
            }
            TargetKind::Mcp(McpTarget { transport: McpTransport::Stdio(program), .. })
            | TargetKind::Command(program) => program.words[0].clone(),
            TargetKind::Run(run) => run.file.display().to_string(),
        }
    }

    /// The most results that can be asked for.
    pub fn most(&self) -> Option<usize> {
        let of_kind = match &self.kind {
            TargetKind::Http(http) => http.max_results,
            _ => None,
        };
        self.most.or(of_kind)
    }
}
