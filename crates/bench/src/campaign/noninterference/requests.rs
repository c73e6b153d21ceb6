//! Random requests: every operation of the OpenAPI document, every tool and method of MCP, the commands that take
//! `--untrusted`.

use std::fmt;

use fastrand::Rng;
use gbrain_testkit::mcp::TOOLS;
use serde_json::{Value, json};

/// The time of every question: that of the clock would be in the answer.
const NOW: &str = "2026-06-01T12:00:00Z";

/// A way to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Interface {
    Http,
    /// MCP at `/mcp`.
    McpHttp,
    /// `gbrain mcp`.
    McpStdio,
    /// Commands with `--untrusted`.
    Commands,
}

#[derive(Debug, Clone)]
pub(super) enum Content {
    /// A request of HTTP: method, path, content type, body.
    Http(&'static str, String, &'static str, String),
    /// A message of MCP.
    Message(Value),
    /// The arguments of a command.
    Arguments(Vec<String>),
}

/// A request, the same for both brains.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) interface: Interface,
    pub(super) operation: String,
    pub(super) content: Content,
}

#[derive(Debug)]
pub(super) struct Requests {
    rng: Rng,
    operations: Vec<String>,
    pages: usize,
    count: usize,
    /// Requests of HTTP that went by the list of operations.
    listed: usize,
}

/// Names take turns, so what has a name is made twice.
const FIRST: [&str; 11] = [
    "put_qrels",
    "put_qrels",
    "put_qrels",
    "publish_baseline",
    "publish_baseline",
    "publish_baseline",
    "start_job",
    "start_run",
    "start_job",
    "start_run",
    "add_labels",
];
const METHODS: [&str; 7] = [
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
    "ping",
];

impl Interface {
    /// Its name in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http => "HTTP",
            Self::McpHttp => "MCP over HTTP",
            Self::McpStdio => "MCP over stdio",
            Self::Commands => "commands with --untrusted",
        }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {:?}", self.interface.name(), self.operation, self.content)
    }
}

impl Requests {
    /// Requests to these operations of brains that have so many pages in common.
    pub(super) fn new(rng: Rng, operations: Vec<String>, pages: usize) -> Self {
        Self { rng, operations, pages, count: 0, listed: 0 }
    }

    /// The operations of the document.
    pub(super) fn operations(&self) -> &[String] {
        &self.operations
    }

    /// The next request: first what others refer to is made, then everything at random.
    pub(super) fn next(&mut self) -> Request {
        self.count += 1;
        if let Some(operation) = FIRST.get(self.count - 1) {
            return self.http_request((*operation).to_owned());
        }
        match self.rng.u8(..50) {
            0 => self.command(),
            1..10 => self.message(Interface::McpStdio),
            10..20 => self.message(Interface::McpHttp),
            _ => self.http(),
        }
    }

    fn http(&mut self) -> Request {
        // Questions are a third: they are where most of the work is.
        let operation = match self.rng.u8(..3) {
            0 => ["query", "search"][self.rng.usize(..2)].to_owned(),
            // Each in turn, so that none is left out.
            _ => {
                self.listed += 1;
                self.operations[self.listed % self.operations.len()].clone()
            }
        };
        self.http_request(operation)
    }

    fn http_request(&mut self, operation: String) -> Request {
        let (method, path, kind, body) = self.call(&operation);
        let content = Content::Http(method, path, kind, body);
        Request { interface: Interface::Http, operation, content }
    }

    fn call(&mut self, operation: &str) -> (&'static str, String, &'static str, String) {
        let page = format!("/v1/pages/{}", self.page().replace('/', "%2F"));
        let name = ["main", "spare"][self.count % 2];
        let json = |method, path: &str, body: Value| {
            (method, path.to_owned(), "application/json", body.to_string())
        };
        let plain = |method, path: String| (method, path, "", String::new());
        match operation {
            "search" => json("POST", "/v1/search", self.question()),
            "query" => json("POST", "/v1/query", self.question()),
            "list_pages" => plain("GET", format!("/v1/pages?{}", self.filter())),
            "get_page" if self.rng.u8(..4) == 0 => plain("GET", format!("{page}?version=1")),
            "get_page" => plain("GET", page),
            "put_page" => {
                let path = format!("/v1/pages/{}", self.own_page().replace('/', "%2F"));
                json("PUT", &path, json!({ "content": self.text() }))
            }
            "delete_page" => {
                plain("DELETE", format!("/v1/pages/{}", self.own_page().replace('/', "%2F")))
            }
            "restore_page" => {
                let path = format!("/v1/pages/{}/restore", self.own_page().replace('/', "%2F"));
                plain("POST", path)
            }
            "page_history" => plain("GET", format!("{page}/history")),
            "links" => plain("GET", format!("{page}/links")),
            "list_sources" => plain("GET", "/v1/sources".to_owned()),
            "add_source" => {
                let id = format!("made-{}", self.rng.u8(..5));
                json("POST", "/v1/sources", json!({ "id": id, "trusted": self.rng.bool() }))
            }
            "eval_status" => plain("GET", "/v1/eval/status".to_owned()),
            "find_contradictions" => plain("GET", "/v1/contradictions?limit=100".to_owned()),
            "probe_history" => plain("GET", "/v1/probe?days=9".to_owned()),
            "health" => plain("GET", "/v1/health".to_owned()),
            "ready" => plain("GET", "/v1/ready".to_owned()),
            "openapi" => plain("GET", "/v1/openapi.json".to_owned()),
            "metrics" => plain("GET", "/metrics".to_owned()),
            _ => self.evaluation(operation, name),
        }
    }

    fn evaluation(
        &mut self,
        operation: &str,
        name: &str,
    ) -> (&'static str, String, &'static str, String) {
        let json = |method, path: String, body: Value| {
            (method, path, "application/json", body.to_string())
        };
        let plain = |method, path: String| (method, path, "", String::new());
        // Jobs and runs share their numbers, and the first runs are 2 and 4 (see `FIRST`).
        let number = if operation.contains("run") { [2, 4, 2, 9] } else { [1, 3, 1, 2] };
        let number: u8 = number[self.rng.usize(..4)];
        match operation {
            "export_captures" => plain("GET", "/v1/captures?limit=50".to_owned()),
            "prune_captures" => {
                plain("DELETE", "/v1/captures?until=2020-01-01T00:00:00Z".to_owned())
            }
            "list_baselines" => plain("GET", "/v1/baselines".to_owned()),
            "get_baseline" => plain("GET", format!("/v1/baselines/{name}")),
            "publish_baseline" => {
                json("PUT", format!("/v1/baselines/{name}"), json!({ "limit": 5 }))
            }
            "delete_baseline" => plain("DELETE", "/v1/baselines/spare".to_owned()),
            "list_qrels" => plain("GET", "/v1/qrels".to_owned()),
            "get_qrels" => plain("GET", format!("/v1/qrels/{name}")),
            "put_qrels" => {
                let judged = format!("q1 0 {} 1\n", self.page());
                ("PUT", format!("/v1/qrels/{name}"), "text/plain", judged)
            }
            "delete_qrels" => plain("DELETE", "/v1/qrels/spare".to_owned()),
            "list_captures" => plain("GET", "/v1/captures/list?limit=200".to_owned()),
            "list_capture_failures" => plain("GET", "/v1/captures/failures".to_owned()),
            "get_capture" => plain("GET", format!("/v1/captures/{number}")),
            "promote_capture" => json("POST", format!("/v1/captures/{number}/promote"), json!({})),
            "labelling_queue" => plain("GET", "/v1/labels/queue?limit=20".to_owned()),
            "queued_query" => plain("GET", "/v1/labels/queue/next?limit=20".to_owned()),
            "label_measures" => plain("GET", "/v1/labels/measures?limit=20".to_owned()),
            "label_agreement" => plain("GET", "/v1/labels/agreement".to_owned()),
            "label_conflicts" => plain("GET", "/v1/labels/conflicts".to_owned()),
            "settle_label" => {
                json("POST", format!("/v1/labels/{number}/settle"), json!({ "grade": 2 }))
            }
            "borderline_labels" => plain("GET", "/v1/labels/borderline".to_owned()),
            "labels_to_pairs" => json("POST", "/v1/labels/pairs".to_owned(), json!({})),
            "labels_to_queries" => json("POST", "/v1/labels/queries".to_owned(), json!({})),
            "list_labels" => plain("GET", "/v1/labels?limit=1000".to_owned()),
            "add_labels" => {
                let label = json!({ "query": self.words(), "page": self.page(), "grade": 1 });
                json("POST", "/v1/labels".to_owned(), json!({ "labels": [label] }))
            }
            "remove_label" => plain("DELETE", format!("/v1/labels/{number}")),
            "labels_as_qrels" => plain("GET", "/v1/labels/qrels".to_owned()),
            "compare" => {
                let line = format!("q1 Q0 {} 1 1.0 mine\n", self.page());
                let results = json!([{ "body": line }, { "body": line }]);
                let body = json!({ "results": results, "qrels": "main" });
                json("POST", "/v1/compare".to_owned(), body)
            }
            "list_alerts" => plain("GET", "/v1/alerts".to_owned()),
            "list_suites" => plain("GET", "/v1/suites".to_owned()),
            "suite_history" => plain("GET", "/v1/suites/smoke/runs?limit=1000".to_owned()),
            "show_suite_run" => plain("GET", format!("/v1/suite-runs/{}", self.rng.u8(1..3))),
            "triage_suite_run" => {
                plain("GET", format!("/v1/suite-runs/{}/triage", self.rng.u8(1..3)))
            }
            "list_incidents" => plain("GET", "/v1/incidents?limit=1000".to_owned()),
            "tell_event" => {
                let body =
                    json!({ "kind": "deploy.finished", "document": self.page(), "version": "1" });
                json("POST", "/v1/events".to_owned(), body)
            }
            "give_feedback" => {
                let mut body = json!({ "log": number, "vote": "down" });
                if self.rng.bool() {
                    body["borderline"] = self.page().into();
                }
                json("POST", "/v1/feedback".to_owned(), body)
            }
            _ => self.job(operation, number),
        }
    }

    fn job(&mut self, operation: &str, number: u8) -> (&'static str, String, &'static str, String) {
        let json = |path: &str, body: Value| {
            ("POST", path.to_owned(), "application/json", body.to_string())
        };
        let plain = |method, path: String| (method, path, "", String::new());
        match operation {
            "start_run" => {
                let against = json!({ "baseline": "main" });
                let body =
                    json!({ "kind": "replay", "against": against, "repeats": 1, "verbose": true });
                json("/v1/runs", body)
            }
            "start_job" => {
                let page = json!({ "slug": self.own_page(), "content": self.text() });
                json("/v1/jobs", json!({ "kind": "import", "pages": [page] }))
            }
            "list_runs" => plain("GET", "/v1/runs?limit=200".to_owned()),
            "show_run" => plain("GET", format!("/v1/runs/{number}")),
            "run_result" => plain("GET", format!("/v1/runs/{number}/result")),
            "cancel_run" => plain("POST", format!("/v1/runs/{number}/cancel")),
            "run_events" => plain("GET", format!("/v1/runs/{number}/events")),
            "list_jobs" => plain("GET", "/v1/jobs?limit=200".to_owned()),
            "show_job" => plain("GET", format!("/v1/jobs/{number}")),
            "job_result" => plain("GET", format!("/v1/jobs/{number}/result")),
            "cancel_job" => plain("POST", format!("/v1/jobs/{number}/cancel")),
            "job_events" => plain("GET", format!("/v1/jobs/{number}/events")),
            _ => self.monitoring(operation, number),
        }
    }

    fn monitoring(
        &mut self,
        operation: &str,
        number: u8,
    ) -> (&'static str, String, &'static str, String) {
        let json = |path: &str, body: Value| {
            ("POST", path.to_owned(), "application/json", body.to_string())
        };
        let plain = |method, path: &str| (method, path.to_owned(), "", String::new());
        let alert = "gbrain/default/smoke/recall@5/all";
        match operation {
            "explain" => json("/v1/explain", json!({ "ask": self.question() })),
            "try_settings" => {
                json("/v1/baselines/main/try", json!({ "settings": { "words_weight": 0.0 } }))
            }
            "show_suite" => plain("GET", "/v1/suites/smoke"),
            "run_suite" => plain("POST", "/v1/suites/smoke/runs"),
            "suite_days" => plain("GET", "/v1/suite-days?days=30"),
            "suite_trends" => plain("GET", "/v1/suite-trends?runs=30"),
            "show_incident" => plain("GET", &format!("/v1/incidents/{number}")),
            "open_incident" => json("/v1/incidents", json!({ "title": self.words() })),
            "note_incident" => {
                json(&format!("/v1/incidents/{number}/notes"), json!({ "text": self.words() }))
            }
            "resolve_incident" => json(
                &format!("/v1/incidents/{number}/resolve"),
                json!({ "root_cause": "disk", "fix": "space", "follow_ups": ["alert"] }),
            ),
            "close_alert" => json("/v1/alerts/close", json!({ "key": alert, "reason": "known" })),
            "list_deliveries" => plain("GET", "/v1/deliveries?limit=200"),
            "add_silence" => {
                json("/v1/silences", json!({ "key": alert, "for": "1h", "reason": "known" }))
            }
            "end_silence" => plain("DELETE", &format!("/v1/silences/{number}")),
            "show_calibration" => plain("GET", "/v1/calibration"),
            "list_thresholds" => plain("GET", "/v1/calibration/thresholds"),
            "deploy_threshold" => json("/v1/calibration/deploy", json!({ "id": number })),
            "list_benchmarks" => plain("GET", "/v1/benchmarks"),
            "list_prompts" => plain("GET", "/v1/prompts"),
            "capture_days" => plain("GET", "/v1/capture-days?days=30"),
            "recent_changes" => plain("GET", "/v1/changes?limit=50"),
            "show_spend" => plain("GET", "/v1/spend?days=30"),
            // An operation that is new is asked for by its name, and the report says that it never succeeded.
            other => plain("GET", &format!("/v1/{other}")),
        }
    }

    fn message(&mut self, interface: Interface) -> Request {
        let (operation, method, params) = if self.rng.u8(..4) == 0 {
            let method = METHODS[self.rng.usize(..METHODS.len())];
            (method.to_owned(), method, self.params(method))
        } else {
            let tool = TOOLS[self.rng.usize(..TOOLS.len())];
            let params = json!({ "name": tool, "arguments": self.arguments(tool) });
            (format!("tool {tool}"), "tools/call", params)
        };
        let id = self.count;
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        Request { interface, operation, content: Content::Message(message) }
    }

    fn arguments(&mut self, tool: &str) -> Value {
        match tool {
            "query" | "search" => self.question(),
            "list_pages" => json!({ "limit": 500, "deleted": self.rng.bool() }),
            "sources" | "eval_status" | "find_contradictions" => json!({}),
            "put_page" => json!({ "page": self.own_page(), "content": self.text() }),
            "delete_page" => json!({ "page": self.own_page() }),
            _ => json!({ "page": self.page() }),
        }
    }

    fn params(&mut self, method: &str) -> Value {
        match method {
            "resources/read" => json!({ "uri": format!("gbrain://page/default/{}", self.page()) }),
            "prompts/get" => json!({ "name": "use-memory", "arguments": { "task": self.words() } }),
            _ => json!({}),
        }
    }

    fn command(&mut self) -> Request {
        let verb = ["query", "search"][self.rng.usize(..2)];
        let limit = self.rng.u8(1..30).to_string();
        let words = self.words();
        let mut arguments = vec![verb, &words, "--untrusted", "--now", NOW, "--limit", &limit];
        // A person's output has the same promise.
        if self.rng.u8(..4) > 0 {
            arguments.push("--json");
        }
        if self.rng.bool() {
            arguments.push("--explain");
        }
        let arguments = arguments.into_iter().map(str::to_owned).collect();
        Request {
            interface: Interface::Commands,
            operation: format!("gbrain {verb}"),
            content: Content::Arguments(arguments),
        }
    }

    fn question(&mut self) -> Value {
        let mut question = json!({
            "query": self.words(), "limit": self.rng.u16(1..200), "explain": self.rng.bool(),
            "now": NOW,
        });
        let mode = ["hybrid", "graph", "knowledge"][self.rng.usize(..3)];
        match self.rng.u8(..5) {
            0 => question["why_not"] = self.page().into(),
            1 => question["retrieval_mode"] = mode.into(),
            2 => question["detail"] = "high".into(),
            3 => question["tags"] = json!(["harbour"]),
            _ => {}
        }
        question
    }

    fn filter(&mut self) -> &'static str {
        let filters = [
            "limit=500",
            "deleted=true&limit=500",
            "prefix=hidden",
            "prefix=seed&limit=3",
            "tag=harbour",
            "type=note",
        ];
        filters[self.rng.usize(..filters.len())]
    }

    /// Words that public and private pages share, words of private pages alone, names.
    fn words(&mut self) -> String {
        let number = self.rng.usize(..self.pages.max(1));
        let common = [
            "harbour lantern",
            "granite falcon ember",
            "winter signal",
            "what depends on it?",
            "who works at Quayside?",
            "quarry timber voyage",
        ];
        match self.rng.u8(..8) {
            0 => format!("hush{}word", number % super::pair::PRIVATE_PAGES),
            1 => format!("Locked {}", number % super::pair::PRIVATE_PAGES),
            2 => format!("what depends on seed/page-{number}?"),
            3 => format!("About seed/page-{number}"),
            4 => self.page(),
            _ => common[self.rng.usize(..common.len())].to_owned(),
        }
    }

    /// A page of both brains, of one alone, or of none.
    fn page(&mut self) -> String {
        let number = self.rng.usize(..self.pages.max(1));
        match self.rng.u8(..8) {
            0 => format!("hidden/{}", number % super::pair::PRIVATE_PAGES),
            1 => format!("default::hidden/{}", number % super::pair::PRIVATE_PAGES),
            2 => format!("none/{number}"),
            3 => self.own_page(),
            _ => format!("seed/page-{number}"),
        }
    }

    /// A page that is written.
    fn own_page(&mut self) -> String {
        format!("made/{}", self.rng.u8(..20))
    }

    fn text(&mut self) -> String {
        let number = self.rng.usize(..self.pages.max(1));
        format!(
            "---\ntags: [harbour]\n---\n# Made {number}\n\nharbour winter mark{} depends on \
             [[seed/page-{number}]] and [[hidden/{}]].\n",
            self.count,
            number % super::pair::PRIVATE_PAGES
        )
    }
}
