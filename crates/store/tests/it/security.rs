//! Row-level security: a role, even the owner of the tables, sees only its transaction's workspace.

use gbrain_core::capture::FailureReason;
use gbrain_core::hash::Hash;
use gbrain_core::id::WorkspaceId;
use gbrain_core::job::JobState;
use gbrain_store::{AnswerKind, DeliveryEnd, RunKind, RunParts, Settlement, SuiteHistory};
use gbrain_store::{
    CaptureFilter, DocumentKind, JobOutcome, JobProgress, JobStep, Location, OpenMode, PageWrite,
    Store, StoreError,
};

use crate::captures::{capture, failure, read};
use crate::database::{Database, client};
use crate::fixture::*;
use crate::jobs::{claim, new_job, open_jobs, other, try_claim};
use crate::judgements::label;
use crate::playbook::{due, new_run, one_of_each, send};
use crate::spending::{charge, run, unrecorded};
use crate::tokens::new_token;

/// A role with plain grants, dropped at the end.
pub(crate) struct Tenant<'d> {
    db: &'d Database,
    pub(crate) name: String,
}

impl<'d> Tenant<'d> {
    pub(crate) fn new(db: &'d Database) -> Self {
        let name = format!("tenant_{:016x}", fastrand::u64(..));
        db.raw(&format!(
            "CREATE ROLE {name} LOGIN; \
             GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {name}"
        ))
        .unwrap();
        Self { db, name }
    }

    /// The same role as the owner of every table, as in single-role databases.
    fn owning(db: &'d Database) -> Self {
        let tenant = Self::new(db);
        for (table, _) in tables(db) {
            db.raw(&format!("ALTER TABLE {table} OWNER TO {}", tenant.name)).unwrap();
        }
        tenant
    }

    fn client(&self) -> postgres::Client {
        let Location::Postgres(url) = self.db.location_as(&self.name) else { unreachable!() };
        client(&url)
    }
}

impl Drop for Tenant<'_> {
    fn drop(&mut self) {
        let name = &self.name;
        let _ = self.db.raw(&format!("DROP OWNED BY {name}; DROP ROLE {name}"));
    }
}

/// Two workspaces with different rows in every table.
pub(crate) fn two_workspaces(db: &Database) -> Store {
    let store = db.open();
    store.add_workspace(&other(), at(0)).unwrap();
    let ours = [full("a", "x")];
    let theirs = [full("a", "y"), full("b", "z"), plain("seen", "by all")];
    for (ws, pages) in [(&ws(), &ours[..]), (&other(), &theirs[..])] {
        let writes: Vec<_> = pages.iter().map(|page| PageWrite { page, origin: None }).collect();
        store.write_pages(ws, &writes, at(1)).unwrap();
    }
    for (n, ws) in [ws(), other()].iter().enumerate() {
        let own = |what: &str| format!("{what} of {ws}");
        // The workspaces have different numbers of rows, so that they cannot be confused.
        for n in 0..=n {
            store.config_set(ws, &own(&format!("k{n}")), "v").unwrap();
            store.add_captures(ws, &[capture(&own("q"))], at(1)).unwrap();
            store.close_captures(ws, at(1 + n as i64)).unwrap();
            let failure = failure(&own(&format!("e{n}")), 1, FailureReason::Other);
            store.add_capture_failures(ws, &[failure]).unwrap();
            store.add_token(ws, &new_token(&own(&format!("t{n}"))), at(1)).unwrap();
            store.add_job(ws, &new_job(&own("kind")), at(1)).unwrap();
            let (kind, name) = (DocumentKind::Qrels, format!("d{n}"));
            store.put_document(ws, kind, &name, &own("body"), at(1)).unwrap();
            let label = label(&own(&format!("q{n}")), "a", 1);
            store.put_labels(ws, &[label], "ada", at(1)).unwrap();
            store.reserve(ws, &charge(&own("b"), 1, 9), at(1)).unwrap();
            let answer = format!("{n}");
            let key = Hash::of(own(&answer).as_bytes());
            store
                .store_model_answers(
                    ws,
                    AnswerKind::Expansion,
                    &[unrecorded(key, &own("x"))],
                    at(1),
                    at(99),
                )
                .unwrap();
            store.add_run(ws, RunKind::Contradictions, &run(&own(&answer), 1)).unwrap();
            one_of_each(&store, ws, &own(&format!("p{n}")));
        }
    }
    store
}

/// gbrain's tables, and the workspace column of each.
pub(crate) fn tables(db: &Database) -> Vec<(String, Option<String>)> {
    let Location::Postgres(url) = db.location() else { unreachable!() };
    let sql = "SELECT c.relname::text, max(a.attname::text) FROM pg_class c \
         JOIN pg_namespace n ON n.oid = c.relnamespace \
         LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND NOT a.attisdropped \
         AND (a.attname = 'workspace_id' OR (c.relname = 'workspaces' AND a.attname = 'id')) \
         WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') GROUP BY 1 ORDER BY 1";
    let rows = client(&url).query(sql, &[]).unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// The tables with rows of workspaces.
pub(crate) fn owned_tables(db: &Database) -> Vec<(String, String)> {
    tables(db).into_iter().filter_map(|(table, column)| Some((table, column?))).collect()
}

fn begin(client: &mut postgres::Client, workspace: &str) {
    let sql = format!("BEGIN; SELECT set_config('gbrain.workspace', '{workspace}', true)");
    client.batch_execute(&sql).unwrap();
}

#[test]
fn every_table_is_of_workspaces_and_secured() {
    let db = Database::postgres();
    drop(db.open());
    let unowned: Vec<String> = tables(&db)
        .into_iter()
        .filter(|(_, column)| column.is_none())
        .map(|(table, _)| table)
        .collect();
    assert_eq!(unowned, ["gbrain_migrations", "meta"], "tables that belong to nobody");
    let Location::Postgres(url) = db.location() else { unreachable!() };
    let sql = "SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace \
         AND relkind IN ('r', 'p') AND relrowsecurity ORDER BY 1";
    let secured: Vec<String> =
        client(&url).query(sql, &[]).unwrap().iter().map(|row| row.get(0)).collect();
    let owned: Vec<String> = owned_tables(&db).into_iter().map(|(table, _)| table).collect();
    assert_eq!(secured, owned);
    assert!(owned.len() >= 36, "{owned:?}");
}

#[test]
fn a_query_without_where_sees_one_workspace() {
    let db = Database::postgres();
    two_workspaces(&db);
    without_where(&db, Tenant::new(&db).client());
}

#[test]
fn the_owner_of_the_tables_sees_one_workspace_too() {
    let db = Database::postgres();
    two_workspaces(&db);
    let owner = Tenant::owning(&db);
    without_where(&db, owner.client());
    let store = Store::open(&db.location_as(&owner.name), OpenMode::Use, at(2)).unwrap();
    assert_eq!(store.workspaces().unwrap().len(), 2);
    assert_eq!(store.head(&other()).unwrap().pages, 3);
    store.remove_workspace(&other()).unwrap();
    assert_eq!(store.workspaces().unwrap().len(), 1);
    db.raw(&format!("REASSIGN OWNED BY {} TO CURRENT_USER", owner.name)).unwrap();
}

fn without_where(db: &Database, mut client: postgres::Client) {
    let seen = |client: &mut postgres::Client, table: &str, column: &str| -> Vec<String> {
        let sql = format!("SELECT DISTINCT {column} FROM {table} ORDER BY 1");
        client.query(&sql, &[]).unwrap().iter().map(|row| row.get(0)).collect()
    };
    let nothing = Vec::<String>::new();
    for (table, column) in &owned_tables(db) {
        assert_eq!(seen(&mut client, table, column), nothing, "{table}, nothing set");
        for workspace in ["default", "other"] {
            begin(&mut client, workspace);
            assert_eq!(seen(&mut client, table, column), [workspace], "{table}");
            client.batch_execute("COMMIT").unwrap();
        }
        assert_eq!(seen(&mut client, table, column), nothing, "{table}, after the end");
        for nobody in ["", "third", "Default"] {
            begin(&mut client, nobody);
            assert_eq!(seen(&mut client, table, column), nothing, "{table} of {nobody:?}");
            client.batch_execute("COMMIT").unwrap();
        }
        begin(&mut client, "*");
        let listed = ["workspaces", "tokens", "jobs", "suites", "alert_deliveries"];
        let listed = listed.contains(&table.as_str());
        let both = if listed { vec!["default", "other"] } else { vec![] };
        assert_eq!(seen(&mut client, table, column), both, "{table} in the directory");
        client.batch_execute("COMMIT").unwrap();
    }
}

#[test]
fn a_row_of_another_workspace_is_refused() {
    let db = Database::postgres();
    two_workspaces(&db);
    let tenant = Tenant::new(&db);
    let mut client = tenant.client();
    for (table, column) in &owned_tables(&db) {
        let stray = format!(
            "INSERT INTO {table} SELECT \
             (jsonb_populate_record({table}, '{{\"{column}\": \"default\"}}')).* FROM {table}"
        );
        let moved = format!("UPDATE {table} SET {column} = 'default'");
        for sql in [stray, moved] {
            begin(&mut client, "other");
            let error = StoreError::from(client.batch_execute(&sql).unwrap_err());
            assert!(matches!(error, StoreError::RowSecurity { .. }), "{sql}: {error:?}");
            client.batch_execute("ROLLBACK").unwrap();
        }
    }
}

#[test]
fn a_change_without_where_touches_one_workspace() {
    let db = Database::postgres();
    two_workspaces(&db);
    let tenant = Tenant::new(&db);
    let mut client = tenant.client();
    let Location::Postgres(url) = db.location() else { unreachable!() };
    let mut owner = crate::database::client(&url);
    for (table, column) in &owned_tables(&db) {
        let rows = format!("SELECT count(*) FROM {table} WHERE {column} = 'other'");
        let rows: i64 = owner.query_one(&rows, &[]).unwrap().get(0);
        for (workspace, expected) in [("other", rows as u64), ("*", 0), ("third", 0)] {
            begin(&mut client, workspace);
            let update = format!("UPDATE {table} SET {column} = {column}");
            assert_eq!(client.execute(&update, &[]).unwrap(), expected, "{update} as {workspace}");
            let lock = format!("SELECT 1 FROM {table} FOR UPDATE");
            let locked = client.query(&lock, &[]).unwrap().len() as u64;
            assert_eq!(locked, expected, "{lock} as {workspace}");
            let delete = format!("DELETE FROM {table}");
            assert_eq!(client.execute(&delete, &[]).unwrap(), expected, "{delete} as {workspace}");
            client.batch_execute("ROLLBACK").unwrap();
        }
    }
}

#[test]
fn the_store_works_for_a_tenant() {
    let db = Database::postgres();
    two_workspaces(&db);
    let (other, tenant) = (other(), Tenant::new(&db));
    let store = Store::open(&db.location_as(&tenant.name), OpenMode::Use, at(2)).unwrap();
    let page = full("c", "new");
    store.write_pages(&other, &[PageWrite { page: &page, origin: None }], at(3)).unwrap();
    store.delete_pages(&other, &[key("a")], at(4)).unwrap();
    store.restore_page(&other, &key("a"), at(5)).unwrap();
    store.purge_page(&other, &key("b"), at(6)).unwrap();
    assert_eq!(store.head(&other).unwrap().pages, 3);
    store.add_captures(&other, &[capture("mine")], at(7)).unwrap();
    store.close_captures(&other, at(8)).unwrap();
    assert_eq!(read(&store, &other, &CaptureFilter::default()).len(), 3);
    assert_eq!(store.capture_summary(&other, at(8)).unwrap().failures, 2);
    let first = CaptureFilter { until: Some(at(7)), ..CaptureFilter::default() };
    assert_eq!(store.prune_captures(&other, &first).unwrap(), 2);
    assert_eq!(store.check(&other).unwrap(), []);
    assert_eq!(store.workspaces().unwrap().len(), 2);
    let third = WorkspaceId::new("third").unwrap();
    store.add_workspace(&third, at(7)).unwrap();
    store.remove_workspace(&third).unwrap();
    assert_eq!(store.head(&ws()).unwrap().pages, 1);
}

#[test]
fn serving_works_for_a_tenant() {
    let db = Database::postgres();
    two_workspaces(&db);
    let tenant = Tenant::new(&db);
    let store = Store::open(&db.location_as(&tenant.name), OpenMode::Use, at(2)).unwrap();
    assert!(store.has_live_tokens(at(2)).unwrap());
    assert_eq!(store.find_token("t0 of default").unwrap().unwrap().workspace, ws());
    assert_eq!(store.find_token("t1 of other").unwrap().unwrap().workspace, other());
    store.touch_token(&other(), "t0 of other", at(3)).unwrap();
    assert!(store.revoke_token(&other(), "t0 of other", at(3)).unwrap());
    assert_eq!(open_jobs(&store).queued, 6);
    assert_eq!(store.job_counts_of(&other()).unwrap().queued, 4);
    // The existing ones, so that later ones belong to this test.
    while try_claim(&store, "before", 3).is_some() {}
    for workspace in [ws(), other()] {
        let id = store.add_job(&workspace, &new_job("import"), at(3)).unwrap();
        let (job, lease) = claim(&store, "w", 4);
        assert_eq!((&job.info.workspace, job.info.id), (&workspace, id));
        let progress = JobProgress::default();
        store.heartbeat_job(&workspace, id, &lease, &progress, at(20), at(5)).unwrap();
        let page = plain("imported", "text");
        let step =
            JobStep { id, lease: &lease, checkpoint: &|_| "1".to_owned(), done: 1, total: None };
        let write = PageWrite { page: &page, origin: None };
        store.write_pages_in_job(&workspace, &[write], &step, at(6)).unwrap();
        let outcome = JobOutcome::Done("{}".to_owned());
        assert!(store.finish_job(&workspace, id, &lease, &outcome, at(7)).unwrap());
        assert_eq!(store.cancel_job(&workspace, id, at(8)).unwrap(), Some(JobState::Done));
        assert_eq!(store.prune_jobs(&workspace, at(9)).unwrap(), 1);
        store.put_document(&workspace, DocumentKind::Baseline, "n", "x", at(9)).unwrap();
        assert!(store.put_document(&workspace, DocumentKind::Baseline, "n", "y", at(9)).unwrap());
        store.put_labels(&workspace, &[label("q", "a", 2)], "ada", at(9)).unwrap();
        let charged = store.reserve(&workspace, &charge("b", 1, 9), at(9)).unwrap();
        assert!(store.settle(&workspace, &charged, &Settlement::Unknown, at(9)).unwrap());
        let key = Hash::of(b"key");
        let kind = AnswerKind::Expansion;
        store
            .store_model_answers(&workspace, kind, &[unrecorded(key, "x")], at(9), at(10))
            .unwrap();
        assert!(store.add_run(&workspace, RunKind::QualityProbe, &run("r", 1)).unwrap());
        assert_eq!(store.check(&workspace).unwrap(), []);
    }
    assert_eq!(store.job_counts_of(&ws()).unwrap().queued, 1, "of a kind that nobody does");
}

#[test]
fn the_playbook_works_for_a_tenant() {
    let db = Database::postgres();
    two_workspaces(&db);
    let tenant = Tenant::new(&db);
    let store = Store::open(&db.location_as(&tenant.name), OpenMode::Use, at(2)).unwrap();
    assert_eq!(store.workspaces_with_suites().unwrap(), [ws(), other()]);
    while try_claim(&store, "before", 3).is_some() {}
    for workspace in [ws(), other()] {
        one_of_each(&store, &workspace, "mine");
        let fired = store.queue_due_run(&workspace, &due("mine", "2", Some(7), 8), at(3)).unwrap();
        let (job, lease) = claim(&store, "w", 4);
        assert_eq!((&job.info.workspace, Some(job.info.id + 1)), (&workspace, fired));
        let (run, result) = (new_run("mine", Some("2")), |_| "{}".to_owned());
        let recorded =
            store.finish_suite_run(&workspace, job.info.id, &lease, &run, &result, at(5)).unwrap();
        assert!(recorded.is_some());
        let end = JobOutcome::Cancelled;
        let (job, lease) = claim(&store, "w", 6);
        assert!(store.finish_job(&workspace, job.info.id, &lease, &end, at(7)).unwrap());
        assert_eq!(store.check(&workspace).unwrap(), []);
    }
    let sent = send(&store, "w", 100, 8);
    assert_eq!(sent.iter().filter(|message| message.workspace == other()).count(), 3);
    for message in sent {
        let lease = message.lease().unwrap();
        let end = DeliveryEnd::Sent;
        assert!(store.end_delivery(&message.workspace, message.id, &lease, &end, at(9)).unwrap());
    }
    store.purge_page(&other(), &key("b"), at(10)).unwrap();
    let seen = store.alert_board(&other()).unwrap().cursor;
    assert!(store.store_alert_evaluation(&other(), seen, 99, &[], &[], at(11)).unwrap());
    let erased = store.prune_suite_history(&other(), at(100_000), RunParts::All, 1_000).unwrap();
    assert_eq!(
        erased,
        SuiteHistory { runs: 1, logs: 3, events: 3 },
        "the last of each suite stays"
    );
    assert_eq!(store.prune_deliveries(&other(), at(99)).unwrap(), 3);
    assert_eq!(store.suite_runs_after(&ws(), 0, 99).unwrap().len(), 3);
}

#[test]
fn missing_privileges_are_distinguished() {
    let db = Database::postgres();
    two_workspaces(&db);
    let tenant = Tenant::new(&db);
    db.raw(&format!("REVOKE INSERT ON links FROM {}", tenant.name)).unwrap();
    let store = Store::open(&db.location_as(&tenant.name), OpenMode::Use, at(2)).unwrap();
    let page = full("c", "new");
    let error = store.write_pages(&ws(), &[PageWrite { page: &page, origin: None }], at(3));
    let error = error.unwrap_err();
    assert!(matches!(error, StoreError::Denied { .. }), "{error:?}");
    assert!(error.to_string().contains("links"), "{error}");
}

#[test]
fn a_refused_capture_leaves_its_failure() {
    let db = Database::postgres();
    two_workspaces(&db);
    let tenant = Tenant::new(&db);
    let store = Store::open(&db.location_as(&tenant.name), OpenMode::Use, at(2)).unwrap();
    let refuse = "CREATE POLICY nobody ON eval_candidates AS RESTRICTIVE FOR INSERT \
         WITH CHECK (false)";
    let revoke = format!("REVOKE INSERT ON eval_candidates FROM {}", tenant.name);
    for (event, sql) in [("policy", refuse), ("right", &revoke)] {
        db.raw(sql).unwrap();
        let error = store.add_captures(&ws(), &[capture("the secret query")], at(3)).unwrap_err();
        let by_policy = matches!(error, StoreError::RowSecurity { .. });
        assert_eq!(by_policy, event == "policy", "{error:?}");
        assert_eq!(error.failure_reason(), FailureReason::RlsReject);
        assert!(!error.to_string().contains("secret"), "{error}");
        let kept = failure(event, 4, error.failure_reason());
        store.add_capture_failures(&ws(), std::slice::from_ref(&kept)).unwrap();
        assert!(store.capture_failures(&ws(), Some(at(4)), 9).unwrap().contains(&kept));
    }
    assert_eq!(store.count_captures(&ws(), &CaptureFilter::default()).unwrap(), 1);
}

/// The tables that evaluation fills, which a session may read without naming a workspace if there
/// is only one.
const READABLE: [&str; 10] = [
    "eval_candidates",
    "eval_capture_failures",
    "canonical_queries",
    "retrieval_logs",
    "feedback_events",
    "rerank_thresholds",
    "rerank_scores",
    "model_answers",
    "braintrust_queries",
    "eval_contradictions_cache",
];

/// One workspace, with a row in every table that evaluation fills.
fn one_workspace(db: &Database) -> Store {
    let store = db.open();
    store.add_captures(&ws(), &[capture("q")], at(1)).unwrap();
    store.add_capture_failures(&ws(), &[failure("e", 1, FailureReason::Other)]).unwrap();
    store.add_token(&ws(), &new_token("t"), at(1)).unwrap();
    write(&store, &[&full("a", "x")], 1);
    let key = Hash::of(b"judged");
    let answers = [unrecorded(key, "{}")];
    for kind in [AnswerKind::Contradiction, AnswerKind::Expansion] {
        store.store_model_answers(&ws(), kind, &answers, at(1), at(99)).unwrap();
    }
    one_of_each(&store, &ws(), "p");
    store
}

fn rows_seen(client: &mut postgres::Client, relation: &str) -> i64 {
    client.query_one(&format!("SELECT count(*) FROM {relation}"), &[]).unwrap().get(0)
}

/// A session as psql opens one: it names no workspace.
#[test]
fn an_unnamed_session_reads_the_evaluation_of_an_only_workspace() {
    let db = Database::postgres();
    let store = one_workspace(&db);
    let owner = Tenant::owning(&db);
    let mut client = owner.client();
    let readable = |client: &mut postgres::Client| -> Vec<(String, i64)> {
        let seen =
            owned_tables(&db).into_iter().map(|(table, _)| (rows_seen(client, &table), table));
        seen.filter(|(rows, _)| *rows > 0).map(|(rows, table)| (table, rows)).collect()
    };
    let mut seen: Vec<String> = readable(&mut client).into_iter().map(|(table, _)| table).collect();
    seen.sort();
    let mut expected: Vec<&str> = READABLE[..8].to_vec();
    expected.sort_unstable();
    assert_eq!(seen, expected, "no pages, no tokens");
    assert_eq!(rows_seen(&mut client, "model_answers"), 1, "of the contradiction probe only");
    assert_eq!(rows_seen(&mut client, "eval_contradictions_cache"), 1);
    assert!(rows_seen(&mut client, "braintrust_queries") > 0);
    // It may not change anything.
    for sql in ["DELETE FROM eval_candidates", "UPDATE eval_candidates SET latency_ms = 0"] {
        assert_eq!(client.execute(sql, &[]).unwrap(), 0, "{sql}");
    }
    // With a second workspace nothing is visible, until that is removed.
    store.add_workspace(&other(), at(2)).unwrap();
    store.add_captures(&other(), &[capture("theirs")], at(2)).unwrap();
    assert_eq!(readable(&mut client), []);
    for view in ["braintrust_queries", "eval_contradictions_cache"] {
        assert_eq!(rows_seen(&mut client, view), 0, "{view}");
    }
    store.remove_workspace(&other()).unwrap();
    assert_eq!(rows_seen(&mut client, "eval_candidates"), 1);
    // A named workspace is the visible one.
    client.batch_execute("SET gbrain.workspace = 'elsewhere'").unwrap();
    assert_eq!(readable(&mut client), []);
    db.raw(&format!("REASSIGN OWNED BY {} TO CURRENT_USER", owner.name)).unwrap();
}

/// A role that may read one table needs no privilege on the table that names the only workspace.
#[test]
fn a_role_with_one_grant_reads_one_table() {
    let db = Database::postgres();
    let store = one_workspace(&db);
    let role = format!("reader_{:016x}", fastrand::u64(..));
    db.raw(&format!("CREATE ROLE {role} LOGIN; GRANT SELECT ON eval_candidates TO {role}"))
        .unwrap();
    let Location::Postgres(url) = db.location_as(&role) else { unreachable!() };
    let mut reader = client(&url);
    let alone = rows_seen(&mut reader, "eval_candidates");
    let refused = reader.query("SELECT * FROM meta", &[]).is_err();
    store.add_workspace(&other(), at(2)).unwrap();
    let beside = rows_seen(&mut reader, "eval_candidates");
    db.raw(&format!("DROP OWNED BY {role}; DROP ROLE {role}")).unwrap();
    assert_eq!((alone, refused, beside), (1, true, 0));
}

/// Two transactions, one adding a workspace while the other removes one, leave no stale name.
#[test]
fn an_only_workspace_is_named_under_a_lock() {
    let db = Database::postgres();
    let store = one_workspace(&db);
    let third = WorkspaceId::new("third").unwrap();
    store.add_workspace(&third, at(2)).unwrap();
    let named =
        || db.text("SELECT coalesce(max(value), '') FROM meta WHERE key = 'single_workspace'");
    std::thread::scope(|scope| {
        let mut remover = db.connect();
        remover.batch("BEGIN; DELETE FROM workspaces WHERE id = 'third'").unwrap();
        let adding = scope.spawn(|| store.add_workspace(&other(), at(3)).unwrap());
        remover.batch("SELECT pg_sleep(0.2); COMMIT").unwrap();
        adding.join().unwrap();
    });
    assert_eq!(store.workspaces().unwrap().len(), 2);
    assert_eq!(named(), "");
    store.remove_workspace(&other()).unwrap();
    assert_eq!(named(), "default");
}

/// Before PostgreSQL 15 a view reads with the privileges of its owner, a superuser here: the view
/// checks the workspace itself.
#[test]
fn views_of_older_servers_show_one_workspace() {
    const MIGRATION: &str = include_str!("../../src/postgres/0006_windows.sql");
    let db = Database::postgres();
    two_workspaces(&db);
    let views = MIGRATION.rsplit_once("-- Names that").unwrap().1.split_once("DO $$").unwrap().1;
    let older = format!("DO $${}", views.replace("150000", "990000"));
    db.raw(&format!("DROP VIEW braintrust_queries; DROP VIEW eval_contradictions_cache; {older}"))
        .unwrap();
    let tenant = Tenant::new(&db);
    let mut client = tenant.client();
    assert_eq!(rows_seen(&mut client, "braintrust_queries"), 0);
    for (workspace, expected) in [("default", 1), ("other", 2), ("third", 0)] {
        begin(&mut client, workspace);
        assert_eq!(rows_seen(&mut client, "braintrust_queries"), expected, "{workspace}");
        client.batch_execute("COMMIT").unwrap();
    }
}
