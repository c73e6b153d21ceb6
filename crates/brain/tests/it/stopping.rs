//! A retrieval whose caller has left ends in any stage.

use std::cell::Cell;

use gbrain_brain::{BrainError, IndexKind, QueryOptions, built_in_models};
use gbrain_core::id::{PageKey, SourceId};
use gbrain_core::page::{Page, PageFormat, PageInput, parse};
use gbrain_core::request::Viewer;
use gbrain_store::PageWrite;

use super::{NOW, brain, empty_brain, put, request};

/// Requests a stop after a number of checks.
fn after(calls: usize) -> impl Fn() -> bool {
    let left = Cell::new(calls);
    move || match left.get() {
        0 => true,
        some => {
            left.set(some - 1);
            false
        }
    }
}

#[test]
fn a_retrieval_stops_at_every_step() {
    let dir = tempfile::tempdir().unwrap();
    let brain = brain(dir.path());
    put(&brain, "quay", "The [[lighthouse]] is at the [[a]] and the [[b]].");
    let asked = request("what is connected to the lighthouse?");
    let whole = brain.answer(&asked, &QueryOptions::default()).unwrap();
    let mut steps = 0;
    let answered = loop {
        let is_stopped = after(steps);
        match brain
            .answer(&asked, &QueryOptions { is_stopped: &is_stopped, ..QueryOptions::default() })
        {
            Ok(answered) => break answered,
            Err(error) => assert!(matches!(error, BrainError::Halted), "{error}"),
        }
        steps += 1;
    };
    assert_eq!(answered.ranking, whole.ranking, "asking changes nothing");
    assert!(steps >= 8, "it was asked {steps} times only");
}

#[test]
fn a_walk_along_many_links_stops() {
    let dir = tempfile::tempdir().unwrap();
    let brain = brain(dir.path());
    let links: String = (0..500).map(|n| format!("[[page-{n}]] ")).collect();
    put(&brain, "hub", &links);
    let key = PageKey::parse("hub", &SourceId::default()).unwrap();
    assert_eq!(brain.links(&key, Viewer::Trusted, &|| false).unwrap().unresolved.len(), 500);
    for calls in [0, 1, 250, 499, 700] {
        let stopped = brain.links(&key, Viewer::Trusted, &after(calls));
        assert!(matches!(stopped, Err(BrainError::Halted)), "{calls}");
    }
}

/// Answers that are given up one after the other still bring the index up to the store.
#[test]
fn pages_indexed_before_a_stop_remain() {
    const PAGES: usize = 4_500;
    let dir = tempfile::tempdir().unwrap();
    let brain = empty_brain(dir.path(), IndexKind::Memory, built_in_models());
    let page = |n: usize| -> Page {
        let key = PageKey::parse(&format!("n/{n}"), &SourceId::default()).unwrap();
        parse(PageInput { key, file_name: None, content: "boats", format: PageFormat::Markdown })
            .unwrap()
    };
    let pages: Vec<Page> = (0..PAGES).map(page).collect();
    let writes: Vec<PageWrite<'_>> =
        pages.iter().map(|page| PageWrite { page, origin: None }).collect();
    brain.store().write_pages(brain.workspace(), &writes, NOW).unwrap();
    let mut reached = vec![0];
    loop {
        // The first call is made before the index is looked at, the second after the first batch.
        let is_stopped = after(1);
        let ask = QueryOptions { is_stopped: &is_stopped, ..QueryOptions::default() };
        let stopped = brain.answer(&request("boats"), &ask);
        assert!(matches!(stopped, Err(BrainError::Halted)));
        let generation = brain.index_report().unwrap().generation;
        if generation as usize == PAGES {
            break;
        }
        assert!(generation > *reached.last().unwrap(), "{reached:?} {generation}");
        reached.push(generation);
    }
    assert!(reached.len() >= 3, "{reached:?}");
}
