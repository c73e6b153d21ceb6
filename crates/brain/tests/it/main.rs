//! The brain as a library: what the command line can't reach.

#![expect(clippy::unwrap_used, reason = "a step of a test that fails has failed the test")]

mod behind;
mod cache;
mod expand;
mod import;
mod remote;
mod rerank;
mod stopping;

use std::sync::Arc;

use gbrain_brain::{
    Brain, BrainError, BrainOptions, IndexKind, QueryOptions, QueryResponse, WorkspaceOptions,
};
use gbrain_core::id::{PageKey, SourceId, WorkspaceId};
use gbrain_core::page::PageFormat;
use gbrain_core::request::{Expansion, Filter, Operation, Request, RetrievalMode, Viewer};
use gbrain_core::search::Settings;
use gbrain_index::Models;
use gbrain_store::{Location, OpenMode, Store, StoreError};
use jiff::Timestamp;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn empty_brain(dir: &std::path::Path, index: IndexKind, models: Models) -> Brain {
    let options = BrainOptions {
        location: Location::Sqlite(dir.join("brain.db")),
        mode: OpenMode::Init,
        index,
        index_dir: dir.join("index"),
        workspace: WorkspaceId::default(),
        models,
    };
    Brain::open(options, NOW).unwrap()
}

fn brain(dir: &std::path::Path) -> Brain {
    let brain = empty_brain(dir, IndexKind::Memory, gbrain_brain::built_in_models());
    fill(&brain);
    brain
}

fn fill(brain: &Brain) {
    for (slug, text) in [
        ("a", "the ferry and the quay and the ferry"),
        ("b", "a ferry at a far away quay where other things are said too"),
        ("lighthouse", "nothing of the sort"),
        ("c", "a lighthouse is taller than a ferry"),
    ] {
        put(brain, slug, text);
    }
}

fn put(brain: &Brain, slug: &str, text: &str) {
    let key = PageKey::parse(slug, &SourceId::default()).unwrap();
    brain.put(&key, text, PageFormat::Markdown, NOW).unwrap();
}

fn request(query: &str) -> Request {
    Request {
        operation: Operation::Query,
        query: query.to_owned(),
        limit: 10,
        detail: None,
        mode: RetrievalMode::Knowledge,
        filter: Filter { trust: Viewer::Trusted, ..Filter::default() },
        vectors: false,
        expansion: Expansion::Off,
        now: NOW,
        settings: Settings::default(),
    }
}

fn plain(brain: &Brain, query: &str) -> QueryResponse {
    brain.answer(&request(query), &QueryOptions::default()).unwrap()
}

fn slugs(answered: &QueryResponse) -> Vec<&str> {
    answered.ranking.hits.iter().map(|hit| hit.key.slug.as_str()).collect()
}

fn degraded(answered: &QueryResponse) -> Vec<(&str, &str)> {
    answered.ranking.degraded.iter().map(|d| (d.stage, d.reason)).collect()
}

#[test]
fn brains_of_many_workspaces_share_a_store() {
    let dir = tempfile::tempdir().unwrap();
    let first = brain(dir.path());
    let location = Location::Sqlite(dir.path().join("brain.db"));
    let store: Arc<Store> =
        gbrain_store::Store::open(&location, OpenMode::Use, NOW).unwrap().into();
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
    assert!(slugs(&plain(&second, "ferry")).is_empty());
    put(&second, "theirs", "another ferry");
    assert_eq!(slugs(&plain(&second, "ferry")), ["theirs"]);
    assert_eq!(slugs(&plain(&first, "ferry quay")), ["a", "b", "c"]);
}
