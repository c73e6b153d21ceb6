//! A target as settings describe it: one object, whose `kind` says which of its keys apply.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::address::{self, AddressError};
use crate::fault::Fault;
use crate::named;
use crate::reading::plain::plain;
use crate::reading::suggest::did_you_mean;
use crate::target::path::Path;
use crate::target::shape::{
    AnswerFormat, ApiKind, CustomApi, HttpMethod, ModeMeaning, RetrievalApi, SearchEffort,
    gbrain_arguments,
};
use crate::target::template::{Placeholder, RequestTemplate};
use crate::target::{
    DocumentIdRule, DocumentSourceRule, EndpointAddress, HttpTarget, KeyLocation, LOCAL, McpTarget,
    McpTransport, SavedRun, TargetKind, TargetLimits, TargetProgram, TargetSettings,
};

use super::WireResponse;
use super::preset::{ApiPreset, preset};
use crate::variable;

named! {
    /// The kind of a target.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum WireKind {
        /// An API over HTTP.
        Http = "http",
        /// A tool of an MCP server.
        Mcp = "mcp",
        /// A program that answers lines of JSON with lines of JSON.
        Command = "command",
        /// Answers that were saved.
        Run = "run",
    }
}

/// The settings of a target.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Target", extend("required" = ["kind"]))]
pub struct WireTarget {
    /// The kind of the target.
    pub kind: Option<WireKind>,
    /// The protocol of an API; `custom` is described by `body`, `params` and `response`.
    pub api: Option<ApiKind>,
    /// Where: of a ready API the server, such as `https://api.example.com`; else the whole address.
    pub url: Option<String>,
    /// Of a ready API, the path if it is another.
    pub path: Option<String>,
    /// Of a custom API, GET or POST.
    pub method: Option<HttpMethod>,
    /// Headers without secrets. Headers of a custom API may have placeholders.
    pub headers: BTreeMap<String, String>,
    /// Headers, each with the name of the variable that holds its value.
    pub headers_env: BTreeMap<String, String>,
    /// The variable that holds the key, which is sent as `authorization: Bearer`.
    pub key_env: Option<String>,
    /// The file that holds the key.
    pub key_file: Option<PathBuf>,
    /// The only certificate authorities to trust, as PEM.
    pub ca_file: Option<PathBuf>,
    /// The query parameters of a custom API, with placeholders.
    pub params: BTreeMap<String, String>,
    /// Of a custom API, the body, with placeholders such as `{{query}}`.
    pub body: Option<Value>,
    /// The mapping of an answer's fields.
    pub response: Option<WireResponse>,
    /// The meaning of `mode` in the internal API.
    pub mode_means: Option<ModeMeaning>,
    /// The search effort of the shipped API.
    pub tier: Option<SearchEffort>,
    /// The program and its arguments, of a command or an MCP server.
    pub command: Vec<String>,
    /// Working directory of the program.
    pub cwd: Option<PathBuf>,
    /// Variables that the program gets in addition to the inherited ones.
    pub env: BTreeMap<String, String>,
    /// The tool of an MCP server; `query` by default.
    pub tool: Option<String>,
    /// The arguments of the tool call, with placeholders.
    pub arguments: Option<Value>,
    /// The file of a saved run.
    pub file: Option<PathBuf>,
    /// Texts of the queries of a saved run, as BEIR's queries.jsonl.
    pub queries: Option<PathBuf>,
    /// The mapping of its ids to page keys.
    pub ids: Option<WireIds>,
    /// The owner whose documents are searched, as the target names it.
    pub workspace: Option<String>,
    /// Maximum number of results that a question may request.
    #[schemars(range(min = 1))]
    pub max_k: Option<usize>,
    /// Timeout of one attempt in seconds; 10 by default.
    #[schemars(range(min = 0.01, max = 3600))]
    pub timeout_seconds: Option<f64>,
    /// Timeout of one question with all its attempts, in seconds; 60 by default.
    #[schemars(range(min = 0.01, max = 86400))]
    pub deadline_seconds: Option<f64>,
    /// Maximum number of attempts; 3 by default.
    #[schemars(range(min = 1, max = 20))]
    pub attempts: Option<u32>,
    /// Maximum number of concurrent questions; 8 by default.
    #[schemars(range(min = 1, max = 256))]
    pub concurrency: Option<usize>,
    /// Maximum number of attempts per second; unlimited by default.
    #[schemars(range(min = 0.001))]
    pub per_second: Option<f64>,
}

/// The mapping of a target's ids to page keys.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "TargetIds")]
pub struct WireIds {
    /// Path of the id of a result, such as `$.slug`.
    pub field: Option<String>,
    /// Taken off the front of ids that begin with it.
    pub strip_prefix: Option<String>,
    /// The source that names begin with: `wiki` makes `wiki::id`.
    pub source: Option<String>,
    /// Whether names begin with the source that the result says.
    pub source_of_result: bool,
}

/// A target that is described badly.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the target {name}: {reason}")]
pub struct TargetSettingsError {
    pub name: String,
    /// The error as a sentence.
    pub reason: String,
    /// Steps that fix the problem.
    pub hint: Option<String>,
}

impl From<TargetSettingsError> for Fault {
    fn from(error: TargetSettingsError) -> Self {
        let fault = Self::config(error.to_string());
        match error.hint {
            Some(hint) => fault.hint(hint),
            None => fault,
        }
    }
}

/// Parses and validates the settings of a target.
pub fn read_target(name: &str, value: &Value) -> Result<TargetSettings, TargetSettingsError> {
    let failed = |reason: String| {
        let hint = did_you_mean(&reason);
        TargetSettingsError { name: name.to_owned(), reason, hint }
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name == LOCAL {
        return Err(failed("this is the name of the local brain; choose another".to_owned()));
    }
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_name) {
        return Err(failed("a name has 1 to 64 letters, digits, `-`, `_` and `.`".to_owned()));
    }
    let wire = WireTarget::deserialize(value).map_err(|error| {
        let hint = did_you_mean(&error.to_string());
        TargetSettingsError { hint, ..failed(plain(&error.to_string())) }
    })?;
    wire.settings(name).map_err(failed)
}

impl WireTarget {
    /// Validates the settings of a target.
    fn settings(mut self, name: &str) -> Result<TargetSettings, String> {
        let kind = self.kind.ok_or("`kind` is missing: http, mcp, command or run")?;
        self.refuse_what_does_not_apply(kind)?;
        let WireIds { field, strip_prefix, source, source_of_result } =
            self.ids.take().unwrap_or_default();
        let source = match (source, source_of_result) {
            (Some(_), true) => {
                return Err("`ids` has both `source` and `source_of_result`".to_owned());
            }
            (Some(source), false) => DocumentSourceRule::Fixed(source),
            (None, true) => DocumentSourceRule::OfResult,
            (None, false) => DocumentSourceRule::None,
        };
        let document = field.map(|field| Path::parse(&field));
        let document = document.transpose().map_err(|error| format!("`ids.field`: {error}"))?;
        if self.max_k == Some(0) {
            return Err("`max_k` is 0".to_owned());
        }
        let (workspace, most, limits) = (self.workspace.take(), self.max_k, self.limits()?);
        let kind = match kind {
            WireKind::Http => TargetKind::Http(self.http()?),
            WireKind::Mcp => TargetKind::Mcp(self.mcp()?),
            WireKind::Command => TargetKind::Command(self.program()?),
            WireKind::Run => TargetKind::Run(self.run()?),
        };
        if workspace.is_some() && !takes_workspace(&kind) {
            return Err("`workspace` has no place in what is sent".to_owned());
        }
        let ids = DocumentIdRule { strip_prefix, source };
        Ok(TargetSettings { name: name.to_owned(), kind, ids, document, workspace, most, limits })
    }

    /// A key that says nothing here was meant for something else.
    fn refuse_what_does_not_apply(&self, kind: WireKind) -> Result<(), String> {
        use WireKind::{Command, Http, Mcp, Run};
        let is_custom = kind == Http && self.api == Some(ApiKind::Custom);
        let has_url = matches!(kind, Http | Mcp);
        let keys: [(&str, bool, bool); 20] = [
            ("api", self.api.is_some(), kind == Http),
            ("url", self.url.is_some(), has_url),
            ("path", self.path.is_some(), kind == Http && !is_custom),
            ("method", self.method.is_some(), is_custom),
            ("headers", !self.headers.is_empty(), has_url),
            ("headers_env", !self.headers_env.is_empty(), has_url),
            ("key_env", self.key_env.is_some(), has_url),
            ("key_file", self.key_file.is_some(), has_url),
            ("ca_file", self.ca_file.is_some(), has_url),
            ("params", !self.params.is_empty(), is_custom),
            ("body", self.body.is_some(), is_custom),
            ("response", self.response.is_some(), is_custom || kind == Mcp),
            ("mode_means", self.mode_means.is_some(), self.api == Some(ApiKind::LightfastInternal)),
            ("tier", self.tier.is_some(), self.api == Some(ApiKind::Lightfast2026)),
            ("command", !self.command.is_empty(), matches!(kind, Command | Mcp)),
            ("tool", self.tool.is_some(), kind == Mcp),
            ("arguments", self.arguments.is_some(), kind == Mcp),
            ("file", self.file.is_some(), kind == Run),
            ("queries", self.queries.is_some(), kind == Run),
            ("workspace", self.workspace.is_some(), kind != Run),
        ];
        match keys.into_iter().find(|(_, is_there, applies)| *is_there && !applies) {
            None => Ok(()),
            Some((key, _, _)) if kind == Http => {
                let api = self.api.map_or("no api", ApiKind::name);
                Err(format!("`{key}` says nothing of kind http with {api}"))
            }
            Some((key, _, _)) => Err(format!("`{key}` says nothing of kind {kind}")),
        }
    }

    fn limits(&self) -> Result<TargetLimits, String> {
        let default = TargetLimits::default();
        let seconds = |key: &str, value: Option<f64>, most: f64, default: Duration| match value {
            None => Ok(default),
            Some(value) if (0.01..=most).contains(&value) => Ok(Duration::from_secs_f64(value)),
            Some(value) => Err(format!("`{key}` is {value}; it takes 0.01 to {most}")),
        };
        let number = |key: &str, value: usize, most: usize| match value {
            value if (1..=most).contains(&value) => Ok(value),
            value => Err(format!("`{key}` is {value}; it takes 1 to {most}")),
        };
        if let Some(rate) = self.per_second.filter(|rate| !(0.001..=1e6).contains(rate)) {
            return Err(format!("`per_second` is {rate}; it takes 0.001 to 1000000"));
        }
        let attempts = self.attempts.unwrap_or(default.attempts) as usize;
        let concurrency = self.concurrency.unwrap_or(default.concurrency);
        Ok(TargetLimits {
            timeout: seconds("timeout_seconds", self.timeout_seconds, 3600.0, default.timeout)?,
            deadline: seconds(
                "deadline_seconds",
                self.deadline_seconds,
                86400.0,
                default.deadline,
            )?,
            attempts: number("attempts", attempts, 20)? as u32,
            concurrency: number("concurrency", concurrency, 256)?,
            per_second: self.per_second,
        })
    }

    fn http(self) -> Result<HttpTarget, String> {
        let api = self.api.ok_or_else(|| {
            let names: Vec<&str> = ApiKind::ALL.iter().map(|api| api.name()).collect();
            format!("`api` is missing: {}", names.join(", "))
        })?;
        let mode_means = self.mode_means.unwrap_or_default();
        let Some(ready) = preset(api, mode_means, self.tier) else {
            let (custom, wire) = self.custom()?;
            let (shape, address) = (RetrievalApi::Custom(Box::new(custom)), wire.address()?);
            return Ok(HttpTarget { address, shape, max_results: None });
        };
        let ApiPreset { path, max_results, shape } = ready;
        let path = self.path.clone().unwrap_or(path);
        let address = self.address()?;
        if !path.starts_with('/') {
            return Err(format!("`path` is {path:?}; it begins with `/`"));
        }
        let url = format!("{}{path}", address.url.trim_end_matches('/'));
        Ok(HttpTarget { address: EndpointAddress { url, ..address }, shape, max_results })
    }

    /// A custom API, and the rest of its address.
    fn custom(mut self) -> Result<(CustomApi, Self), String> {
        let response = self.response.take().ok_or("`response` is missing: where are results?")?;
        let method = self.method.unwrap_or_default();
        let body = self.body.take().map(|body| RequestTemplate::parse(&body)).transpose();
        let body = body.map_err(|error| format!("`body`: {error}"))?;
        if method == HttpMethod::Get && body.is_some() {
            return Err("`body` is not sent with GET; use `params`".to_owned());
        }
        if body.is_none() && self.params.is_empty() {
            return Err("there is no place for the question: give `body` or `params`".to_owned());
        }
        let templates = |key: &str, texts: BTreeMap<String, String>| {
            let template = |(name, text): (String, String)| {
                let template = RequestTemplate::parse(&Value::String(text));
                Ok((name, template.map_err(|error| format!("`{key}`: {error}"))?))
            };
            texts.into_iter().map(template).collect::<Result<Vec<_>, String>>()
        };
        let params = templates("params", std::mem::take(&mut self.params))?;
        check_headers(self.headers.keys())?;
        refuse_secrets(&self.headers)?;
        let headers = templates("headers", std::mem::take(&mut self.headers))?;
        let mapping = response.mapping()?;
        Ok((CustomApi { method, params, headers, body, mapping, bypass: Vec::new() }, self))
    }

    fn mcp(mut self) -> Result<McpTarget, String> {
        let tool = self.tool.take();
        let arguments = self.arguments.take();
        let is_ours = arguments.is_none() && self.response.is_none();
        let arguments = RequestTemplate::parse(&arguments.unwrap_or_else(gbrain_arguments))
            .map_err(|error| format!("`arguments`: {error}"))?;
        if arguments.has(Placeholder::Vector) {
            return Err("`arguments`: {{vector}} is for APIs over HTTP".to_owned());
        }
        let reading = match self.response.take() {
            Some(response) => AnswerFormat::Mapped(Box::new(response.mapping()?)),
            None => AnswerFormat::Gbrain,
        };
        if !is_ours && tool.is_none() {
            return Err("`tool` is missing: which tool takes these `arguments`?".to_owned());
        }
        let transport = match (self.url.is_some(), self.command.is_empty()) {
            (true, true) => McpTransport::Http(self.address()?),
            (false, false) => McpTransport::Stdio(self.program()?),
            _ => return Err("give either `command` or `url`".to_owned()),
        };
        let tool = tool.unwrap_or_else(|| "query".to_owned());
        Ok(McpTarget { transport, tool, arguments, reading })
    }

    fn address(self) -> Result<EndpointAddress, String> {
        let url = self.url.ok_or("`url` is missing")?;
        check_url(&url)?;
        let variables =
            self.headers_env.iter().map(|(header, name)| (format!("headers_env.{header}"), name));
        let key_env = self.key_env.iter().map(|name| ("key_env".to_owned(), name));
        for (field, name) in variables.chain(key_env) {
            variable::check(&field, name).map_err(|error| error.to_string())?;
        }
        let key = match (self.key_env, self.key_file) {
            (Some(_), Some(_)) => return Err("both `key_env` and `key_file`; give one".to_owned()),
            (Some(variable), None) => Some(KeyLocation::Env(variable)),
            (None, Some(path)) => Some(KeyLocation::File(path)),
            (None, None) => None,
        };
        check_headers(self.headers.keys().chain(self.headers_env.keys()))?;
        refuse_secrets(&self.headers)?;
        Ok(EndpointAddress {
            url,
            headers: self.headers.into_iter().collect(),
            headers_env: self.headers_env.into_iter().collect(),
            key,
            ca_file: self.ca_file,
        })
    }

    fn program(self) -> Result<TargetProgram, String> {
        if self.command.first().is_none_or(|word| word.trim().is_empty()) {
            return Err("`command` is missing: [\"program\", \"argument\"]".to_owned());
        }
        Ok(TargetProgram {
            words: self.command,
            dir: self.cwd,
            env: self.env.into_iter().collect(),
        })
    }

    fn run(self) -> Result<SavedRun, String> {
        let file = self.file.ok_or("`file` is missing")?;
        Ok(SavedRun { file, queries: self.queries })
    }
}

fn takes_workspace(kind: &TargetKind) -> bool {
    match kind {
        TargetKind::Http(http) => http.shape.has(Placeholder::Workspace),
        TargetKind::Mcp(mcp) => mcp.arguments.has(Placeholder::Workspace),
        TargetKind::Local | TargetKind::Command(_) => true,
        TargetKind::Run(_) => false,
    }
}

/// An address that may be shown: a key in it would be in every message.
fn check_url(url: &str) -> Result<(), String> {
    address::check(url).map_err(|error| match error {
        AddressError::None => format!("`url` {error}"),
        AddressError::User | AddressError::Key => {
            format!("`url` {error}: give the key with `key_env` or `headers_env`")
        }
    })
}

/// Headers that hold keys have their place in the environment.
fn refuse_secrets(headers: &BTreeMap<String, String>) -> Result<(), String> {
    let is_secret = |name: &&String| {
        let name = name.to_ascii_lowercase();
        name == "authorization" || name == "cookie" || name.ends_with("api-key")
    };
    match headers.keys().find(is_secret) {
        None => Ok(()),
        Some(name) => Err(format!(
            "the header {name} is a secret: name the variable that holds it in `headers_env`, or the \
             key's in `key_env`"
        )),
    }
}

fn check_headers<'a>(names: impl Iterator<Item = &'a String>) -> Result<(), String> {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    for name in names {
        if name.is_empty() || !name.chars().all(is_token) {
            return Err(format!("{name:?} is no name of a header"));
        }
        if name.eq_ignore_ascii_case("content-length") || name.eq_ignore_ascii_case("host") {
            return Err(format!("the header {name} follows from the request"));
        }
    }
    Ok(())
}
