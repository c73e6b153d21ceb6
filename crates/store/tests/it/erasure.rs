//! Purging: a page leaves every generation, every row and every file.

use gbrain_core::id::Generation;
use gbrain_core::page::Page;
use gbrain_store::{
    CaptureFilter, Known, Location, NewPair, NewQuery, NewSuiteRun, QueryFilter, RetrievalFilter,
    Store,
};

use crate::captures::capture;
use crate::database::Database;
use crate::feed::Follower;
use crate::fixture::*;
use crate::playbook::{new_run, pair, query, retrieval};

on_both_engines! {
    a_purged_page_leaves_every_generation,
    readers_behind_a_purge_agree_with_every_root,
    a_purged_name_can_be_used_again,
    a_purged_page_takes_what_suites_kept_of_it,
}

const MARKER: &str = "xyzzy-plugh-erase-me";

fn marked(name: &str) -> Page {
    let mut page = full(name, &format!("{MARKER} in the text {}", "and more ".repeat(2000)));
    page.title = format!("{MARKER} title");
    page.aliases.push(format!("{MARKER} alias"));
    page.takes[0].claim = format!("{MARKER} claim");
    page.chunks[0].section = format!("{MARKER} section");
    page.links[0].target = format!("{MARKER} target");
    page
}

fn a_purged_page_leaves_every_generation(db: &Database) {
    let store = db.open();
    let (kept, also) = (plain("kept", "1"), plain("also", "2"));
    let id = write(&*store, &[&kept, &marked("gone")], 1)[1].id;
    write(&*store, &[&plain("gone", "second text")], 2);
    write(&*store, &[&also], 3);
    let purged = store.purge_page(&ws(), &key("gone"), at(4)).unwrap();
    assert_eq!((purged.versions, purged.generation), (2, Generation(5)));
    assert_eq!(store.page(&ws(), &key("gone")).unwrap(), None);
    assert_eq!(store.history(&ws(), &key("gone")).unwrap(), []);
    assert_eq!(store.head(&ws()).unwrap().root, root([&kept, &also]));
    let past = store.head_at(&ws(), Generation(2)).unwrap().unwrap();
    assert_eq!((past.pages, past.root), (1, root([&kept])));
    let batch = store.changes(&ws(), Generation(0), 100, 1 << 20).unwrap();
    assert_eq!(batch.removals, [id]);
    assert_eq!(batch.upserts.len(), 2);
    assert_sound(&*store);
}

fn readers_behind_a_purge_agree_with_every_root(db: &Database) {
    let store = db.open();
    let mut behind: Vec<Follower> = Vec::new();
    for step in 0..6 {
        let mut follower = Follower::default();
        follower.catch_up(&*store, 100);
        behind.push(follower);
        match step {
            3 => drop(store.delete_pages(&ws(), &[key("gone")], at(step)).unwrap()),
            _ => {
                let page = full("gone", &format!("text {step}"));
                // Another page's change comes first: the purge must reach readers before their turn.
                write(&*store, &[&plain(&format!("p{step}"), "x"), &page], step);
            }
        }
    }
    store.purge_page(&ws(), &key("gone"), at(9)).unwrap();
    for mut follower in behind {
        // One change at a time: every intermediate root is checked on the way.
        follower.catch_up(&*store, 1);
        assert_eq!(follower.pages.len(), 5);
    }
    assert_sound(&*store);
}

fn a_purged_name_can_be_used_again(db: &Database) {
    let store = db.open();
    let old = write(&*store, &[&plain("a", "old")], 1)[0];
    store.delete_pages(&ws(), &[key("a")], at(2)).unwrap();
    store.purge_page(&ws(), &key("a"), at(3)).unwrap();
    let new = write(&*store, &[&plain("a", "new")], 4)[0];
    assert_eq!(new.version, 1);
    assert_ne!(new.id, old.id, "numbers are never used again");
    assert_sound(&*store);
}

/// Rows that hold text of a page, and name it in one of the ways in which pages are named.
fn keep_text_of(store: &dyn Store, name: &str, text: &str) {
    let body = serde_json::json!({ "results": [{ "document": name, "snippet": text }] });
    let run = NewSuiteRun { report: body.to_string(), ..new_run("smoke", None) };
    store.add_suite_run(&ws(), &run, at(1)).unwrap();
    let mut log = retrieval("q", 1);
    log.fields.body = Some(body.to_string());
    log.feedback[0].comment = Some(text.to_owned());
    store.add_retrieval_logs(&ws(), &[log], at(1)).unwrap();
    let expected = serde_json::json!({ "expected": [{ "id": name }], "snippets": [text] });
    let query = NewQuery { body: expected.to_string(), ..query(name) };
    store.put_queries(&ws(), &[query], Known::Keep, at(1)).unwrap();
    let body = serde_json::json!({ "chunk_text": text }).to_string();
    store.put_pairs(&ws(), &[NewPair { body, ..pair("q", name) }], at(1)).unwrap();
}

fn a_purged_page_takes_what_suites_kept_of_it(db: &Database) {
    let store = db.open();
    let odd = "people/\"a_b\"";
    write(&*store, &[&plain(odd, "x"), &plain("people/axb", "y"), &plain("go", "z")], 1);
    let chunk = store.page(&ws(), &key("go")).unwrap().unwrap().page.chunks[0].id(&key("go"));
    let names =
        [odd, &format!("default::{odd}"), &format!("{odd}#3"), "people/axb", "lego", &chunk];
    for name in names {
        keep_text_of(&*store, name, &format!("text of {name}"));
    }
    let left = || {
        let runs = store.suite_runs_after(&ws(), 0, 9).unwrap();
        let reports = runs
            .iter()
            .filter(|run| store.suite_run(&ws(), run.id).unwrap().unwrap().report.is_some());
        let logs = store.retrieval_logs(&ws(), &RetrievalFilter::default()).unwrap();
        let bodies = logs.iter().filter(|log| log.fields.body.is_some()).count();
        let ids: Vec<i64> = logs.iter().map(|log| log.id).collect();
        let words = store.feedback(&ws(), &ids).unwrap().concat();
        let comments = words.iter().filter(|word| word.comment.is_some()).count();
        let queries = store.canonical_queries(&ws(), &QueryFilter::default(), 9).unwrap().len();
        let pairs = store.pairs(&ws(), None, 9).unwrap().len();
        assert_eq!((runs.len(), logs.len(), words.len()), (6, 6, 12), "the figures stay");
        (reports.count(), bodies, comments, queries, pairs)
    };
    assert_eq!(left(), (6, 6, 12, 6, 6));
    store.purge_page(&ws(), &key(odd), at(2)).unwrap();
    assert_eq!(left(), (3, 3, 6, 3, 3));
    // A short name is in many words: reports and logs do without, but nobody's work is lost.
    store.purge_page(&ws(), &key("go"), at(3)).unwrap();
    assert_eq!(left(), (2, 2, 4, 2, 2));
    let queries = store.canonical_queries(&ws(), &QueryFilter::default(), 9).unwrap();
    assert!(queries.iter().any(|query| query.body.contains("lego")));
    assert_sound(&*store);
}

#[test]
fn purged_bytes_leave_the_sqlite_files() {
    let db = Database::sqlite();
    let store = db.open();
    for n in 0..20 {
        write(&*store, &[&marked("gone"), &full(&format!("p{n}"), "stays")], n);
        write(&*store, &[&plain("gone", &format!("version {n} of {MARKER}"))], n);
        keep_text_of(&*store, "default::gone", &format!("{MARKER} {n}"));
    }
    assert!(holds_marker(&db));
    let purged = store.purge_page(&ws(), &key("gone"), at(30)).unwrap();
    assert!(purged.scrubbed && purged.versions == 40);
    assert!(!holds_marker(&db));
    assert_sound(&*store);
}

#[test]
fn pruned_captures_leave_the_sqlite_files() {
    let db = Database::sqlite();
    let store = db.open();
    for n in 0..20 {
        let captures = [capture(&format!("{MARKER} {n}")), capture("stays")];
        store.add_captures(&ws(), &captures, at(n)).unwrap();
        store.close_captures(&ws(), at(n)).unwrap();
    }
    assert!(holds_marker(&db));
    let filter = CaptureFilter { until: Some(at(30)), ..CaptureFilter::default() };
    assert_eq!(store.prune_captures(&ws(), &filter).unwrap(), 40);
    assert!(!holds_marker(&db));
    assert_sound(&*store);
}

/// Whether any of the database's files holds what was to be erased.
fn holds_marker(db: &Database) -> bool {
    let Location::Sqlite(path) = db.location() else { unreachable!() };
    let files = std::fs::read_dir(path.parent().unwrap()).unwrap();
    files
        .map(|file| std::fs::read(file.unwrap().path()).unwrap())
        .any(|bytes| bytes.windows(MARKER.len()).any(|window| window == MARKER.as_bytes()))
}
