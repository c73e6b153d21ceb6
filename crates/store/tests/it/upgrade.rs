//! Databases written by an older gbrain: read and migrated with their contents.
//!
//! Migrations never change after a release, so they create the schema of a sample.

use gbrain_core::id::{Generation, WorkspaceId};
use gbrain_core::page::Visibility;
use gbrain_store::{CaptureFilter, Location, OpenMode, Store, StoreError, VersionOp};
use serde_json::Value;

use crate::captures::read;
use crate::database::Database;
use crate::feed::Follower;
use crate::fixture::*;
use crate::jobs::{add, claim, info, new_job};
use crate::judgements::label;
use crate::playbook::{one_of_each, suite_job};
use crate::tokens::new_token;

on_both_engines! {
    a_sample_of_schema_2_is_read,
    a_sample_of_schema_2_can_be_served,
    many_bring_one_database_up_to_date,
    numbers_go_on_after_schema_4,
    scores_are_shown_after_schema_5,
    labels_after_schema_5_have_their_author_as_reviewer,
    a_relation_with_the_name_of_a_view_is_refused,
}

const ROWS: &str = include_str!("samples/schema_2.sql");
const SQLITE: [&str; 2] = [
    include_str!("../../src/sqlite/0001_initial.sql"),
    include_str!("../../src/sqlite/0002_captures.sql"),
];
const POSTGRES: [&str; 2] = [
    include_str!("../../src/postgres/0001_initial.sql"),
    include_str!("../../src/postgres/0002_captures.sql"),
];
const APPLIED: &str = "INSERT INTO gbrain_migrations VALUES (1, 'initial', 1794814245734), \
     (2, 'captures', 1794814245734)";

/// Removes the later objects from a database to make it one of schema 5.
const BACK_TO_SCHEMA_5: &str = "DROP VIEW braintrust_queries; DROP VIEW eval_contradictions_cache; \
     DROP TABLE eval_windows; ALTER TABLE rerank_thresholds DROP COLUMN scores; \
     ALTER TABLE model_answers DROP COLUMN pages; \
     DROP TABLE label_reviews; ALTER TABLE labels DROP COLUMN settled_by; \
     DELETE FROM gbrain_migrations WHERE number > 5";
const BACK_TO_SCHEMA_5_ON_POSTGRES: &str = "DROP TRIGGER single_workspace ON workspaces; \
     DROP FUNCTION gbrain_note_single_workspace; DROP FUNCTION gbrain_single_workspace CASCADE; \
     DELETE FROM meta WHERE key = 'single_workspace'";

/// Downgrades a current database to schema 5.
pub(crate) fn back_to_schema_5(db: &Database) {
    db.raw(BACK_TO_SCHEMA_5).unwrap();
    if let Database::Postgres { .. } = db {
        db.raw(BACK_TO_SCHEMA_5_ON_POSTGRES).unwrap();
    }
}

/// Removes the later objects from a database to make it one of schema 4.
const BACK_TO_SCHEMA_4: &str = "DROP INDEX jobs_by_key; DROP INDEX jobs_at_work; \
     ALTER TABLE jobs DROP COLUMN key; ALTER TABLE jobs DROP COLUMN grp; \
     DROP TABLE suite_cursors; DROP TABLE suites; DROP TABLE suite_events; DROP TABLE suite_runs; \
     DROP TABLE canonical_queries; DROP TABLE feedback_events; DROP TABLE retrieval_logs; \
     DROP TABLE calibration_pairs; DROP TABLE rerank_scores; DROP TABLE rerank_thresholds; \
     DROP TABLE alert_cursors; DROP TABLE alert_states; DROP TABLE alert_deliveries; \
     DROP TABLE alert_silences; DROP TABLE incidents; \
     DELETE FROM gbrain_migrations WHERE number > 4";

/// Creates the database of schema 2.
fn sample(db: &Database) {
    let (migrations, number, rows) = match db.location() {
        Location::Sqlite(path) => {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            (SQLITE, "INTEGER", ROWS.to_owned())
        }
        Location::Postgres(_) => (POSTGRES, "bigint", ROWS.replace("X'", "'\\x")),
    };
    let log = format!(
        "CREATE TABLE gbrain_migrations (number {number} PRIMARY KEY, name TEXT NOT NULL, \
         applied_at {number} NOT NULL)"
    );
    for sql in [log.as_str(), migrations[0], migrations[1], APPLIED, &rows] {
        db.raw(sql).unwrap();
    }
}

fn opened(db: &Database) -> Store {
    sample(db);
    db.try_open(OpenMode::Use).unwrap()
}

fn a_sample_of_schema_2_is_read(db: &Database) {
    let store = opened(db);
    assert_sound(&store);
    let team = WorkspaceId::new("team").unwrap();
    assert_eq!(store.check(&team).unwrap(), []);
    assert_eq!(store.identity(), "f12cc5c44ebd2261a7b414f853d1fe06");
    assert_eq!(store.workspaces().unwrap().len(), 2);
    let head = store.head(&ws()).unwrap();
    assert_eq!((head.generation, head.pages, head.chunks), (Generation(5), 2, 2));
    let ada = key("people/ada");
    let page = store.page(&ws(), &ada).unwrap().unwrap().page;
    assert_eq!((page.title.as_str(), page.links.len()), ("Ada Quill", 1));
    let before = store.page_at_version(&ws(), &ada, 1).unwrap().unwrap().page;
    assert_eq!(
        (before.tags, before.aliases),
        (vec!["engineer".into(), "größe".into()], vec!["Ada".into()])
    );
    let history = store.history(&ws(), &key("gone")).unwrap();
    assert_eq!(
        history.iter().map(|v| v.op).collect::<Vec<_>>(),
        [VersionOp::Write, VersionOp::Delete]
    );
    assert_eq!(store.config_get(&ws(), "search.pool").unwrap().as_deref(), Some("90"));
    let captures = read(&store, &ws(), &CaptureFilter::default());
    assert_eq!((captures.len(), captures[0].fields.query.as_str()), (1, "who is Ada?"));
    let mut follower = Follower { derived: Some(1), ..Follower::default() };
    follower.catch_up(&store, 2);
    assert_eq!(follower.pages.len(), 2);
}

fn a_sample_of_schema_2_can_be_served(db: &Database) {
    let store = opened(db);
    let visible: Vec<u64> =
        store.visible_pages(&ws()).unwrap().into_iter().map(|(_, pages)| pages).collect();
    assert_eq!(visible, [1], "without the private one and the deleted one");
    let seen = store.visibilities(&ws(), &["secret", "gone", "people/ada"].map(key)).unwrap();
    assert_eq!(seen, [Visibility::Private, Visibility::World, Visibility::World].map(Some));
    assert!(!store.has_live_tokens(at(0)).unwrap());
    store.add_token(&ws(), &new_token("t"), at(1)).unwrap();
    assert_eq!(add(&store, 1), 1);
    assert_eq!(claim(&store, "w", 2).0.info.id, 1);
    let team = WorkspaceId::new("team").unwrap();
    assert_eq!(store.add_job(&team, &new_job("import"), at(1)).unwrap(), 1);
    store.restore_page(&ws(), &key("gone"), at(3)).unwrap();
    assert_sound(&store);
}

/// Migration 5 recreates the table of counters on SQLite.
fn numbers_go_on_after_schema_4(db: &Database) {
    let store = opened(db);
    assert_eq!(add(&store, 1), 1);
    store.put_labels(&ws(), &[label("q", "a", 1), label("q", "b", 1)], "ada", at(1)).unwrap();
    drop(store);
    back_to_schema_5(db);
    db.raw(BACK_TO_SCHEMA_4).unwrap();
    if let Database::Postgres { .. } = db {
        db.raw("ALTER TABLE counters ADD CHECK (name IN ('jobs', 'labels'))").unwrap();
    }
    let store = db.try_open(OpenMode::Use).unwrap();
    assert_eq!(add(&store, 2), 2);
    assert_eq!(store.put_labels(&ws(), &[label("q", "c", 1)], "ada", at(2)).unwrap(), [3]);
    let keyed = suite_job("a", Some("1"));
    assert_eq!(store.add_job(&ws(), &keyed, at(3)).unwrap(), 3);
    assert_eq!(info(&store, 1).key, None);
    one_of_each(&store, &ws(), "new");
    assert_sound(&store);
}

/// Migration 6 copies the scores into the rows of their thresholds, in every workspace.
fn scores_are_shown_after_schema_5(db: &Database) {
    let store = opened(db);
    let team = WorkspaceId::new("team").unwrap();
    one_of_each(&store, &ws(), "ours");
    one_of_each(&store, &team, "theirs");
    let shown = |of: &WorkspaceId| {
        db.text(&format!(
            "SELECT scores FROM rerank_thresholds WHERE workspace_id = '{of}' ORDER BY id LIMIT 1"
        ))
    };
    let written: Vec<Value> = [ws(), team.clone()].iter().map(|of| json(&shown(of))).collect();
    assert!(written[0].as_array().is_some_and(|scores| !scores.is_empty()), "{written:?}");
    drop(store);
    back_to_schema_5(db);
    let store = db.try_open(OpenMode::Use).unwrap();
    let copied: Vec<Value> = [ws(), team].iter().map(|of| json(&shown(of))).collect();
    assert_eq!(copied, written);
    assert_sound(&store);
}

fn labels_after_schema_5_have_their_author_as_reviewer(db: &Database) {
    let store = opened(db);
    let team = WorkspaceId::new("team").unwrap();
    store.put_labels(&ws(), &[label("q", "a", 1), label("q", "b", 2)], "ada", at(1)).unwrap();
    store.put_labels(&team, &[label("q", "a", 3)], "bo", at(2)).unwrap();
    let read = |store: &Store, of: &WorkspaceId| {
        (store.labels(of, None, 9).unwrap(), store.label_reviews(of, 1..=9, 9).unwrap())
    };
    let written = [read(&store, &ws()), read(&store, &team)];
    assert_eq!((written[0].1.len(), written[1].1.len()), (2, 1));
    drop(store);
    back_to_schema_5(db);
    let store = db.try_open(OpenMode::Use).unwrap();
    assert_eq!([read(&store, &ws()), read(&store, &team)], written);
    assert_sound(&store);
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn a_relation_with_the_name_of_a_view_is_refused(db: &Database) {
    drop(opened(db));
    for relation in
        ["TABLE braintrust_queries (x int)", "VIEW eval_contradictions_cache AS SELECT 1 AS x"]
    {
        back_to_schema_5(db);
        db.raw(&format!("CREATE {relation}")).unwrap();
        let error = db.try_open(OpenMode::Init).err().unwrap();
        let StoreError::ForeignDatabase { tables } = &error else { panic!("{error:?}") };
        let (kind, name) = relation.split_once(' ').unwrap();
        let name = name.split(' ').next().unwrap();
        assert_eq!(tables, &[name]);
        db.raw(&format!("DROP {kind} {name}")).unwrap();
        drop(db.try_open(OpenMode::Use).unwrap());
    }
}

fn many_bring_one_database_up_to_date(db: &Database) {
    sample(db);
    std::thread::scope(|scope| {
        for n in 0..6 {
            scope.spawn(move || {
                let store = db.try_open(OpenMode::Use).unwrap();
                store.add_token(&ws(), &new_token(&n.to_string()), at(1)).unwrap();
            });
        }
    });
    let store = db.try_open(OpenMode::Init).unwrap();
    assert_eq!(store.tokens(&ws()).unwrap().len(), 6);
    assert_sound(&store);
}
