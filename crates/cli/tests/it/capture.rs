//! Capture: what is kept, what is not, and what happens when it can't be.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gbrain_brain::capture::{AuditLog, CaptureOptions, QueryService, software};
use gbrain_brain::{Brain, BrainOptions, IndexKind, QueryOptions, built_in_models};
use gbrain_core::capture::{CapturePolicy, FailureReason};
use gbrain_core::id::WorkspaceId;
use gbrain_core::request::{Caller, Expansion, Filter, Operation, Request, RetrievalMode, Viewer};
use gbrain_core::scrub::Scrubber;
use gbrain_core::search::Settings;
use gbrain_store::{Location, OpenMode};
use gbrain_testkit::cluster::Cluster;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::support::{Home, Ran, args_of, assert_fields, find};

/// A home that captures.
pub(crate) fn capturing(home: Home) -> Home {
    configure(&home, &json!({ "capture": true }));
    home
}

pub(crate) fn configure(home: &Home, eval: &Value) {
    let config = json!({ "format": "gbrain/1", "eval": eval });
    home.write("config.json", config.to_string());
}

/// The captures, newest first.
#[track_caller]
pub(crate) fn exported(home: &Home) -> Vec<Value> {
    let text = home.ok(&["eval", "export", "--quiet"]);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn run_with(home: &Home, variable: &str, args: &[&str]) -> Ran {
    Ran::of(home.command(args).env("GBRAIN_CONTRIBUTOR_MODE", variable).output().unwrap())
}

#[test]
fn capture_is_off_by_default() {
    let home = Home::sqlite();
    home.put("people/ada", "Ada paints boats.");
    home.ok(&["query", "boats"]);
    run_with(&home, "true", &["query", "boats"]);
    assert_eq!(exported(&home).len(), 0);
    run_with(&home, "1", &["query", "boats"]);
    assert_eq!(exported(&home).len(), 1);
    configure(&home, &json!({ "capture": false }));
    run_with(&home, "1", &["query", "boats"]);
    assert_eq!(exported(&home).len(), 1);
}

#[test]
fn a_row_says_everything_its_ranking_depended_on() {
    for home in Home::both().map(capturing) {
        home.put("people/ada", "---\ntype: person\ntags: [paint]\n---\nAda paints boats.");
        home.ok(&args_of("query boats --limit 3 --mode knowledge --detail high --type person --tag paint --untrusted --now 2026-01-01T00:00:00Z"));
        home.ok(&["search", "boats"]);
        let rows = exported(&home);
        let (search, query) = (&rows[0], &rows[1]);
        assert_fields(search, &json!({ "tool_name": "search", "expand_enabled": null }));
        assert_eq!(query["expand_enabled"], json!(false));
        assert_eq!((&query["cache_hit"], &query["cache"]), (&json!(false), &json!("off")));
        assert_eq!(query["schema_version"], json!(1));
        assert_eq!(query["retrieved"], json!([{ "source_id": "default", "slug": "people/ada" }]));
        assert_fields(query, &json!({ "limit": 3, "retrieval_mode": "knowledge" }));
        assert_fields(query, &json!({ "detail": "high", "detail_resolved": "high" }));
        assert_eq!(query["filters"]["types"], json!(["person"]));
        assert_fields(query, &json!({ "trust": "untrusted", "remote": false }));
        assert_eq!(query["now"], json!("2026-01-01T00:00:00Z"));
        assert_eq!(query["vector_enabled"], json!(true));
        assert!(query["embedder"].as_str().unwrap().starts_with("static-256"));
        assert_eq!(query["settings"]["pool"], json!(40.0));
        for present in
            ["settings_hash", "software", "corpus", "degraded", "cache", "expansion_variants"]
        {
            assert!(!query[present].is_null(), "{present}");
        }
        assert!(query["latency_ms"].as_f64().unwrap() > 0.0);
        assert!(query["created_at"].as_str().unwrap().ends_with('Z'));
        assert!(rows[0]["id"].as_i64() > rows[1]["id"].as_i64());
    }
}

/// Whether any file of a home holds these bytes.
fn holds(dir: &Path, bytes: &[u8]) -> bool {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.into_iter().any(|path| {
        if path.is_dir() {
            return holds(&path, bytes);
        }
        let content = std::fs::read(&path).unwrap();
        content.windows(bytes.len()).any(|window| window == bytes)
    })
}

#[test]
fn personal_data_never_reaches_the_disk() {
    let home = capturing(Home::sqlite());
    home.put("people/ada", "Ada paints boats.");
    home.ok(&["query", "mail wilhelmina.krasniqi@example.org about boats"]);
    let row = exported(&home).remove(0);
    assert_eq!(row["query"], json!("mail [REDACTED] about boats"));
    assert_fields(&row, &json!({ "scrubbed": true, "scrub_families": ["email"] }));
    assert!(row["scrubbed_retrieved"].is_array());
    assert!(!holds(home.path(), b"wilhelmina.krasniqi"));
    configure(&home, &json!({ "capture": true, "scrub_pii": false }));
    home.ok(&["query", "mail wilhelmina.krasniqi@example.org about boats"]);
    assert!(exported(&home)[0]["query"].as_str().unwrap().contains("wilhelmina"));
}

#[test]
fn slugs_that_carry_an_address_are_scrubbed_and_still_replay() {
    let home = capturing(Home::sqlite());
    home.put("mail/ada@example.com", "Boats and paint.");
    home.ok(&["query", "boats"]);
    let row = exported(&home).remove(0);
    assert!(!row.to_string().contains("ada@example.com"), "{row}");
    let file = home.write("c.ndjson", format!("{row}\n"));
    let replay = home.json(&["eval", "replay", "--against", &file]);
    assert_eq!(replay["summary"]["mean_jaccard"], json!(1.0));
}

#[test]
fn sampling_keeps_its_share() {
    let home = Home::sqlite();
    configure(&home, &json!({ "capture": true, "sample_rate": 0.0 }));
    home.put("people/ada", "Ada paints boats.");
    home.ok(&["query", "boats"]);
    assert_eq!(exported(&home).len(), 0);
    configure(&home, &json!({ "capture": true, "sample_rate": 2 }));
    assert_eq!(home.run(&["query", "boats"]).code, Some(2));
}

fn failures(home: &Home) -> Value {
    let report = home.run(&["doctor", "--json"]).json();
    find(&report["checks"], "name", "eval_capture").clone()
}

#[test]
fn a_query_that_is_too_long_is_answered_and_counted() {
    for home in Home::both().map(capturing) {
        home.put("people/ada", "Ada paints boats.");
        // Two bytes each: the limit is in bytes.
        let long = "å".repeat(25_601);
        home.ok(&["query", &long]);
        assert_eq!(exported(&home).len(), 0);
        let check = failures(&home);
        assert_eq!(check["details"]["failures_last_24h"], json!({ "check_violation": 1 }));
        assert_eq!(check["status"], json!("warn"));
        assert!(!check.to_string().contains("åå"));
        home.ok(&["query", &"å".repeat(25_600)]);
        assert_eq!(exported(&home).len(), 1);
    }
}

#[test]
fn a_scrubber_that_cannot_work_keeps_nothing() {
    let home = Home::sqlite();
    configure(&home, &json!({ "capture": true, "scrub_patterns": ["EMP-[0-9"] }));
    home.put("people/ada", "Ada paints boats.");
    home.ok(&["query", "boats of EMP-1"]);
    assert_eq!(exported(&home).len(), 0);
    let check = failures(&home);
    assert_eq!(check["details"]["failures_last_24h"], json!({ "scrubber_exception": 1 }));
    assert_eq!(home.run(&["doctor"]).code, Some(1));
    configure(&home, &json!({ "capture": true, "scrub_patterns": ["EMP-[0-9]+"] }));
    home.ok(&["query", "boats of EMP-1"]);
    assert_eq!(exported(&home)[0]["query"], json!("boats of [REDACTED]"));
}

#[test]
fn row_level_security_rejections_are_counted() {
    let home = capturing(Home::postgres());
    home.put("people/ada", "Ada paints boats.");
    let role = format!("tenant_{:016x}", fastrand::u64(..));
    home.sql(&format!(
        "CREATE ROLE {role} LOGIN; \
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}; \
         CREATE POLICY nobody ON eval_candidates AS RESTRICTIVE FOR INSERT TO {role} \
         WITH CHECK (false)"
    ));
    let url = format!("{} user={role}", home.url());
    Ran::of(home.command(&["query", "boats"]).env("DATABASE_URL", url).output().unwrap()).exits(0);
    let check = failures(&home);
    home.sql(&format!(
        "DROP POLICY nobody ON eval_candidates; DROP OWNED BY {role}; DROP ROLE {role}"
    ));
    assert_eq!(check["details"]["failures_last_24h"], json!({ "rls_reject": 1 }));
}

fn request(query: &str) -> Request {
    Request {
        operation: Operation::Query,
        query: query.to_owned(),
        limit: 3,
        detail: None,
        mode: RetrievalMode::Hybrid,
        filter: Filter { trust: Viewer::Trusted, ..Filter::default() },
        vectors: true,
        expansion: Expansion::Off,
        now: Timestamp::UNIX_EPOCH,
        settings: Settings::default(),
    }
}

fn open(location: Location, dir: &Path) -> Arc<Brain> {
    let options = BrainOptions {
        location,
        mode: OpenMode::Init,
        index: IndexKind::Memory,
        index_dir: dir.join("index"),
        workspace: WorkspaceId::default(),
        models: built_in_models(),
    };
    Arc::new(Brain::open(options, Timestamp::now()).unwrap())
}

fn door(brain: &Arc<Brain>, dir: &Path, queue: usize) -> QueryService {
    let policy = CapturePolicy {
        scrubber: Some(Scrubber::default()),
        identity: None,
        synthetic: true,
        software: software(),
    };
    let options = CaptureOptions {
        policy: Ok(policy),
        sample_rate: 1.0,
        retention_days: None,
        queue,
        audit: AuditLog { dir: dir.join("audit") },
        observer: None,
    };
    QueryService::new(brain.clone(), Some(options))
}

fn answer(door: &QueryService) {
    let ask = QueryOptions::default();
    door.answer(&request("boats"), &ask, Caller::default()).unwrap();
}

#[test]
fn the_next_process_reports_captures_lost_to_a_database_outage() {
    let dir = tempfile::tempdir().unwrap();
    let mut cluster = Cluster::create().unwrap();
    let location = Location::Postgres(cluster.url());
    let brain = open(location.clone(), dir.path());
    let first = door(&brain, dir.path(), 8);
    answer(&first);
    assert_eq!(first.close().stored, 1);

    // The clock of captures is held, so that the row waits; then the server dies.
    let mut holder = postgres::Client::connect(&cluster.url(), postgres::NoTls).unwrap();
    holder.batch_execute("BEGIN; SELECT * FROM eval_clock FOR UPDATE").unwrap();
    let second = door(&brain, dir.path(), 8);
    answer(&second);
    std::thread::sleep(Duration::from_millis(400));
    cluster.stop().unwrap();
    let drained = second.close();
    assert_eq!((drained.stored, drained.failed, drained.unfinished), (0, 1, 0));
    let waiting = AuditLog { dir: dir.path().join("audit") }.waiting(&WorkspaceId::default());
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0].reason, FailureReason::DbDown);
    assert!(!waiting[0].detail.contains("boats"));

    cluster.start().unwrap();
    let brain = open(location, dir.path());
    let third = door(&brain, dir.path(), 8);
    answer(&third);
    assert_eq!(third.close().stored, 1);
    let kept = brain.store().capture_failures(brain.workspace(), None, 10).unwrap();
    assert_eq!(kept, waiting);
    let left = AuditLog { dir: dir.path().join("audit") }.waiting(&WorkspaceId::default());
    assert_eq!(left, []);
}

#[test]
fn a_full_queue_costs_captures_and_not_answers() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("brain.db");
    let brain = open(Location::Sqlite(path.clone()), dir.path());
    let holder = rusqlite::Connection::open(&path).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let door = door(&brain, dir.path(), 2);
    let started = Instant::now();
    // The first captures are stored in one batch, whose writer then waits for the database.
    (0..40).for_each(|_| answer(&door));
    std::thread::sleep(Duration::from_millis(500));
    (0..40).for_each(|_| answer(&door));
    assert!(started.elapsed() < Duration::from_secs(30), "answers do not wait for captures");
    holder.execute_batch("ROLLBACK").unwrap();
    let drained = door.close();
    assert_eq!(drained.stored + drained.failed + drained.unfinished, 80);
    assert!(drained.failed > 0, "{drained:?}");
    let kept = brain.store().capture_failures(brain.workspace(), None, 100).unwrap();
    assert_eq!(kept.len() as u64, drained.failed);
    assert!(kept.iter().all(|failure| failure.reason == FailureReason::Other));
}

#[test]
fn a_query_service_closes_while_a_query_runs() {
    let dir = tempfile::tempdir().unwrap();
    let brain = open(Location::Sqlite(dir.path().join("brain.db")), dir.path());
    let door = Arc::new(door(&brain, dir.path(), 8));
    let inside = door.clone();
    answer(&inside);
    let drained = door.close();
    assert_eq!((drained.stored, drained.failed, drained.unfinished), (1, 0, 0));
    answer(&inside);
    let drained = door.close();
    assert_eq!((drained.stored, drained.failed, drained.unfinished), (1, 1, 0), "counted");
    // An answer does not wait for the database: the failure is in a file, for the next process.
    let kept = AuditLog { dir: dir.path().join("audit") }.waiting(brain.workspace());
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(kept[0].reason, FailureReason::Other);
}

#[test]
fn the_switch_lives_in_the_file_and_says_so() {
    let home = Home::sqlite();
    home.run(&["config", "set", "eval.capture", "false"])
        .exits(2)
        .stderr_has(r#""eval": { "capture": false }"#)
        .stderr_has("before a database is opened");
}

#[test]
fn measuring_is_not_captured() {
    let home = capturing(Home::sqlite());
    home.put("people/ada", "Ada paints boats.");
    home.ok(&["query", "boats"]);
    let file = home.write("c.ndjson", home.ok(&["eval", "export", "--quiet"]));
    home.ok(&["eval", "replay", "--against", &file]);
    assert_eq!(exported(&home).len(), 1);
}

#[test]
fn old_captures_go_by_themselves() {
    let home = Home::sqlite();
    configure(&home, &json!({ "capture": true, "retention_days": 7 }));
    home.put("people/ada", "Ada paints boats.");
    home.ok(&["query", "boats"]);
    let old = Timestamp::now().as_millisecond() - 8 * 86_400_000;
    let db = rusqlite::Connection::open(home.path().join("brain.db")).unwrap();
    db.execute("UPDATE eval_candidates SET created_at = ?1", [old]).unwrap();
    db.execute("UPDATE retrieval_logs SET created_at = ?1", [old]).unwrap();
    home.ok(&["query", "boats"]);
    assert_eq!(exported(&home).len(), 1);
    let logs = "SELECT count(*) FROM retrieval_logs";
    assert_eq!(db.query_row(logs, [], |row| row.get::<_, i64>(0)).unwrap(), 1);
}

#[test]
fn pruning_counts_exactly_and_zero_days_is_everything() {
    for home in Home::both().map(capturing) {
        home.put("people/ada", "Ada paints boats.");
        home.ok(&["query", "boats"]);
        home.ok(&["search", "boats"]);
        let prune = |args: &[&str]| {
            let args: Vec<&str> =
                ["eval", "prune", "--older-than"].iter().chain(args).copied().collect();
            home.json(&args)["rows"].as_u64().unwrap()
        };
        assert_eq!(prune(&["7d", "--dry-run"]), 0);
        assert_eq!(prune(&["0d", "--dry-run"]), 2);
        assert_eq!(prune(&["0d", "--dry-run", "--tool", "search"]), 1);
        assert_eq!(prune(&["0d", "--tool", "search"]), 1);
        assert_eq!(prune(&["0d", "--failures"]), 0, "failures alone");
        assert_eq!(prune(&["0d"]), 1);
        assert_eq!(exported(&home).len(), 0);
        assert_eq!(home.run(&["eval", "prune"]).code, Some(2));
        assert_eq!(home.run(&["eval", "prune", "--older-than", "soon"]).code, Some(2));
    }
}

#[test]
fn the_scrubber_can_be_tried() {
    use std::io::Write as _;

    let home = Home::sqlite();
    let scrubbed = |args: &[&str], input: &[u8]| {
        let mut child = home.spawn(args);
        child.stdin.take().unwrap().write_all(input).unwrap();
        Ran::of(child.wait_with_output().unwrap())
    };
    let ran = scrubbed(&["eval", "scrub"], b"to ada@example.com\nnothing here\n");
    assert_eq!(ran.stdout, "to [REDACTED]\nnothing here\n");
    let row = scrubbed(&["eval", "scrub", "--json"], b"to ada@example.com\n").json();
    assert_eq!((row["changed"].as_bool(), &row["families"]), (Some(true), &json!(["email"])));
    assert_eq!(scrubbed(&["eval", "scrub"], b"").stdout, "");
    assert_eq!(scrubbed(&["eval", "scrub"], b"\xff\xfe").code, Some(0));
}
