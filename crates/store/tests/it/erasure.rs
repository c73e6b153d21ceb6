//! Purging: a page is removed from every generation, every row and every file.

use gbrain_core::capture::CaptureFields;
use gbrain_core::gate::Verdict;
use gbrain_core::hash::Hash;
use gbrain_core::id::{Generation, PageKey, SourceId};
use gbrain_core::page::Page;
use gbrain_store::{
    CaptureFilter, DocumentKind, JobOutcome, Location, NewJob, NewPair, NewQuery, NewSuiteRun,
    OnDuplicate, QueryFilter, QueryState, RetrievalFilter, SourceTrust, Store,
};
use serde_json::json;

use crate::captures::{capture, read};
use crate::database::Database;
use crate::feed::Follower;
use crate::fixture::*;
use crate::jobs::{add, claim, new_job};
use crate::judgements::label;
use crate::playbook::{new_run, pair, query, retrieval};

on_both_engines! {
    a_purged_page_leaves_every_generation,
    readers_behind_a_purge_agree_with_every_root,
    a_purged_name_can_be_used_again,
    a_purged_page_takes_its_name_and_nothing_else,
    a_query_keeps_its_other_keys,
    a_bare_key_is_of_the_source_that_still_has_it,
    labels_captures_qrels_and_jobs_lose_the_name,
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
    let id = write(&store, &[&kept, &marked("gone")], 1)[1].id;
    write(&store, &[&plain("gone", "second text")], 2);
    write(&store, &[&also], 3);
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
    assert_sound(&store);
}

fn readers_behind_a_purge_agree_with_every_root(db: &Database) {
    let store = db.open();
    let mut behind: Vec<Follower> = Vec::new();
    for step in 0..6 {
        let mut follower = Follower::default();
        follower.catch_up(&store, 100);
        behind.push(follower);
        match step {
            3 => drop(store.delete_pages(&ws(), &[key("gone")], at(step)).unwrap()),
            _ => {
                let page = full("gone", &format!("text {step}"));
                // Another page's change comes first: the purge must reach readers before it.
                write(&store, &[&plain(&format!("p{step}"), "x"), &page], step);
            }
        }
    }
    store.purge_page(&ws(), &key("gone"), at(9)).unwrap();
    for mut follower in behind {
        // One change at a time: every intermediate root is checked.
        follower.catch_up(&store, 1);
        assert_eq!(follower.pages.len(), 5);
    }
    assert_sound(&store);
}

fn a_purged_name_can_be_used_again(db: &Database) {
    let store = db.open();
    let old = write(&store, &[&plain("a", "old")], 1)[0];
    store.delete_pages(&ws(), &[key("a")], at(2)).unwrap();
    store.purge_page(&ws(), &key("a"), at(3)).unwrap();
    let new = write(&store, &[&plain("a", "new")], 4)[0];
    assert_eq!(new.version, 1);
    assert_ne!(new.id, old.id, "numbers are never used again");
    assert_sound(&store);
}

/// Rows that name a page, as a suite on the local brain writes them.
fn keep_text_of(store: &Store, name: &str, text: &str) {
    let report = json!({ "verdict": "fail", "cases": [{ "query_id": "q", "results": [name, "default::kept"] }] });
    let run = NewSuiteRun {
        report: report.to_string(),
        verdict: Verdict::Fail,
        ..new_run("smoke", None)
    };
    store.add_suite_run(&ws(), &run, at(1)).unwrap();
    let mut log = retrieval("q", 1);
    log.fields.body =
        Some(json!({ "target": "local", "result_ids": [name, "default::kept"] }).to_string());
    log.feedback[0].comment = Some(json!({ "document": name }).to_string());
    log.feedback[1].comment = Some("not what I looked for".to_owned());
    store.add_retrieval_logs(&ws(), &[log], at(1)).unwrap();
    let expected = json!({ "query": name, "expected": [name], "expected_snippets": [text] });
    let query = NewQuery { body: expected.to_string(), ..query(name) };
    store.put_queries(&ws(), &[query], OnDuplicate::Keep, at(1)).unwrap();
    let body = json!({ "query": "q", "text": text }).to_string();
    store
        .put_pairs(&ws(), &[NewPair { body, document: name.to_owned(), ..pair("q", name) }], at(1))
        .unwrap();
}

/// Every row of the tables that suites and people fill.
fn rows(store: &Store) -> Vec<String> {
    let mut rows = Vec::new();
    for run in store.suite_runs_after(&ws(), 0, 99).unwrap() {
        rows.push(format!("{:?}", store.suite_run(&ws(), run.id).unwrap()));
    }
    let logs = store.retrieval_logs(&ws(), &RetrievalFilter::default()).unwrap();
    let ids: Vec<i64> = logs.iter().map(|log| log.id).collect();
    rows.extend(logs.iter().map(|log| format!("{log:?}")));
    rows.extend(store.feedback(&ws(), &ids).unwrap().concat().iter().map(|one| format!("{one:?}")));
    let queries = store.canonical_queries(&ws(), &QueryFilter::default(), 99).unwrap();
    rows.extend(queries.iter().map(|one| format!("{one:?}")));
    rows.extend(store.pairs(&ws(), None, 99).unwrap().iter().map(|one| format!("{one:?}")));
    rows
}

fn a_purged_page_takes_its_name_and_nothing_else(db: &Database) {
    let store = db.open();
    let slugs = ["people/\"a_b\"", "people/axb", "e", "every", "e/f", "e#3", "100%"];
    let pages: Vec<Page> =
        slugs.iter().map(|slug| plain(slug, &format!("text of {slug}"))).collect();
    write(&store, &pages.iter().collect::<Vec<_>>(), 1);
    for slug in slugs {
        keep_text_of(&store, &format!("default::{slug}"), &format!("text of {slug}"));
    }
    keep_text_of(&store, "wiki::e", "text of another e");
    for slug in ["e", "people/\"a_b\"", "100%"] {
        let before = rows(&store);
        let erased = store.purge_page(&ws(), &key(slug), at(2)).unwrap().erased;
        let after = rows(&store);
        let lost = before.iter().filter(|row| !after.contains(row)).count();
        assert_eq!(lost, 5, "a report, a log, a comment, a query and a pair of {slug}");
        assert_eq!((erased.suite_reports, erased.retrieval_logs, erased.remarks), (1, 1, 1));
        assert_eq!((erased.queries_retired, erased.calibration_pairs), (1, 1));
        let failed = store.suite_runs_after(&ws(), 0, 99).unwrap();
        assert!(failed.iter().all(|run| run.verdict == Verdict::Fail), "verdicts stay");
    }
    assert_sound(&store);
}

fn a_query_keeps_its_other_keys(db: &Database) {
    let store = db.open();
    write(&store, &[&plain("a", "shared words and own words"), &plain("b", "shared words")], 1);
    let put = |text: &str, body: serde_json::Value| {
        let query = NewQuery { body: body.to_string(), state: QueryState::Active, ..query(text) };
        store.put_queries(&ws(), &[query], OnDuplicate::Keep, at(1)).unwrap();
    };
    put(
        "both",
        json!({ "query": "both", "expected": ["a", "default::b"], "expected_snippets": ["own words", "shared words"] }),
    );
    put(
        "one",
        json!({ "query": "one", "expected": ["default::a"], "expected_snippets": ["own words"] }),
    );
    put("other", json!({ "query": "a", "expected": ["b"], "expected_snippets": ["own words"] }));
    let erased = store.purge_page(&ws(), &key("a"), at(2)).unwrap().erased;
    assert_eq!((erased.queries_changed, erased.queries_retired), (1, 1));
    let left = store.canonical_queries(&ws(), &QueryFilter::default(), 9).unwrap();
    let of = |at: usize| (left[at].state, left[at].body.as_str());
    assert_eq!(
        of(0),
        (
            QueryState::Active,
            r#"{"query":"both","expected":["default::b"],"expected_snippets":["shared words"]}"#
        )
    );
    assert_eq!(
        of(1),
        (QueryState::Retired, r#"{"query":"one","expected":[],"expected_snippets":[]}"#)
    );
    assert_eq!(of(2).0, QueryState::Active);
    assert!(of(2).1.contains("own words"), "the query does not name the page");
}

fn a_bare_key_is_of_the_source_that_still_has_it(db: &Database) {
    let store = db.open();
    let wiki = SourceId::new("wiki").unwrap();
    store.add_source(&ws(), &wiki, "wiki", SourceTrust::Trusted, at(0)).unwrap();
    let other = PageKey::new(wiki, key("go").slug);
    write(&store, &[&plain("go", "x"), &Page { key: other.clone(), ..plain("go", "y") }], 1);
    let query =
        NewQuery { body: json!({ "query": "q", "expected": ["go"] }).to_string(), ..query("q") };
    store.put_queries(&ws(), &[query], OnDuplicate::Keep, at(1)).unwrap();
    let erased = store.purge_page(&ws(), &key("go"), at(2)).unwrap().erased;
    assert_eq!((erased.queries_changed, erased.queries_retired), (0, 0), "wiki::go is still there");
    let erased = store.purge_page(&ws(), &other, at(3)).unwrap().erased;
    assert_eq!(erased.queries_retired, 1);
}

fn labels_captures_qrels_and_jobs_lose_the_name(db: &Database) {
    let store = db.open();
    write(&store, &[&plain("e", "x"), &plain("every", "y")], 1);
    store.put_labels(&ws(), &[label("q", "e", 1), label("q", "every", 1)], "ada", at(1)).unwrap();
    let captured = |slugs: &[&str]| {
        let pages: Vec<_> =
            slugs.iter().map(|slug| json!({ "source_id": "default", "slug": slug })).collect();
        CaptureFields {
            retrieved_slugs: json!(slugs).to_string(),
            retrieved_chunk_ids: "[1]".to_owned(),
            source_ids: r#"["default"]"#.to_owned(),
            extra: json!({ "retrieved": pages, "limit": 5 }).to_string(),
            ..capture("e")
        }
    };
    store.add_captures(&ws(), &[captured(&["every"]), captured(&["every", "e"])], at(1)).unwrap();
    let qrels = "q1 0 e 1\nq1 0 every 1\ne 0 every 1\n";
    store.put_document(&ws(), DocumentKind::Qrels, "known", qrels, at(1)).unwrap();
    let spec =
        json!({ "pages": [{ "slug": "e", "content": "x" }, { "slug": "every", "content": "y" }] });
    let job = NewJob { spec: spec.to_string(), ..new_job("import of pages") };
    store.add_job(&ws(), &job, at(1)).unwrap();
    add(&store, 1);
    let (ended, lease) = claim(&store, "w", 1);
    let outcome = JobOutcome::Done(r#"{"rows":["default::e","default::every"]}"#.to_owned());
    assert!(store.finish_job(&ws(), ended.info.id, &lease, &outcome, at(1)).unwrap());
    let erased = store.purge_page(&ws(), &key("e"), at(2)).unwrap().erased;
    assert_eq!(
        (erased.labels, erased.captures, erased.qrels, erased.jobs, erased.open_imports),
        (1, 1, 1, 1, 1)
    );
    assert_eq!(store.labels(&ws(), None, 9).unwrap().len(), 1);
    let left = read(&store, &ws(), &CaptureFilter::default());
    assert_eq!(left[0].fields.retrieved_slugs, r#"["every","[purged-1]"]"#);
    assert!(left[0].fields.extra.ends_with(r#"],"limit":5}"#), "{}", left[0].fields.extra);
    assert_eq!(left[1].fields, captured(&["every"]));
    let qrels = store.document(&ws(), DocumentKind::Qrels, "known").unwrap().unwrap();
    assert_eq!(qrels.body, "q1 0 every 1\ne 0 every 1\n");
    assert_eq!(qrels.info.hash, Hash::of(qrels.body.as_bytes()));
    assert_eq!(qrels.info.created_at, at(1));
    let ended = store.job(&ws(), ended.info.id).unwrap().unwrap().result.unwrap();
    assert_eq!(ended, r#"{"rows":["default::[purged-1]","default::every"]}"#);
}

#[test]
fn purged_bytes_leave_the_sqlite_files() {
    let db = Database::sqlite();
    let store = db.open();
    for n in 0..20 {
        write(&store, &[&marked("gone"), &full(&format!("p{n}"), "stays")], n);
        write(&store, &[&plain("gone", &format!("version {n} of {MARKER}"))], n);
        keep_text_of(&store, "default::gone", &format!("{MARKER} {n}"));
    }
    assert!(holds_marker(&db));
    let purged = store.purge_page(&ws(), &key("gone"), at(30)).unwrap();
    assert!(purged.scrubbed && purged.versions == 40);
    assert!(!holds_marker(&db));
    assert_sound(&store);
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
    assert_sound(&store);
}

/// Whether any of the database's files contains the erased text.
fn holds_marker(db: &Database) -> bool {
    let Location::Sqlite(path) = db.location() else { unreachable!() };
    let files = std::fs::read_dir(path.parent().unwrap()).unwrap();
    files
        .map(|file| std::fs::read(file.unwrap().path()).unwrap())
        .any(|bytes| bytes.windows(MARKER.len()).any(|window| window == MARKER.as_bytes()))
}
