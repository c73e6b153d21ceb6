//! An index that is behind because another process writes it: what untrusted callers still find.

use std::path::Path;
use std::time::Duration;

use gbrain_brain::{Brain, BrainError, IndexKind, QueryOptions, built_in_models};
use gbrain_core::request::{Operation, Request, Viewer};
use gbrain_index::{DiskIndex, Index as _, Writer};

use super::{NOW, empty_brain, put, request};

/// Holds the index of a brain, as another process that writes it does.
fn hold_index(dir: &Path, brain: &Brain) -> Box<dyn Writer> {
    let mut indexes = std::fs::read_dir(dir.join("index")).unwrap();
    let path = indexes.next().unwrap().unwrap().path();
    let identity = brain.store().identity();
    let index = DiskIndex::open(&path, identity, built_in_models(), Duration::ZERO).unwrap();
    index.writer(Duration::ZERO).unwrap()
}

fn key(slug: &str) -> gbrain_core::id::PageKey {
    gbrain_core::id::PageKey::parse(slug, &Default::default()).unwrap()
}

fn untrusted(query: &str, operation: Operation) -> Request {
    let mut request =
        Request { operation, vectors: operation == Operation::Query, ..request(query) };
    request.filter.trust = Viewer::Untrusted;
    request
}

/// Everything that an untrusted caller is told, for every kind of question.
fn told(brain: &Brain) -> String {
    let mut told = String::new();
    for operation in [Operation::Search, Operation::Query] {
        for query in ["ferry", "who mentions the harbour", "harbour", "zanzibar ferry", "old pier"]
        {
            let ask = QueryOptions { explain: true, ..QueryOptions::default() };
            let answered = brain.answer(&untrusted(query, operation), &ask).unwrap();
            assert!(answered.served.behind > 0, "{query}");
            told.push_str(&format!("{:?}\n", answered.ranking.hits));
            told.push_str(&format!(
                "{:?}\n",
                answered.ranking.relation.map(|found| found.resolved)
            ));
        }
    }
    for slug in ["hub", "quay"] {
        told.push_str(&format!(
            "{:?}\n",
            brain.links(&key(slug), Viewer::Untrusted, &|| false).unwrap().edges
        ));
    }
    told
}

/// The reason that an untrusted caller gets for a missing page, without its name.
fn why_not(brain: &Brain, slug: &str) -> String {
    let ask = QueryOptions { why_not: Some(key(slug)), ..QueryOptions::default() };
    let answered = brain.answer(&untrusted("ferry", Operation::Query), &ask).unwrap();
    format!("{:?}", answered.ranking.why_not).replace(slug, "NAME")
}

#[test]
fn pages_that_were_made_private_deleted_or_purged_are_not_found_while_another_process_indexes() {
    let dir = tempfile::tempdir().unwrap();
    let brain = empty_brain(dir.path(), IndexKind::Disk, built_in_models());
    put(&brain, "harbour", "# Harbour\n\nthe zanzibar ferry mentions [[quay]]");
    put(&brain, "pier", "# Old pier\n\na gibraltar ferry near [[quay]]");
    put(&brain, "dock", "# Old dock\n\na madagascar ferry near [[quay]]");
    put(&brain, "quay", "# Quay\n\na ferry stops here");
    put(&brain, "hub", "# Hub\n\nfrom here to [[harbour]], [[pier]], [[dock]] and [[quay]]");
    let before =
        brain.answer(&untrusted("ferry", Operation::Search), &QueryOptions::default()).unwrap();
    assert_eq!(before.ranking.hits.len(), 4);
    let held = hold_index(dir.path(), &brain);

    put(&brain, "harbour", "---\nvisibility: private\n---\n# Harbour\n\nthe zanzibar ferry");
    brain.store().delete_pages(brain.workspace(), &[key("pier")], NOW).unwrap();
    let hidden =
        ["zanzibar", "default::harbour", "slug: Slug(\"harbour", "gibraltar", "Slug(\"pier"];
    let seen = told(&brain);
    for text in hidden {
        assert!(!seen.contains(text), "{text} is in {seen}");
    }
    assert!(seen.contains("madagascar") && seen.contains("stops here"));
    for gone in ["harbour", "pier"] {
        let error = brain.links(&key(gone), Viewer::Untrusted, &|| false).unwrap_err();
        assert!(matches!(error, BrainError::NoPage { .. }), "{error:?}");
        assert_eq!(why_not(&brain, gone), why_not(&brain, "nowhere"), "{gone}");
    }
    // The owner still finds the private page, and not the deleted one.
    let own = brain.answer(&request("ferry"), &QueryOptions::default()).unwrap();
    let own: Vec<&str> = own.ranking.hits.iter().map(|hit| hit.key.slug.as_str()).collect();
    assert!(own.contains(&"harbour") && !own.contains(&"pier"), "{own:?}");

    // A purge changes the past: nothing of the index is believed but what the store holds too.
    brain.store().purge_page(brain.workspace(), &key("dock"), NOW).unwrap();
    let seen = told(&brain);
    for text in hidden.into_iter().chain(["madagascar", "Slug(\"dock"]) {
        assert!(!seen.contains(text), "{text} is in {seen}");
    }
    assert!(seen.contains("stops here"));

    drop(held);
    let caught_up =
        brain.answer(&untrusted("ferry", Operation::Search), &QueryOptions::default()).unwrap();
    assert_eq!((caught_up.served.behind, caught_up.ranking.hits.len()), (0, 1));
}
