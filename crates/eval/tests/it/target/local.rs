//! The local brain as a target.

use std::path::Path;
use std::sync::Arc;

use gbrain_brain::import::{ImportOptions, StoredTexts, import};
use gbrain_brain::{Assistants, Brain, IndexKind, WorkspaceOptions, built_in_models};
use gbrain_core::id::{SourceId, WorkspaceId};
use gbrain_core::replay::LiveContext;
use gbrain_core::request::{RetrievalMode, Viewer};
use gbrain_core::search::Settings;
use gbrain_core::target::{Question, QuestionFilter, TargetErrorKind};
use gbrain_eval::retriever::{LocalOptions, LocalRetriever, Retriever as _};
use gbrain_llm::{ModelClient, ModelLimits, Prices, Providers, Spending};
use gbrain_store::{Location, OpenMode, Store};
use gbrain_testkit::providers::{Fault, ProviderServer};
use jiff::Timestamp;
use serde_json::json;

use super::conformance::{Expected, TEXTS, conforms};

struct Site {
    brain: Brain,
    store: Arc<Store>,
    _dir: tempfile::TempDir,
}

impl Site {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (now, workspace) = (Timestamp::UNIX_EPOCH, WorkspaceId::default());
        let location = Location::Sqlite(dir.path().join("brain.db"));
        let store: Arc<Store> =
            gbrain_store::Store::open(&location, OpenMode::Use, now).unwrap().into();
        let options = WorkspaceOptions {
            index: IndexKind::Memory,
            index_dir: dir.path().join("index"),
            workspace,
            models: built_in_models(),
        };
        let brain = Brain::with_store(store.clone(), options).unwrap();
        let source = SourceId::new("wiki").unwrap();
        brain.ensure_source(&source, now).unwrap();
        let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/demo/wiki");
        let options = ImportOptions {
            source,
            threads: Some(1),
            allow_empty: false,
            halt: None,
            stored: StoredTexts::Check,
        };
        import(&brain, &[demo], &options, now, &|_| ()).unwrap();
        Self { brain, store, _dir: dir }
    }

    fn ask<'a>(
        &self,
        settings: Settings,
        assistants: Option<&'a Assistants>,
    ) -> LocalRetriever<'a> {
        let live = LiveContext { settings, now: Timestamp::UNIX_EPOCH };
        let options = LocalOptions { live, viewer: Viewer::Trusted, assistants };
        LocalRetriever::newest(&self.brain, options, &|_, _| ()).unwrap()
    }

    /// A reranker that counts common words.
    fn assistants(&self, server: &ProviderServer) -> Assistants {
        let entry = json!({ "base_url": format!("{}/v1", server.url()), "key_env": "KEY" });
        let providers = json!({ "jina": entry });
        let providers = Providers::with(providers.as_object().unwrap()).unwrap();
        let price = json!({ "input_usd_per_million": 1, "output_usd_per_million": 1, "source": "a test", "date": "2026-01-01" });
        let prices = Prices::parse(&json!({ "jina:judge": price }).to_string()).unwrap();
        let key = |name: &str| (name == "KEY").then(|| "a-key".to_owned());
        let client = ModelClient::new(providers, prices, ModelLimits::default(), Arc::new(key));
        let spending = Spending {
            store: self.store.clone(),
            workspace: WorkspaceId::default(),
            budget: None,
            per_day: Some("1".parse().unwrap()),
            purpose: "test".to_owned(),
        };
        let client = client.spending(spending);
        let model = "jina:judge".parse().unwrap();
        Assistants::new(client, self.store.clone(), WorkspaceId::default(), None, Some(model))
    }
}

fn settings(threshold: &str) -> Settings {
    let mut settings = Settings::default();
    settings.set("rerank_threshold", threshold).unwrap();
    settings
}

#[test]
fn the_local_brain_conforms() {
    let site = Site::new();
    let ask = site.ask(Settings::default(), None);
    // Its answers must be deterministic; other corpora are not available.
    let expected = |text: &&str| {
        let question = Question::new(*text, 8);
        let found = ask.retrieve(&question).unwrap().results;
        Expected {
            question,
            documents: found.iter().map(|found| found.document.clone()).collect(),
            scores: found.iter().map(|found| found.score).collect(),
            snippets: found.iter().map(|found| found.snippet.clone()).collect(),
        }
    };
    let world: Vec<Expected> = TEXTS.iter().map(expected).collect();
    assert!(world.iter().filter(|expected| expected.documents.len() > 2).count() >= 3);
    conforms(&ask, &world);
}

#[test]
fn it_tells_what_every_stage_had() {
    let site = Site::new();
    let ask = site.ask(Settings::default(), None);
    let answer = ask.retrieve(&Question::new("Kittle Island blackout", 3)).unwrap();
    let stages = answer.stages.unwrap();
    let first = &answer.results[0];
    assert_eq!(first.document, "wiki::incidents/2026-04-17-kittle-island-blackout");
    // Stages saw more than the answer has, in an order of their own.
    assert!(stages.lexical.len() > 3 && stages.vector.len() > 3, "{stages:?}");
    assert!(stages.lexical.contains(&first.document) && stages.vector.contains(&first.document));
    assert_eq!(stages.rerank, []);
    assert!(
        first
            .text
            .as_ref()
            .unwrap()
            .contains(first.snippet.as_ref().unwrap().trim_matches('…').trim())
    );
    let timings = answer.timings;
    assert!(timings.lexical_ms.is_some() && timings.dense_ms.is_some());
    assert!(timings.hydration_ms.is_some() && timings.rerank_ms.is_none());
    assert!(timings.total_ms.unwrap() <= answer.latency_ms, "{timings:?} {}", answer.latency_ms);
    assert_eq!((answer.threshold, answer.threshold_applied, answer.attempts), (None, None, 1));
}

#[test]
fn it_tells_why() {
    let site = Site::new();
    let ask = site.ask(Settings::default(), None);
    let question = Question {
        rationale: true,
        mode: Some(RetrievalMode::Graph),
        ..Question::new("who owns the berth planner?", 5)
    };
    let answer = ask.retrieve(&question).unwrap();
    assert_eq!(answer.mode, Some(RetrievalMode::Graph));
    let rationale = answer.rationale.unwrap();
    // The front matter says who owns it, and a passage who of them does.
    let owners = || rationale.edges.iter().filter(|edge| edge.kind == "owned_by");
    let owned = owners().find(|edge| edge.to == "wiki::teams/routing").unwrap();
    assert!(owners().any(|edge| !edge.evidence.is_empty()), "{:?}", rationale.edges);
    let team = rationale.entities.iter().find(|entity| entity.id == owned.to).unwrap();
    assert!(!team.aliases.is_empty(), "{team:?}");
    assert_eq!(ask.retrieve(&Question::new("berth planner", 5)).unwrap().rationale, None);
}

#[test]
fn it_tells_what_a_threshold_did() {
    let site = Site::new();
    let server = ProviderServer::start(|_| String::new(), |_| Fault::None).unwrap();
    let assistants = site.assistants(&server);
    let asked = |threshold: &str| {
        let ask = site.ask(settings(threshold), Some(&assistants));
        ask.retrieve(&Question::new("a blackout on the island zeppelin", 20)).unwrap()
    };
    let (all, some, none) = (asked("0"), asked("0.8"), asked("1"));
    assert_eq!((all.threshold, all.threshold_applied), (None, None));
    assert!(all.timings.rerank_ms.is_some());
    assert_eq!((some.threshold, some.threshold_applied), (Some(0.8), Some(true)));
    assert!(some.results.len() < all.results.len());
    // Omitted results are still listed as judged.
    let stages = some.stages.unwrap();
    let left_out = stages.rerank.iter().find(|judged| judged.score < Some(0.8)).unwrap();
    assert!(some.results.iter().all(|found| found.document != left_out.document));
    // Where nothing is good enough nothing is left out, and that is told.
    let best = stages.rerank.iter().filter_map(|judged| judged.score).fold(0.0, f64::max);
    assert!(best < 1.0, "{best}");
    assert_eq!((none.threshold, none.threshold_applied), (Some(1.0), Some(false)));
    assert_eq!(
        (none.results.len(), none.fallback_stages()),
        (all.results.len(), vec!["rerank".to_owned()])
    );
}

#[test]
fn a_model_that_fails_is_a_fallback() {
    let site = Site::new();
    let server = ProviderServer::start(|_| String::new(), |_| Fault::Status(400, None)).unwrap();
    let assistants = site.assistants(&server);
    let answer =
        site.ask(settings("0.5"), Some(&assistants)).retrieve(&Question::new("island", 5)).unwrap();
    assert_eq!(answer.fallback_stages(), ["rerank"]);
    assert_eq!((answer.threshold, answer.timings.rerank_ms), (None, None));
}

#[test]
fn unsupported_options_are_reported() {
    let site = Site::new();
    let ask = site.ask(Settings::default(), None);
    let kind = |question: Question| ask.retrieve(&question).map_err(|error| error.kind);
    let filter = |filter: QuestionFilter| Question { filter, ..Question::new("island", 5) };
    let words = |text: &str| vec![text.to_owned()];
    let bad = QuestionFilter { sources: words("Not A Source"), ..QuestionFilter::default() };
    assert_eq!(kind(filter(bad)).err(), Some(TargetErrorKind::BadRequest));
    let authors = QuestionFilter { authors: words("ada"), ..QuestionFilter::default() };
    assert_eq!(kind(filter(authors)).unwrap().not_asked, ["filter.authors"]);
    let types = QuestionFilter { types: words("incident"), ..QuestionFilter::default() };
    let found = kind(filter(types)).unwrap();
    assert!(found.results.iter().all(|found| found.document.starts_with("wiki::incidents/")));
    let workspace =
        |name: &str| Question { workspace: Some(name.to_owned()), ..Question::new("x", 5) };
    assert_eq!(kind(workspace("other")).err(), Some(TargetErrorKind::Unsupported));
    assert!(kind(workspace("default")).is_ok());
}
