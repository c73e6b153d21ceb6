//! A brain whose records name its pages in every way that records can.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result};
use fastrand::Rng;
use gbrain_core::baseline::{BaselineDraft, BaselineReader, BaselineThresholds, publish};
use gbrain_core::capture::{CaptureFields, StoredCapture, write_line};
use gbrain_core::gate::Verdict;
use gbrain_core::hash::Hash;
use gbrain_core::id::{PageKey, Slug, SourceId, WorkspaceId};
use gbrain_core::identity::{IdentityKey, KEY_BYTES};
use gbrain_core::page::{PageFormat, PageInput, parse};
use gbrain_core::request::Operation;
use gbrain_store::{
    AnswerKind, DocumentKind, JudgingRun, ModelAnswer, NewEvent, NewFeedback, NewJob, NewLabel,
    NewPair, NewQuery, NewRetrievalLog, NewSuiteRun, OnDuplicate, PageWrite, QueryState,
    RetrievalFields, RunKind, SourceTrust, Store,
};
use gbrain_testkit::process::Gbrain;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::campaign::lies::scene::word;
use crate::campaign::scaffold::Setup;

/// Slugs that are words of records, letters, beginnings of each other, patterns, and other alphabets.
const SLUGS: [&str; 22] = [
    "e",
    "every",
    "e/f",
    "e#3",
    "a_b",
    "axb",
    "100%",
    "100",
    "größe",
    "日本/語",
    "it's",
    "say \"x\"",
    "graph",
    "local",
    "pass",
    "fail",
    "people/ada",
    "people/ada-at-example-com",
    "people/bob-at-example-com",
    "back\\slash",
    "q1",
    "default",
];
/// Records of each kind.
const RECORDS: usize = 12;
/// The other workspace, which has the same pages and records.
pub(super) const TEAM: &str = "team";

/// A page, and the word that only its text has.
#[derive(Debug, Clone)]
pub(super) struct FilledPage {
    pub(super) key: PageKey,
    pub(super) word: String,
    /// The ids of its passages.
    pub(super) chunks: Vec<String>,
}

/// A brain with records.
pub(super) struct Filled {
    pub(super) home: Gbrain,
    /// The pages that were not purged.
    pub(super) pages: Vec<FilledPage>,
    pub(super) identity: IdentityKey,
}

impl Filled {
    pub(super) fn new(setup: &Setup, rng: &mut Rng) -> Result<Self> {
        let home = setup.brain()?;
        let output = home.run(&["init", "-q"])?;
        anyhow::ensure!(output.complaint().is_none(), "init {:?}", output.complaint());
        let bytes: [u8; KEY_BYTES] = std::array::from_fn(|_| rng.u8(..));
        let identity = IdentityKey::new(bytes);
        std::fs::write(home.home().join("identity.key"), identity.to_hex())?;
        let store = home.store()?;
        let team = WorkspaceId::new(TEAM)?;
        store.add_workspace(&team, now())?;
        let own = WorkspaceId::default();
        let seed = rng.u64(..);
        let mut pages = Vec::new();
        for ws in [&own, &team] {
            // The same records in both: what belongs to the other workspace must not be touched.
            let mut filler = Filler {
                store: &store,
                ws,
                pages: Vec::new(),
                identity: identity.for_workspace(ws),
                rng: Rng::with_seed(seed),
            };
            filler.fill(home.home())?;
            if *ws == own {
                pages = filler.pages;
            }
        }
        Ok(Self { home, pages, identity: identity.for_workspace(&own) })
    }
}

/// A moment that is the same in every run.
fn now() -> Timestamp {
    Timestamp::from_millisecond(1_780_000_000_000).unwrap_or_default()
}

struct Filler<'a> {
    store: &'a Store,
    ws: &'a WorkspaceId,
    pages: Vec<FilledPage>,
    identity: IdentityKey,
    rng: Rng,
}

impl Filler<'_> {
    fn fill(&mut self, home: &Path) -> Result<()> {
        self.write_pages()?;
        for n in 0..RECORDS {
            self.record(n)?;
        }
        self.judge()?;
        self.capture(home)?;
        self.answers()?;
        self.audit(home)
    }

    fn write_pages(&mut self) -> Result<()> {
        let wiki = SourceId::new("wiki")?;
        self.store.add_source(self.ws, &wiki, "wiki", SourceTrust::Trusted, now())?;
        for slug in SLUGS {
            for source in [SourceId::default(), wiki.clone()] {
                if source == wiki && self.rng.bool() {
                    continue;
                }
                let key = PageKey::new(source, Slug::new(slug)?);
                let page = self.write(key)?;
                self.pages.push(page);
            }
        }
        Ok(())
    }

    fn write(&mut self, key: PageKey) -> Result<FilledPage> {
        let own = word(&mut self.rng);
        let other = SLUGS[self.rng.usize(..SLUGS.len())];
        let mut chunks = Vec::new();
        for version in 0..self.rng.usize(1..4) {
            let content = format!(
                "---\ntitle: The {own} page\naliases: [{own} alias]\n---\n\nIn version {version} the {own} is seen. \
                 See [[{other}]].\n"
            );
            let input = PageInput {
                key: key.clone(),
                file_name: None,
                content: &content,
                format: PageFormat::Markdown,
            };
            let page = parse(input).context("a page of the campaign")?;
            chunks.extend(page.chunks.iter().map(|chunk| chunk.id(&key)));
            let write = PageWrite { page: &page, origin: None };
            self.store.write_pages(self.ws, &[write], now())?;
        }
        if self.rng.usize(..5) == 0 {
            self.store.delete_pages(self.ws, std::slice::from_ref(&key), now())?;
        }
        Ok(FilledPage { key, word: own, chunks })
    }

    fn page(&mut self) -> FilledPage {
        self.pages[self.rng.usize(..self.pages.len())].clone()
    }

    fn keys(&mut self, most: usize) -> Vec<String> {
        let count = self.rng.usize(1..=most);
        (0..count).map(|_| self.page().key.to_string()).collect()
    }

    /// Logs, runs of suites, contradictions, events and jobs.
    fn record(&mut self, n: usize) -> Result<()> {
        let (a, b, c) = (self.page(), self.page(), self.page());
        let results = self.keys(6);
        let edge = format!("{} -owned_by-> {}", a.key, b.key);
        let body = json!({ "schema_version": 1, "target": "local", "query_id": "e", "result_ids": results,
            "lexical_ids": self.keys(5), "vector_ids": [], "graph_edges": [edge], "rationale_ids": a.chunks,
            "rerank_ids": [{ "id": c.key.to_string(), "score": 0.25 }], "latencies": { "total": 1.5 }, "attempts": 1 });
        let borderline = json!({ "document": b.key.to_string() }).to_string();
        let said = |signal: &str, comment: &str| NewFeedback {
            signal_type: signal.to_owned(),
            score: None,
            comment: Some(comment.to_owned()),
        };
        let log = NewRetrievalLog {
            at: now(),
            fields: RetrievalFields {
                query_text: format!("where is e, number {n}?"),
                body: Some(body.to_string()),
                ..RetrievalFields::default()
            },
            feedback: vec![
                said("borderline_label", &borderline),
                said("user_comment", "every local pass"),
            ],
        };
        self.store.add_retrieval_logs(self.ws, &[log], now())?;
        let problem = format!("{} -depends_on-> {}: there is no such link", b.key, c.key);
        let cases = json!([{ "query_id": "q1", "failing": true, "flags": ["missing_result"], "source": "default",
            "retrieval_mode": "graph", "results": self.keys(8), "rationale_problems": [problem] },
            { "query_id": "e", "failing": false, "flags": [], "results": ["remote-id", "e", "every"] }]);
        let verdict = if self.rng.bool() { Verdict::Fail } else { Verdict::Pass };
        let run = NewSuiteRun {
            suite: "pass".to_owned(),
            key: Some(format!("run {n}")),
            trigger: "manual".to_owned(),
            started_at: now(),
            verdict,
            summary: json!({ "suite": "pass", "verdict": verdict.name(), "failing_cases": ["e", "q1"] }).to_string(),
            report: json!({ "suite": "pass", "target": "local", "verdict": verdict.name(), "cases": cases }).to_string(),
        };
        self.store.add_suite_run(self.ws, &run, now())?;
        self.contradictions(n, [&a, &b, &c])?;
        let event = NewEvent {
            kind: "knowledge.persisted".to_owned(),
            document: a.key.to_string(),
            version: n.to_string(),
            body: "{}".to_owned(),
        };
        self.store.add_event(self.ws, &event, now())?;
        let pages = json!([{ "slug": a.key.slug.as_str(), "content": "text" }]);
        let spec = json!({ "source": a.key.source.as_str(), "pages": pages }).to_string();
        let job = NewJob {
            kind: "pages".to_owned(),
            spec,
            created_by: "campaign".to_owned(),
            max_attempts: 1,
            key: None,
            group: None,
        };
        let id = self.store.add_job(self.ws, &job, now())?;
        self.store.cancel_job(self.ws, id, now())?;
        Ok(())
    }

    fn contradictions(&self, n: usize, [a, b, c]: [&FilledPage; 3]) -> Result<()> {
        let member = |page: &FilledPage| {
            json!({ "source_id": page.key.source.as_str(), "slug": page.key.slug.as_str(), "chunk_id": page.chunks[0],
                "take_row_num": null, "holder": null, "text": format!("the {} is seen", page.word),
                "effective_date": "2026-01-01" })
        };
        let finding = |id: &str, a: &FilledPage, b: &FilledPage| {
            json!({ "pair_id": id, "a": member(a), "b": member(b), "verdict": "contradiction", "severity": "high",
                "axis": format!("about {} and {}", a.word, b.word), "resolution_advice": "look at both",
                "resolution_command": format!("gbrain get '{}'", a.key) })
        };
        let hot = json!([{ "source_id": c.key.source.as_str(), "slug": c.key.slug.as_str(), "appearances": 2 }]);
        let body = json!({ "schema_version": 1, "verdict": "fail", "total_contradictions_flagged": 2,
            "findings": [finding("p1", a, b), finding("p2", b, c)], "hot_pages": hot,
            "per_query": [{ "query": "e", "contradictions": ["p1", "p2"] }] });
        let run = JudgingRun {
            id: format!("run {n}"),
            at: now(),
            outcome: "whole".to_owned(),
            body: body.to_string(),
        };
        self.store.add_run(self.ws, RunKind::Contradictions, &run)?;
        let probe = JudgingRun { body: json!({ "questions": ["default::e"] }).to_string(), ..run };
        self.store.add_run(self.ws, RunKind::QualityProbe, &probe)?;
        Ok(())
    }

    /// Labels, canonical queries, calibration pairs and qrels.
    fn judge(&mut self) -> Result<()> {
        let (mut trec, mut entries) = (String::new(), Vec::new());
        for n in 0..RECORDS {
            let (a, b) = (self.page(), self.page());
            let label = NewLabel {
                query: format!("q{n}"),
                key: a.key.clone(),
                grade: 1,
                note: None,
                span: None,
                borderline: false,
            };
            self.store.put_labels(self.ws, &[label], "ada", now())?;
            let bare = self.page().key.slug.as_str().to_owned();
            let mut expected = vec![json!(a.key.to_string())];
            expected.extend(self.rng.bool().then(|| json!(bare)));
            expected.extend(self.rng.bool().then(|| json!({ "kind": "chunk", "id": b.chunks[0] })));
            let body = json!({ "schema_version": 1, "id": format!("q{n}"), "query": format!("where is number {n}?"),
                "expected": expected, "expected_snippets": [format!("the {} is seen", a.word)], "state": "active" });
            let query = NewQuery {
                text_hash: Hash::of(format!("{n}").as_bytes()),
                state: QueryState::Active,
                source: "default".to_owned(),
                difficulty: None,
                origin: "manual".to_owned(),
                body: body.to_string(),
            };
            self.store.put_queries(self.ws, &[query], OnDuplicate::Keep, now())?;
            let pair = NewPair {
                query_hash: Hash::of(format!("{n}").as_bytes()),
                chunk_id: b.chunks[0].clone(),
                document: b.key.to_string(),
                label: "borderline".to_owned(),
                body:
                    json!({ "schema_version": 1, "query": "e", "text": format!("the {}", b.word) })
                        .to_string(),
                replaces: Vec::new(),
            };
            self.store.put_pairs(self.ws, &[pair], now())?;
            let judged = |page: &FilledPage| json!({ "source_id": page.key.source.as_str(), "slug": page.key.slug.as_str() });
            entries.push(json!({ "query_id": format!("q{n}"), "query": "where is e?", "relevant": [judged(&a), judged(&b)] }));
            if !a.key.slug.as_str().contains(' ') {
                trec += &format!("q{n} 0 {} 1\n", a.key);
            }
        }
        let gate = json!({ "schema_version": 1, "queries": entries }).to_string();
        for (name, text) in [("gate", gate), ("trec", trec)] {
            self.store.put_document(self.ws, DocumentKind::Qrels, name, &text, now())?;
        }
        Ok(())
    }

    /// Captures, some with scrubbed names, and baselines of them in the store and in the home.
    fn capture(&mut self, home: &Path) -> Result<()> {
        let fields: Vec<CaptureFields> = (0..RECORDS).map(|n| self.captured(n)).collect();
        self.store.add_captures(self.ws, &fields, now())?;
        let mut lines = Vec::new();
        for (fields, id) in fields.into_iter().zip(1..) {
            write_line(&StoredCapture { id, created_at: now(), fields }, &mut lines);
        }
        let mut reader = BaselineReader::keeping_objects();
        for line in std::str::from_utf8(&lines)?.lines() {
            reader.line(line)?;
        }
        let draft = BaselineDraft {
            label: "campaign".to_owned(),
            published_at: now(),
            thresholds: BaselineThresholds::default(),
            why: None,
            previous: None,
            key: None,
        };
        let baseline = publish(reader.finish_publishable()?, &draft)?.text;
        self.store.put_document(self.ws, DocumentKind::Baseline, "nightly", &baseline, now())?;
        // A row does not say of which workspace it is, so only the own workspace's baseline is in the home.
        if *self.ws == WorkspaceId::default() {
            let dir = home.join("baselines/team");
            std::fs::create_dir_all(&dir)?;
            std::fs::write(dir.join("own.baseline.ndjson"), &baseline)?;
            std::fs::write(home.join("baselines/notes.txt"), "default::e is not a row\n")?;
        }
        Ok(())
    }

    fn captured(&mut self, n: usize) -> CaptureFields {
        let count = self.rng.usize(1..6);
        let pages: Vec<FilledPage> = (0..count).map(|_| self.page()).collect();
        let mut slugs: Vec<String> = Vec::new();
        let mut retrieved = Vec::new();
        for page in &pages {
            let source = page.key.source.as_str();
            let is_scrubbed = page.key.slug.as_str().contains("-at-example-com");
            let slug = if is_scrubbed { "people/[REDACTED]" } else { page.key.slug.as_str() };
            let mut one = json!({ "source_id": source, "slug": slug });
            if is_scrubbed {
                one["key_hash"] = self.identity.keyed_page_hash(&page.key).into();
            }
            if !retrieved.contains(&one) {
                retrieved.push(one);
            }
            if !slugs.iter().any(|known| known == slug) {
                slugs.push(slug.to_owned());
            }
        }
        let chunks: Vec<u64> = pages.iter().map(|page| chunk_number(&page.chunks[0])).collect();
        let sources: BTreeSet<&str> = pages.iter().map(|page| page.key.source.as_str()).collect();
        let extra = json!({ "request_version": 1, "retrieved": retrieved, "limit": 10,
            "identity_key_id": self.identity.id(), "synthetic": true });
        CaptureFields {
            tool_name: Operation::Query,
            query: format!("where is e, capture {n}?"),
            retrieved_slugs: json!(slugs).to_string(),
            retrieved_chunk_ids: json!(chunks).to_string(),
            source_ids: json!(sources).to_string(),
            expand_enabled: Some(false),
            detail: None,
            detail_resolved: None,
            vector_enabled: false,
            expansion_applied: false,
            latency_ms: 1.5,
            remote: false,
            job_id: None,
            subagent_id: None,
            extra: extra.to_string(),
        }
    }

    fn answers(&mut self) -> Result<()> {
        let mut answers = Vec::new();
        for n in 0..RECORDS {
            let pages = match n % 4 {
                0 => Some(Vec::new()),
                1 => None,
                _ => Some(self.keys(2)),
            };
            let key = Hash::of(format!("answer {n}").as_bytes());
            answers.push(ModelAnswer { key, body: format!("\"{n}\""), pages });
        }
        let until = Timestamp::from_millisecond(9_000_000_000_000).unwrap_or_default();
        Ok(self.store.store_model_answers(
            self.ws,
            AnswerKind::Contradiction,
            &answers,
            now(),
            until,
        )?)
    }

    fn audit(&mut self, home: &Path) -> Result<()> {
        let dir = home.join("audit");
        std::fs::create_dir_all(&dir)?;
        let path = dir.join("access-2026-W20.jsonl");
        let mut lines = std::fs::read_to_string(&path).unwrap_or_default();
        for _ in 0..RECORDS {
            let target = self.page().key.to_string();
            let line: Value = json!({ "schema_version": 1, "action": "put_page", "workspace": self.ws.as_str(),
                "by": "ci", "target": target });
            lines += &format!("{line}\n");
        }
        Ok(std::fs::write(path, lines)?)
    }
}

/// The number of a passage in a capture, as the contract of captures defines it.
pub(super) fn chunk_number(id: &str) -> u64 {
    let Hash(bytes) = Hash::of(id.as_bytes());
    let first: [u8; 8] = std::array::from_fn(|at| bytes[at]);
    u64::from_be_bytes(first) >> 11
}
