//! Creating, migrating and refusing databases.

use std::time::{Duration, Instant};

use gbrain_core::id::WorkspaceId;
use gbrain_store::{Engine, Location, OpenMode, Store, StoreError};

use crate::captures::capture;
use crate::child::{Player, Role, spawn};
use crate::database::Database;
use crate::fixture::*;
use crate::upgrade::back_to_schema_5;

on_both_engines! {
    ten_processes_open_at_once,
    opening_again_keeps_everything,
    an_older_schema_is_brought_up_to_date,
    a_newer_schema_is_refused,
    a_foreign_database_is_refused_and_not_touched,
    stores_have_identities,
}

fn ten_processes_open_at_once(db: &Database) {
    let children: Vec<_> = (0..10).map(|_| spawn(&db.location(), Role::Open)).collect();
    let mut identities: Vec<_> = children.into_iter().flat_map(Player::finish).collect();
    assert_eq!(identities.len(), 10);
    identities.dedup();
    assert_eq!(identities.len(), 1, "one store");
    let store = db.open();
    assert_eq!(store.workspaces().unwrap().len(), 1);
    assert_sound(&store);
}

fn opening_again_keeps_everything(db: &Database) {
    let page = full("a", "one");
    let identity = {
        let store = db.open();
        write(&store, &[&page], 1);
        store.identity().to_owned()
    };
    let store = db.try_open(OpenMode::Use).unwrap();
    assert_eq!(store.identity(), identity);
    assert_eq!(store.page(&ws(), &page.key).unwrap().unwrap().page, page);
}

/// Removes the later objects from a database to make it one of schema 1. On PostgreSQL this
/// includes a policy.
const BACK_TO_SCHEMA_1: &str = "DROP TABLE suite_cursors; DROP TABLE suites; \
     DROP TABLE suite_events; DROP TABLE suite_runs; DROP TABLE canonical_queries; \
     DROP TABLE feedback_events; DROP TABLE retrieval_logs; DROP TABLE calibration_pairs; \
     DROP TABLE rerank_scores; DROP TABLE rerank_thresholds; DROP TABLE alert_cursors; \
     DROP TABLE alert_states; DROP TABLE alert_deliveries; DROP TABLE alert_silences; \
     DROP TABLE incidents; DROP TABLE counters; DROP TABLE tokens; DROP TABLE jobs; \
     DROP TABLE documents; DROP TABLE labels; DROP INDEX visible_pages; \
     DROP TABLE budgets; DROP TABLE charges; DROP TABLE model_answers; DROP TABLE eval_runs; \
     DROP TABLE eval_candidates; DROP TABLE eval_capture_failures; \
     DROP TABLE eval_clock; DELETE FROM gbrain_migrations WHERE number > 1";

fn back_to_schema_1(db: &Database) {
    back_to_schema_5(db);
    db.raw(BACK_TO_SCHEMA_1).unwrap();
    if let Database::Postgres { .. } = db {
        db.raw("DROP POLICY of_directory ON workspaces").unwrap();
    }
}

fn an_older_schema_is_brought_up_to_date(db: &Database) {
    write(&db.open(), &[&plain("a", "one")], 1);
    for mode in [OpenMode::Use, OpenMode::Init] {
        back_to_schema_1(db);
        let store = db.try_open(mode).unwrap();
        assert_eq!(store.head(&ws()).unwrap().pages, 1);
        store.add_captures(&ws(), &[capture("q")], at(2)).unwrap();
        assert_sound(&store);
    }
}

#[test]
fn only_the_owner_can_bring_an_older_schema_up_to_date() {
    let db = Database::postgres();
    drop(db.open());
    let role = format!("tenant_{:016x}", fastrand::u64(..));
    back_to_schema_1(&db);
    db.raw(&format!(
        "CREATE ROLE {role} LOGIN; \
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}"
    ))
    .unwrap();
    let error = Store::open(&db.location_as(&role), OpenMode::Use, at(1)).err().unwrap();
    db.raw(&format!("DROP OWNED BY {role}; DROP ROLE {role}")).unwrap();
    assert!(matches!(error, StoreError::OlderSchema { found: 1, .. }), "{error:?}");
    assert!(error.to_string().contains("run `gbrain init` as the owner"), "{error}");
}

fn a_newer_schema_is_refused(db: &Database) {
    drop(db.open());
    db.raw("INSERT INTO gbrain_migrations VALUES (99, 'from the future', 0)").unwrap();
    for mode in [OpenMode::Use, OpenMode::Init] {
        let error = db.try_open(mode).err().unwrap();
        let StoreError::NewerSchema { found: 99, known } = error else { panic!("{error:?}") };
        assert!(known >= 1);
        assert!(error.to_string().contains("use a newer gbrain"));
    }
}

fn a_foreign_database_is_refused_and_not_touched(db: &Database) {
    if let Location::Sqlite(path) = db.location() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    }
    db.raw("CREATE TABLE pages (x int); INSERT INTO pages VALUES (7)").unwrap();
    for mode in [OpenMode::Use, OpenMode::Init] {
        let error = db.try_open(mode).err().unwrap();
        let StoreError::ForeignDatabase { tables } = &error else { panic!("{error:?}") };
        assert_eq!(tables, &["pages"]);
        assert!(error.to_string().contains("a database or a schema of its own"));
    }
    // Unchanged: its table exists, and none of gbrain's.
    db.raw("CREATE TABLE meta (x int); CREATE TABLE workspaces (x int); DROP TABLE pages").unwrap();
}

fn stores_have_identities(db: &Database) {
    let store = db.open();
    assert_eq!(store.identity().len(), 32);
    assert!(store.identity().bytes().all(|byte| byte.is_ascii_hexdigit()));
    let is_sqlite = matches!(db, Database::Sqlite(_));
    assert_eq!(store.engine(), if is_sqlite { Engine::Sqlite } else { Engine::Postgres });
    assert_ne!(Database::sqlite().open().identity(), store.identity());
}

#[test]
fn postgres_is_created_by_init_only() {
    let db = Database::postgres();
    let error = db.try_open(OpenMode::Use).err().unwrap();
    assert!(matches!(error, StoreError::NotInitialised));
    assert!(error.to_string().contains("`gbrain init`"));
    db.raw("CREATE TABLE somebody_elses (x int)").unwrap();
    drop(db.open());
    db.try_open(OpenMode::Use).unwrap();
}

#[test]
fn a_server_that_is_not_there_is_down() {
    for url in ["host=/nowhere user=x dbname=x", "postgres://x:secret@127.0.0.1:1/x"] {
        let location = Location::parse(url).unwrap();
        let error = Store::open(&location, OpenMode::Use, at(0)).err().unwrap();
        assert!(matches!(error, StoreError::Down { .. }), "{error:?}");
        assert!(!error.to_string().contains("secret"));
    }
    let db = Database::postgres();
    let Location::Postgres(url) = db.location() else { unreachable!() };
    let missing = Location::Postgres(url.replace("dbname=", "dbname=no_"));
    let error = Store::open(&missing, OpenMode::Init, at(0)).err().unwrap();
    assert!(matches!(error, StoreError::Down { .. }), "{error:?}");
    assert!(matches!(
        Store::open(&Location::Postgres("x y".into()), OpenMode::Use, at(0)).err().unwrap(),
        StoreError::Url { .. }
    ));
}

#[test]
fn a_cut_connection_is_replaced() {
    let db = Database::postgres();
    let store = db.open();
    write(&store, &[&plain("a", "one")], 1);
    db.raw(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
         WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )
    .unwrap();
    assert_eq!(store.head(&ws()).unwrap().pages, 1);
    write(&store, &[&plain("b", "two")], 2);
    assert_sound(&store);
}

#[test]
fn other_files_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("brain.db");
    let text = "not a database, but long enough to look like one. ".repeat(50);
    std::fs::write(&path, &text).unwrap();
    let error = Store::open(&Location::Sqlite(path.clone()), OpenMode::Use, at(0)).err().unwrap();
    assert!(matches!(error, StoreError::NotADatabase { .. }), "{error:?}");
    assert!(error.to_string().contains("brain.db is not a SQLite database"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "not touched");
    let error =
        Store::open(&Location::Sqlite(dir.path().into()), OpenMode::Use, at(0)).err().unwrap();
    assert!(matches!(error, StoreError::File { .. }), "{error:?}");
    let error =
        Store::open(&Location::Sqlite(path.join("x.db")), OpenMode::Use, at(0)).err().unwrap();
    assert!(matches!(error, StoreError::File { .. }), "{error:?}");
    std::fs::write(&path, "").unwrap();
    Store::open(&Location::Sqlite(path), OpenMode::Use, at(0)).unwrap();
}

/// A copy of a database that contains page `a`.
fn copied(copy: impl Fn(&rusqlite::Connection, &std::path::Path)) -> tempfile::TempDir {
    let db = Database::sqlite();
    write(&db.open(), &[&plain("a", "one")], 1);
    let Location::Sqlite(path) = db.location() else { unreachable!() };
    let dir = tempfile::tempdir().unwrap();
    copy(&rusqlite::Connection::open(path).unwrap(), &dir.path().join("brain.db"));
    dir
}

fn journal_mode(path: &std::path::Path) -> String {
    let raw = rusqlite::Connection::open(path).unwrap();
    raw.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap()
}

#[test]
fn a_copy_can_be_written_to_however_it_was_made() {
    let vacuumed = copied(|raw, to| {
        raw.execute("VACUUM INTO ?1", [to.to_str().unwrap()]).unwrap();
    });
    // Page by page, like `.backup`: the file keeps its mode, and there is no log.
    let paged = copied(|raw, to| {
        raw.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        std::fs::copy(raw.path().unwrap(), to).unwrap();
    });
    let with_journal = copied(|raw, to| {
        std::fs::copy(raw.path().unwrap(), to).unwrap();
        let copy = rusqlite::Connection::open(to).unwrap();
        copy.query_row("PRAGMA journal_mode = PERSIST", [], |_| Ok(())).unwrap();
    });
    let copies = [(vacuumed, "delete"), (paged, "wal"), (with_journal, "delete")];
    for (at, (dir, mode)) in copies.iter().enumerate() {
        let path = dir.path().join("brain.db");
        assert_eq!(journal_mode(&path), *mode, "copy {at}");
        for second in [2, 3] {
            let store = Store::open(
                &Location::Sqlite(path.clone()),
                OpenMode::Use,
                crate::fixture::at(second),
            );
            let store = store.unwrap();
            assert!(store.page(&ws(), &key("a")).unwrap().is_some(), "copy {at}");
            write(&store, &[&plain("b", &format!("two {second}"))], second);
            assert_eq!(store.head(&ws()).unwrap().pages, 2);
            assert_sound(&store);
        }
        assert_eq!(journal_mode(&path), "wal", "copy {at}");
    }
}

#[cfg(unix)]
#[test]
fn files_are_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let db = Database::sqlite();
    drop(db.open());
    let Location::Sqlite(path) = db.location() else { unreachable!() };
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&path) & 0o777, 0o600);
    assert_eq!(mode(path.parent().unwrap()) & 0o777, 0o700);
}

#[test]
fn opening_takes_no_write_lock_and_little_time() {
    let db = Database::sqlite();
    drop(db.open());
    let mut other = db.connect();
    other.begin_write(&WorkspaceId::default());
    let best = (0..20).map(|_| timed_open(&db)).min().unwrap();
    assert!(best < Duration::from_millis(20), "{best:?}");
}

fn timed_open(db: &Database) -> Duration {
    let start = Instant::now();
    db.open().head(&ws()).unwrap();
    start.elapsed()
}
