//! The validated settings of a target.

use std::path::PathBuf;
use std::time::Duration;

use super::DocumentIdRule;
use super::path::Path;
use super::shape::{AnswerFormat, RetrievalApi};
use super::template::RequestTemplate;

/// The name of the local brain among targets.
pub const LOCAL: &str = "local";

/// The settings of a target.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetSettings {
    pub name: String,
    /// Kind and address of the target.
    pub kind: TargetKind,
    /// The mapping of its ids to page keys.
    pub ids: DocumentIdRule,
    /// Path of the id of a result, if it is not at the default place of its kind.
    pub document: Option<Path>,
    /// The owner whose documents are searched unless the question names one.
    pub workspace: Option<String>,
    /// Maximum number of results that a question may request.
    pub most: Option<usize>,
    /// Timeouts, retries, rate limit and concurrency limit.
    pub limits: TargetLimits,
}

/// Kind and address of a target.
#[derive(Debug, Clone, PartialEq)]
pub enum TargetKind {
    Local,
    /// An API over HTTP.
    Http(HttpTarget),
    /// A tool of an MCP server.
    Mcp(McpTarget),
    /// A program that answers lines of JSON with lines of JSON.
    Command(TargetProgram),
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

/// An address with the headers of every request.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EndpointAddress {
    /// The whole of it.
    pub url: String,
    /// Headers as written in the settings.
    pub headers: Vec<(String, String)>,
    /// Headers, and the variables that hold them.
    pub headers_env: Vec<(String, String)>,
    /// The source of the key that is sent as `authorization: Bearer`.
    pub key: Option<KeyLocation>,
    /// The only certificates of authorities that are trusted; those of the program otherwise.
    pub ca_file: Option<PathBuf>,
}

impl EndpointAddress {
    /// The host with its port, which may be shown.
    pub fn host(&self) -> &str {
        let rest = self.url.split_once("://").map_or("", |(_, rest)| rest);
        rest.split(['/', '?', '#']).next().unwrap_or_default()
    }
}

/// The source of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyLocation {
    /// In a variable of the environment.
    Env(String),
    /// In a file, alone.
    File(PathBuf),
}

/// An API over HTTP.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpTarget {
    pub address: EndpointAddress,
    pub shape: RetrievalApi,
    /// The most results that it gives.
    pub max_results: Option<usize>,
}

/// A tool of an MCP server.
#[derive(Debug, Clone, PartialEq)]
pub struct McpTarget {
    /// The transport of the server.
    pub transport: McpTransport,
    pub tool: String,
    /// The arguments of the tool call.
    pub arguments: RequestTemplate,
    /// The format of the answer.
    pub reading: AnswerFormat,
}

/// The transport of an MCP server.
#[derive(Debug, Clone, PartialEq)]
pub enum McpTransport {
    /// A program that is started.
    Stdio(TargetProgram),
    Http(EndpointAddress),
}

/// A program to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetProgram {
    /// The program and its arguments; never empty.
    pub words: Vec<String>,
    /// Working directory; that of the settings by default.
    pub dir: Option<PathBuf>,
    /// Variables that the program gets in addition to the inherited ones.
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

/// Timeouts, retries, rate limit and concurrency limit of a target.
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
    /// The target that is the local brain.
    pub fn local() -> Self {
        Self {
            name: LOCAL.to_owned(),
            kind: TargetKind::Local,
            ids: DocumentIdRule::default(),
            document: None,
            workspace: None,
            most: None,
            limits: TargetLimits::default(),
        }
    }

    /// A description of kind and address for display, without secrets.
    pub fn describe_address(&self) -> String {
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

    /// Maximum number of results that a question may request.
    pub fn max_results(&self) -> Option<usize> {
        let of_kind = match &self.kind {
            TargetKind::Http(http) => http.max_results,
            _ => None,
        };
        self.most.or(of_kind)
    }
}
