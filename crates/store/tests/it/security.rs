//! Row-level security: a role that does not own the tables sees its transaction's workspace only.

use gbrain_core::capture::FailureReason;
use gbrain_core::id::WorkspaceId;
use gbrain_store::{CaptureFilter, Location, OpenMode, PageWrite, StoreError, open};

use crate::captures::{capture, failure, read};
use crate::database::{Database, client};
use crate::fixture::*;

/// A role with plain grants, dropped at the end.
struct Tenant<'d> {
    db: &'d Database,
    name: String,
}

impl<'d> Tenant<'d> {
    fn new(db: &'d Database) -> Self {
        let name = format!("tenant_{:016x}", fastrand::u64(..));
        db.raw(&format!(
            "CREATE ROLE {name} LOGIN; \
             GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {name}"
        ))
        .unwrap();
        Self { db, name }
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

fn two_workspaces(db: &Database) -> WorkspaceId {
    let store = db.open();
    let other = WorkspaceId::new("other").unwrap();
    store.add_workspace(&other, at(0)).unwrap();
    let (page, more) = (full("a", "x"), full("b", "y"));
    let writes = [&page, &more].map(|page| PageWrite { page, origin: None });
    store.write_pages(&ws(), &writes[..1], at(1)).unwrap();
    store.write_pages(&other, &writes, at(1)).unwrap();
    for ws in [&ws(), &other] {
        store.config_set(ws, "k", "v").unwrap();
        store.add_captures(ws, &[capture("q")], at(1)).unwrap();
        store.add_capture_failures(ws, &[failure("e", 1, FailureReason::Other)]).unwrap();
    }
    other
}

const TABLES: [&str; 12] = [
    "sources",
    "pages",
    "page_versions",
    "chunks",
    "links",
    "aliases",
    "takes",
    "config",
    "changes",
    "eval_candidates",
    "eval_capture_failures",
    "eval_clock",
];

#[test]
fn a_query_without_where_sees_one_workspace() {
    let db = Database::postgres();
    two_workspaces(&db);
    let tenant = Tenant::new(&db);
    let mut client = tenant.client();
    let seen = |client: &mut postgres::Client, table: &str| -> Vec<String> {
        let column = if table == "workspaces" { "id" } else { "workspace_id" };
        let sql = format!("SELECT DISTINCT {column} FROM {table} ORDER BY 1");
        client.query(&sql, &[]).unwrap().iter().map(|row| row.get(0)).collect()
    };
    for table in TABLES.iter().chain(&["workspaces"]) {
        assert_eq!(seen(&mut client, table), Vec::<String>::new(), "{table}, nothing set");
        client
            .batch_execute("BEGIN; SELECT set_config('gbrain.workspace', 'other', true)")
            .unwrap();
        assert_eq!(seen(&mut client, table), ["other"], "{table}");
        client.batch_execute("COMMIT").unwrap();
        assert_eq!(seen(&mut client, table), Vec::<String>::new(), "{table}, after the end");
    }
}

#[test]
fn a_row_of_another_workspace_is_refused() {
    let db = Database::postgres();
    two_workspaces(&db);
    let tenant = Tenant::new(&db);
    let mut client = tenant.client();
    for sql in [
        "INSERT INTO config (workspace_id, key, value) VALUES ('default', 'stray', 'x')",
        "UPDATE config SET workspace_id = 'default', key = 'moved'",
        "UPDATE eval_candidates SET workspace_id = 'default', id = 9",
        "UPDATE eval_clock SET workspace_id = 'default'",
        "INSERT INTO eval_capture_failures VALUES ('default', 'stray', 0, 'other', '')",
        "INSERT INTO workspaces (id, created_at, root) VALUES ('third', 0, repeat('0', 64))",
    ] {
        client
            .batch_execute("BEGIN; SELECT set_config('gbrain.workspace', 'other', true)")
            .unwrap();
        let error = StoreError::from(client.batch_execute(sql).unwrap_err());
        assert!(matches!(error, StoreError::RowSecurity { .. }), "{sql}: {error:?}");
        client.batch_execute("ROLLBACK").unwrap();
    }
}

#[test]
fn the_store_works_for_a_tenant() {
    let db = Database::postgres();
    let other = two_workspaces(&db);
    let tenant = Tenant::new(&db);
    let store = open(&db.location_as(&tenant.name), OpenMode::Use, at(2)).unwrap();
    let page = full("c", "new");
    store.write_pages(&other, &[PageWrite { page: &page, origin: None }], at(3)).unwrap();
    store.delete_pages(&other, &[key("a")], at(4)).unwrap();
    store.restore_page(&other, &key("a"), at(5)).unwrap();
    store.purge_page(&other, &key("b"), at(6)).unwrap();
    assert_eq!(store.head(&other).unwrap().pages, 2);
    store.add_captures(&other, &[capture("mine")], at(7)).unwrap();
    store.close_captures(&other, at(8)).unwrap();
    assert_eq!(read(&*store, &other, &CaptureFilter::default()).len(), 2);
    assert_eq!(store.capture_summary(&other, at(8)).unwrap().failures, 1);
    let first = CaptureFilter { until: Some(at(7)), ..CaptureFilter::default() };
    assert_eq!(store.prune_captures(&other, &first).unwrap(), 1);
    assert_eq!(store.check(&other).unwrap(), []);
    assert_eq!(store.workspaces().unwrap().len(), 2);
    let third = WorkspaceId::new("third").unwrap();
    store.add_workspace(&third, at(7)).unwrap();
    store.remove_workspace(&third).unwrap();
    assert_eq!(store.head(&ws()).unwrap().pages, 1);
}

#[test]
fn missing_rights_are_told_apart() {
    let db = Database::postgres();
    two_workspaces(&db);
    let tenant = Tenant::new(&db);
    db.raw(&format!("REVOKE INSERT ON links FROM {}", tenant.name)).unwrap();
    let store = open(&db.location_as(&tenant.name), OpenMode::Use, at(2)).unwrap();
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
    let store = open(&db.location_as(&tenant.name), OpenMode::Use, at(2)).unwrap();
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
