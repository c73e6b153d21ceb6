//! The brain as a library: what the command line can't reach.

#![expect(clippy::unwrap_used, reason = "a step of a test that fails has failed the test")]

use std::sync::Arc;

use gbrain_brain::{
    Answered, Ask, Brain, BrainError, BrainOptions, IndexKind, Judged, Rerank, WorkspaceOptions,
};
use gbrain_core::id::{PageKey, SourceId, WorkspaceId};
use gbrain_core::page::Format;
use gbrain_core::request::{Filter, Operation, Request, RetrievalMode, Trust};
use gbrain_core::search::Settings;
use gbrain_store::{Location, OpenMode, Store, StoreError};
use jiff::Timestamp;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn brain(dir: &std::path::Path) -> Brain {
    let options = BrainOptions {
        location: Location::Sqlite(dir.join("brain.db")),
        mode: OpenMode::Init,
        index: IndexKind::Memory,
        index_dir: dir.join("index"),
        workspace: WorkspaceId::default(),
        models: gbrain_brain::built_in_models(),
    };
    let brain = Brain::open(options, NOW).unwrap();
    for (slug, text) in [
        ("a", "the ferry and the quay and the ferry"),
        ("b", "a ferry at a far away quay where other things are said too"),
        ("lighthouse", "nothing of the sort"),
        ("c", "a lighthouse is taller than a ferry"),
    ] {
        let key = PageKey::parse(slug, &SourceId::default()).unwrap();
        brain.put(&key, text, Format::Markdown, NOW).unwrap();
    }
    brain
}

fn ask(brain: &Brain, query: &str, rerank: Option<&Rerank<'_>>) -> Answered {
    let request = Request {
        operation: Operation::Query,
        query: query.to_owned(),
        limit: 10,
        detail: None,
        mode: RetrievalMode::Knowledge,
        filter: Filter { trust: Trust::Trusted, ..Filter::default() },
        vectors: false,
        now: NOW,
        settings: Settings::default(),
    };
    let ask = Ask { explain: true, why_not: None, rerank, progress: &|_, _| () };
    brain.answer(&request, &ask).unwrap()
}

fn slugs(answered: &Answered) -> Vec<&str> {
    answered.ranking.hits.iter().map(|hit| hit.key.slug.as_str()).collect()
}

#[test]
fn a_judge_reorders_what_is_found_but_not_what_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let brain = brain(dir.path());
    assert_eq!(slugs(&ask(&brain, "ferry quay", None)), ["a", "b", "c"]);
    let longest = |_: &str, judged: &[Judged]| {
        Ok(judged.iter().map(|judged| judged.text.len() as f64).collect())
    };
    let answered = ask(&brain, "ferry quay", Some(&longest));
    assert_eq!(slugs(&answered), ["b", "a", "c"]);
    assert!(answered.ranking.hits[0].trace.iter().any(|step| step.stage == "rerank"));
    assert_eq!(slugs(&ask(&brain, "lighthouse", Some(&longest)))[0], "lighthouse");
}

#[test]
fn a_judge_that_fails_is_named_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let brain = brain(dir.path());
    let judges: [(&Rerank<'_>, &str); 3] = [
        (&|_, _| Err("down".to_owned()), "failed"),
        (&|_, _| Ok(vec![1.0]), "bad_scores"),
        (&|_, judged| Ok(vec![f64::NAN; judged.len()]), "bad_scores"),
    ];
    for (judge, reason) in judges {
        let answered = ask(&brain, "ferry quay", Some(judge));
        assert_eq!(slugs(&answered), ["a", "b", "c"]);
        let degraded = &answered.ranking.degraded;
        assert!(degraded.iter().any(|d| d.stage == "rerank" && d.reason == reason), "{degraded:?}");
    }
}

#[test]
fn brains_of_many_workspaces_share_a_store() {
    let dir = tempfile::tempdir().unwrap();
    let first = brain(dir.path());
    let location = Location::Sqlite(dir.path().join("brain.db"));
    let store: Arc<dyn Store> = gbrain_store::open(&location, OpenMode::Use, NOW).unwrap().into();
    let in_workspace = |name: &str| WorkspaceOptions {
        index: IndexKind::Disk,
        index_dir: dir.path().join("index"),
        workspace: WorkspaceId::new(name).unwrap(),
        models: gbrain_brain::built_in_models(),
    };
    let missing = Brain::with_store(store.clone(), in_workspace("team")).err().unwrap();
    assert!(matches!(missing, BrainError::Store(StoreError::UnknownWorkspace(_))), "{missing:?}");
    assert!(!dir.path().join("index").exists(), "no index was made for it");
    store.add_workspace(&WorkspaceId::new("team").unwrap(), NOW).unwrap();
    let second = Brain::with_store(store.clone(), in_workspace("team")).unwrap();
    assert!(slugs(&ask(&second, "ferry", None)).is_empty());
    let key = PageKey::parse("theirs", &SourceId::default()).unwrap();
    second.put(&key, "another ferry", Format::Markdown, NOW).unwrap();
    assert_eq!(slugs(&ask(&second, "ferry", None)), ["theirs"]);
    assert_eq!(slugs(&ask(&first, "ferry quay", None)), ["a", "b", "c"]);
}
