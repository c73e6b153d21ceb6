//! Random requests to every endpoint of the document and to all of the Model Context Protocol.

use fastrand::Rng;
use serde_json::{Value, json};

use super::town::{Page, Tenant, Town};
use crate::serve::client::Call;

/// MCP requests that have no HTTP endpoint.
pub(super) const PROTOCOL: &[&str] = &[
    "tool query",
    "tool search",
    "tool get_page",
    "tool list_pages",
    "tool links",
    "tool sources",
    "tool eval_status",
    "tool find_contradictions",
    "tool put_page",
    "tool delete_page",
    "initialize",
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
];

/// Operations that cannot succeed in a town: a threshold is deployed after trials with a reranker.
pub(super) const REFUSED: &[&str] = &["deploy_threshold"];

/// A caller of a workspace that sends random requests.
pub(super) struct Caller<'a> {
    pub(super) town: &'a Town,
    pub(super) tenant: &'a Tenant,
    pub(super) rng: &'a mut Rng,
}

impl Caller<'_> {
    /// A request of this kind: an operation of the document, or one of [`PROTOCOL`].
    pub(super) fn call(&mut self, kind: &str) -> Call {
        if let Some(tool) = kind.strip_prefix("tool ") {
            let arguments = self.arguments(tool);
            return Call::mcp("tools/call", &json!({ "name": tool, "arguments": arguments }));
        }
        if PROTOCOL.contains(&kind) {
            let params = self.params(kind);
            return Call::mcp(kind, &params);
        }
        self.http(kind)
    }

    fn http(&mut self, operation: &str) -> Call {
        let page = |caller: &mut Self| encoded(&caller.page());
        match operation {
            "search" => Call::json("POST", "/v1/search", &self.question()),
            "query" => Call::json("POST", "/v1/query", &self.question()),
            "list_pages" => Call::get(format!("/v1/pages?{}", self.filter())),
            "get_page" => match self.rng.u8(..4) {
                0 => Call::get(format!("/v1/pages/{}?version=1", page(self))),
                1 => Call::get("/v1/pages/shared%2Fopened?version=1"),
                _ => Call::get(format!("/v1/pages/{}", page(self))),
            },
            "explain" => {
                let settings = json!({ "title_boost": 1.5, "vectors_weight": 0.1 });
                let settings = if self.rng.bool() { settings } else { json!({}) };
                let body = json!({ "ask": self.question(), "settings": settings });
                Call::json("POST", "/v1/explain", &body)
            }
            "put_page" => {
                let body = json!({ "content": self.content() });
                let at = ["", "", "?if_version=1"][self.rng.usize(..3)];
                Call::json("PUT", format!("/v1/pages/{}{at}", page(self)), &body)
            }
            "delete_page" => Call::new("DELETE", format!("/v1/pages/{}", page(self))),
            "restore_page" => Call::new("POST", format!("/v1/pages/{}/restore", page(self))),
            "page_history" => Call::get(format!("/v1/pages/{}/history", page(self))),
            "links" => {
                let evidence = self.rng.bool();
                Call::get(format!("/v1/pages/{}/links?evidence={evidence}", page(self)))
            }
            "list_sources" => Call::get("/v1/sources"),
            "add_source" => {
                let id = format!("made-{}", self.rng.u8(..5));
                Call::json("POST", "/v1/sources", &json!({ "id": id, "trusted": self.rng.bool() }))
            }
            "eval_status" => Call::get("/v1/eval/status"),
            "find_contradictions" => Call::get("/v1/contradictions?limit=100"),
            "probe_history" => Call::get("/v1/probe?days=9"),
            "health" => Call::get("/v1/health"),
            "ready" => Call::get("/v1/ready"),
            "openapi" => Call::get("/v1/openapi.json"),
            "metrics" => Call::get("/metrics"),
            _ => self.measuring(operation),
        }
    }

    fn measuring(&mut self, operation: &str) -> Call {
        let name = self.rng.choice(["main", "main", "spare"]).unwrap();
        match operation {
            "export_captures" => Call::get("/v1/captures?limit=50"),
            "prune_captures" => Call::new("DELETE", "/v1/captures?until=2020-01-01T00:00:00Z"),
            "list_baselines" => Call::get("/v1/baselines"),
            "get_baseline" => Call::get(format!("/v1/baselines/{name}")),
            "publish_baseline" => {
                Call::json("PUT", format!("/v1/baselines/{name}"), &json!({ "limit": 5 }))
            }
            "try_settings" => {
                let body = json!({ "settings": { "words_weight": 0.0 } });
                Call::json("POST", format!("/v1/baselines/{name}/try"), &body)
            }
            "delete_baseline" => Call::new("DELETE", "/v1/baselines/spare"),
            "list_qrels" => Call::get("/v1/qrels"),
            "get_qrels" => Call::get(format!("/v1/qrels/{name}")),
            "put_qrels" => {
                let judged = format!("q1 0 {} 1\n", self.own().slug);
                Call::new("PUT", format!("/v1/qrels/{name}")).body("text/plain", judged)
            }
            "delete_qrels" => Call::new("DELETE", "/v1/qrels/spare"),
            "list_captures" => Call::get("/v1/captures/list?limit=200"),
            "list_capture_failures" => Call::get("/v1/captures/failures"),
            "get_capture" => Call::get(format!("/v1/captures/{}", self.rng.u8(1..9))),
            "promote_capture" => {
                let path = format!("/v1/captures/{}/promote", self.rng.u8(1..9));
                Call::json("POST", path, &json!({}))
            }
            "labelling_queue" => Call::get("/v1/labels/queue?limit=20"),
            "queued_query" => Call::get("/v1/labels/queue/next?limit=20"),
            "label_measures" => Call::get("/v1/labels/measures?limit=20"),
            "label_agreement" => Call::get("/v1/labels/agreement"),
            "label_conflicts" => Call::get("/v1/labels/conflicts"),
            "settle_label" => {
                let path = format!("/v1/labels/{}/settle", self.rng.u8(1..3));
                Call::json("POST", path, &json!({ "grade": 2 }))
            }
            "borderline_labels" => Call::get("/v1/labels/borderline"),
            "labels_to_pairs" => Call::json("POST", "/v1/labels/pairs", &json!({})),
            "labels_to_queries" => Call::json("POST", "/v1/labels/queries", &json!({})),
            "list_labels" => Call::get("/v1/labels?limit=1000"),
            "add_labels" => {
                let label = json!({ "query": self.words(), "page": self.page(), "grade": 1 });
                Call::json("POST", "/v1/labels", &json!({ "labels": [label] }))
            }
            "remove_label" => Call::new("DELETE", format!("/v1/labels/{}", self.rng.u8(1..3))),
            "labels_as_qrels" => Call::get("/v1/labels/qrels"),
            "compare" => Call::json("POST", "/v1/compare", &self.results()),
            "list_alerts" => Call::get("/v1/alerts"),
            "list_suites" => Call::get("/v1/suites"),
            "suite_history" => Call::get("/v1/suites/smoke/runs?limit=1000"),
            "show_suite_run" => Call::get(format!("/v1/suite-runs/{}", self.rng.u8(1..3))),
            "triage_suite_run" => Call::get(format!("/v1/suite-runs/{}/triage", self.rng.u8(1..3))),
            "list_incidents" => Call::get("/v1/incidents?limit=1000"),
            "tell_event" => {
                let event =
                    json!({ "kind": "deploy.finished", "document": self.page(), "version": "1" });
                Call::json("POST", "/v1/events", &event)
            }
            "give_feedback" => {
                let log = self.rng.u8(1..40);
                let word = json!({ "log": log, "vote": "down", "borderline": self.page() });
                Call::json("POST", "/v1/feedback", &word)
            }
            _ => self.working(operation),
        }
    }

    fn working(&mut self, operation: &str) -> Call {
        let id = self.rng.choice([1, 1, 2, 2, 3, 4, 5, 6]).unwrap();
        match operation {
            "start_run" => Call::json("POST", "/v1/runs", &self.run()),
            "list_runs" => Call::get("/v1/runs?limit=200"),
            "show_run" => Call::get(format!("/v1/runs/{id}")),
            "run_result" => Call::get(format!("/v1/runs/{id}/result")),
            "cancel_run" => Call::new("POST", format!("/v1/runs/{id}/cancel")),
            "run_events" => Call::get(format!("/v1/runs/{id}/events")),
            "start_job" => Call::json("POST", "/v1/jobs", &self.job()),
            "list_jobs" => Call::get("/v1/jobs?limit=200"),
            "show_job" => Call::get(format!("/v1/jobs/{id}")),
            "job_result" => Call::get(format!("/v1/jobs/{id}/result")),
            "cancel_job" => Call::new("POST", format!("/v1/jobs/{id}/cancel")),
            "job_events" => Call::get(format!("/v1/jobs/{id}/events")),
            _ => self.monitoring(operation),
        }
    }

    fn monitoring(&mut self, operation: &str) -> Call {
        let id = self.rng.u8(1..4);
        let alert = format!("gbrain/{}/smoke/recall@5/all", self.tenant.workspace());
        match operation {
            "show_suite" => Call::get("/v1/suites/smoke"),
            "run_suite" => Call::new("POST", "/v1/suites/smoke/runs"),
            "suite_days" => Call::get("/v1/suite-days?days=30"),
            "suite_trends" => Call::get("/v1/suite-trends?runs=30"),
            "show_incident" => Call::get(format!("/v1/incidents/{id}")),
            "open_incident" => {
                Call::json("POST", "/v1/incidents", &json!({ "title": self.words(), "run": 1 }))
            }
            "note_incident" => {
                let path = format!("/v1/incidents/{id}/notes");
                Call::json("POST", path, &json!({ "text": self.words() }))
            }
            "resolve_incident" => {
                let body = json!({ "root_cause": "disk", "fix": "space", "follow_ups": ["alert"] });
                Call::json("POST", format!("/v1/incidents/{id}/resolve"), &body)
            }
            "close_alert" => {
                Call::json("POST", "/v1/alerts/close", &json!({ "key": alert, "reason": "known" }))
            }
            "list_deliveries" => Call::get("/v1/deliveries?limit=200"),
            "add_silence" => {
                let silence = json!({ "key": alert, "for": "1h", "reason": "maintenance" });
                Call::json("POST", "/v1/silences", &silence)
            }
            "end_silence" => Call::new("DELETE", format!("/v1/silences/{id}")),
            "show_calibration" => Call::get("/v1/calibration"),
            "list_thresholds" => Call::get("/v1/calibration/thresholds"),
            "deploy_threshold" => {
                Call::json("POST", "/v1/calibration/deploy", &json!({ "id": id }))
            }
            "list_benchmarks" => Call::get("/v1/benchmarks"),
            "list_prompts" => Call::get("/v1/prompts"),
            "capture_days" => Call::get("/v1/capture-days?days=30"),
            "recent_changes" => Call::get("/v1/changes?limit=100"),
            "show_spend" => Call::get("/v1/spend?days=30"),
            other => panic!("the document has an operation that nobody tries here: {other}"),
        }
    }

    fn arguments(&mut self, tool: &str) -> Value {
        match tool {
            "query" | "search" => self.question(),
            "list_pages" => json!({ "limit": 500, "deleted": self.rng.bool() }),
            "sources" | "eval_status" | "find_contradictions" => json!({}),
            "put_page" => json!({ "page": self.page(), "content": self.content() }),
            _ => json!({ "page": self.page() }),
        }
    }

    fn params(&mut self, method: &str) -> Value {
        match method {
            "initialize" => json!({
                "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": { "name": "curious", "version": "1" },
            }),
            "resources/read" => {
                let page = self.page();
                let (source, slug) = page.split_once("::").unwrap_or(("default", &page));
                json!({ "uri": format!("gbrain://page/{source}/{slug}") })
            }
            "prompts/get" => json!({ "name": "use-memory", "arguments": { "task": self.words() } }),
            _ => json!({}),
        }
    }

    fn question(&mut self) -> Value {
        let mut question = json!({
            "query": self.words(), "limit": self.rng.u16(1..200), "explain": self.rng.bool(),
        });
        let mode = self.rng.choice(["hybrid", "graph", "knowledge"]).unwrap();
        match self.rng.u8(..4) {
            0 => question["why_not"] = self.page().into(),
            1 => question["retrieval_mode"] = mode.into(),
            2 => question["detail"] = "high".into(),
            _ => question["tags"] = json!(["harbour"]),
        }
        question
    }

    fn filter(&mut self) -> String {
        let filters =
            ["limit=500", "deleted=true&limit=500", "prefix=people", "tag=harbour", "type=note"];
        self.rng.choice(filters).unwrap().to_owned()
    }

    fn run(&mut self) -> Value {
        let against = self.rng.choice(["main", "spare"]).unwrap();
        match self.rng.u8(..4) {
            0 => json!({ "kind": "gate", "qrels": against, "repeats": 1 }),
            1 => json!({ "kind": "gate", "baseline": against, "repeats": 1 }),
            2 => json!({
                "kind": "replay", "against": { "baseline": against }, "repeats": 1, "blame": true,
                "verbose": true,
            }),
            _ => json!({
                "kind": "replay", "against": { "limit": 5 }, "repeats": 1, "verbose": true,
            }),
        }
    }

    fn job(&mut self) -> Value {
        if self.rng.u8(..4) == 0 {
            return json!({ "kind": "reindex" });
        }
        let pages: Vec<Value> = (0..self.rng.usize(1..4))
            .map(|_| json!({ "slug": self.page(), "content": self.content() }))
            .collect();
        json!({ "kind": "import", "pages": pages })
    }

    fn results(&mut self) -> Value {
        let line = format!("q1 Q0 {} 1 1.0 mine\n", self.own().slug);
        let run = if self.rng.bool() { json!({ "run": 2 }) } else { json!({ "body": line }) };
        json!({ "results": [{ "body": line }, run], "qrels": "main" })
    }

    /// Text to write: only the caller's own words, so that words of others can't be returned.
    fn content(&mut self) -> String {
        let page = self.own();
        format!("# {}\n\nThe harbour crane {} again. See [[shared/plan]].\n", page.title, page.text)
    }

    /// Query text: words of all pages, or of one page.
    fn words(&mut self) -> String {
        let common = ["harbour crane", "who works at shared/plan?", "berth cargo", "The ledger"];
        match self.rng.u8(..4) {
            0 => self.guess().text.clone(),
            1 => self.guess().name().to_owned(),
            2 => self.own().title.clone(),
            _ => self.rng.choice(common).unwrap().to_owned(),
        }
    }

    /// The name of a page: of the caller's workspace, of another one, or one that exists in all.
    fn page(&mut self) -> String {
        let shared = ["shared/plan", "shared/vault", "shared/opened", "shared/closed"];
        match self.rng.u8(..8) {
            0..4 => self.own().slug.clone(),
            4 => self.guess().slug.clone(),
            5 => format!("default::{}", self.guess().slug),
            6 => format!("made/{}", self.rng.u8(..10)),
            _ => self.rng.choice(shared).unwrap().to_owned(),
        }
    }

    /// A public page of one's own.
    fn own(&mut self) -> Page {
        let pages: Vec<&Page> = self.tenant.pages.iter().filter(|page| !page.is_private).collect();
        self.rng.choice(pages).unwrap().clone()
    }

    /// A page that the caller must not see, and may ask for.
    fn guess(&mut self) -> Page {
        let tenant = self.rng.choice(&self.town.tenants).unwrap();
        let is_own = tenant.name == self.tenant.name;
        let hidden = tenant.pages.iter().filter(|page| !is_own || page.is_private);
        let pages: Vec<&Page> = hidden.filter(|page| page.is_asked_for).collect();
        self.rng.choice(pages).unwrap().clone()
    }
}

fn encoded(page: &str) -> String {
    page.replace('/', "%2F")
}
