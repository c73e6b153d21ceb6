//! The store's own statements without their filter by workspace.
//!
//! A tenant's role sees views before the tables. In these views every row has the requested
//! workspace, so the filter of every statement passes all rows, as if it were missing. Row-level
//! security is then the only protection, and must be enough.

use std::ops::ControlFlow;

use gbrain_core::id::{Generation, SourceId, WorkspaceId};
use gbrain_store::RunKind;
use gbrain_store::{
    CaptureFilter, DeliveryFilter, DocumentKind, JobFilter, Location, OpenMode, PageFilter,
    PageVersion, QueryFilter, QueryState, RetrievalFilter, RunParts, Store, SuiteRunFilter,
};

use crate::database::{Database, client};
use crate::fixture::*;
use crate::jobs::other;
use crate::security::{Tenant, owned_tables, two_workspaces};

/// Puts the views before a role's tables.
fn blind(db: &Database, tenant: &Tenant<'_>) {
    let Location::Postgres(url) = db.location() else { unreachable!() };
    let mut owner = client(&url);
    let name = &tenant.name;
    owner
        .batch_execute(
            "CREATE SCHEMA blind; CREATE TABLE blind.gbrain_migrations AS \
         TABLE public.gbrain_migrations",
        )
        .unwrap();
    for (table, column) in owned_tables(db) {
        let sql = "SELECT attname::text FROM pg_attribute WHERE attrelid = $1::text::regclass \
             AND attnum > 0 AND NOT attisdropped ORDER BY attnum";
        let rows = owner.query(sql, &[&format!("public.{table}")]).unwrap();
        let said = format!(
            "(CASE current_setting('gbrain.workspace', true) WHEN '*' THEN {column} \
             ELSE current_setting('gbrain.workspace', true) END) COLLATE \"C\" AS {column}"
        );
        let columns: Vec<String> = rows
            .iter()
            .map(|row| row.get::<_, String>(0))
            .map(|name| if name == column { said.clone() } else { name })
            .collect();
        let columns = columns.join(", ");
        let view = format!(
            "CREATE VIEW blind.{table} WITH (security_invoker = true) AS \
             SELECT {columns} FROM public.{table}"
        );
        owner.batch_execute(&view).unwrap();
    }
    owner
        .batch_execute(&format!(
            "GRANT USAGE ON SCHEMA blind TO {name}; \
             GRANT SELECT, UPDATE, DELETE ON ALL TABLES IN SCHEMA blind TO {name}; \
             ALTER ROLE {name} SET search_path = blind, public"
        ))
        .unwrap();
}

/// Everything that can be read from a workspace, by operation.
fn everything(store: &Store, ws: &WorkspaceId) -> Vec<(&'static str, String)> {
    let said = |what, answer: &dyn std::fmt::Debug| (what, format!("{answer:?}"));
    let (a, b) = (key("a"), key("b"));
    let deleted = PageFilter { include_deleted: true, ..PageFilter::default() };
    let mut captures = Vec::new();
    let captured = store.captures(ws, &CaptureFilter::default(), &mut |row| {
        captures.push(row);
        Ok(ControlFlow::Continue(()))
    });
    let kind = DocumentKind::Qrels;
    let all = CaptureFilter::default();
    let mut stats = store.stats(ws);
    if let Ok(stats) = &mut stats {
        stats.database_bytes = 0;
    }
    let first = PageVersion { id: gbrain_core::id::PageId(1), version: 1 };
    vec![
        said("sources", &store.sources(ws)),
        said("list", &store.list(ws, &deleted, None, 100)),
        said("pages", &store.pages(ws, &[a.clone(), b.clone()])),
        said("page_at_version", &store.page_at_version(ws, &b, 1)),
        said("texts", &store.texts(ws, &[first])),
        said("history", &store.history(ws, &b)),
        said("digests", &store.digests(ws, &SourceId::default())),
        said("visibilities", &store.visibilities(ws, &[a, b])),
        said("visible_pages", &store.visible_pages(ws)),
        said("head", &store.head(ws)),
        said("head_at", &store.head_at(ws, Generation(2))),
        said("changes", &store.changes(ws, Generation(0), 100, 1 << 20)),
        said("config_list", &store.config_list(ws)),
        said("captures", &(captured, captures)),
        said("count_captures", &store.count_captures(ws, &all)),
        said("capture_failures", &store.capture_failures(ws, None, 100)),
        said("capture_summary", &store.capture_summary(ws, at(9))),
        said("tokens", &store.tokens(ws)),
        said("job", &store.job(ws, 2)),
        said("jobs", &store.jobs(ws, &JobFilter::default(), 100)),
        said("job_counts_of", &store.job_counts_of(ws)),
        said("document", &store.document(ws, kind, "d0")),
        said("documents", &store.documents(ws, kind)),
        said("labels", &store.labels(ws, None, 100)),
        said("spend", &store.spend(ws, at(0))),
        said("runs", &store.runs(ws, RunKind::Contradictions, at(0), 100)),
        said("suites", &store.suites(ws)),
        said("suite_cursors", &store.suite_cursors(ws)),
        said("events_after", &store.events_after(ws, 0, 100)),
        said("event_head", &store.event_head(ws)),
        said("suite_run", &store.suite_run(ws, 2)),
        said("suite_runs", &store.suite_runs(ws, &SuiteRunFilter::default(), 100)),
        said("suite_runs_after", &store.suite_runs_after(ws, 0, 100)),
        said("canonical_queries", &store.canonical_queries(ws, &QueryFilter::default(), 100)),
        said("retrieval_logs", &store.retrieval_logs(ws, &RetrievalFilter::default())),
        said("feedback", &store.feedback(ws, &[1, 2])),
        said("pairs", &store.pairs(ws, None, 100)),
        said("thresholds", &store.thresholds(ws, None, 100)),
        said("rerank_scores", &store.rerank_scores(ws, 2)),
        said("alert_board", &store.alert_board(ws)),
        said("deliveries", &store.deliveries(ws, &DeliveryFilter::default(), 100)),
        said("delivery_counts", &store.delivery_counts(ws)),
        said("silences", &store.silences(ws, None)),
        said("incidents", &store.incidents(ws, None, 100)),
        said("stats", &stats),
        said("check", &store.check(ws)),
    ]
}

#[test]
fn a_forgotten_filter_shows_nothing_of_others() {
    let db = Database::postgres();
    let honest = two_workspaces(&db);
    let tenant = Tenant::new(&db);
    blind(&db, &tenant);
    let forgetful = Store::open(&db.location_as(&tenant.name), OpenMode::Use, at(2)).unwrap();
    for ws in [ws(), other()] {
        assert_eq!(everything(&forgetful, &ws), everything(&honest, &ws), "{ws}");
    }
    assert_eq!(forgetful.find_token("t0 of other").unwrap().unwrap().workspace, other());

    // Without row-level security the same statements return rows of others: the filters are indeed
    // ineffective.
    for (table, _) in owned_tables(&db) {
        db.raw(&format!("ALTER TABLE {table} DISABLE ROW LEVEL SECURITY")).unwrap();
    }
    let told = |ws: &WorkspaceId| {
        let pairs = everything(&forgetful, ws).into_iter().zip(everything(&honest, ws));
        pairs.map(|(mixed, own)| (own.0, mixed == own)).collect::<Vec<_>>()
    };
    for ((what, alike), (_, also)) in told(&ws()).into_iter().zip(told(&other())) {
        assert!(!(alike && also), "{what} has a filter still");
    }
}

#[test]
fn a_forgotten_filter_changes_nothing_of_others() {
    let db = Database::postgres();
    let honest = two_workspaces(&db);
    let before = everything(&honest, &ws());
    let tenant = Tenant::new(&db);
    blind(&db, &tenant);
    let store = Store::open(&db.location_as(&tenant.name), OpenMode::Use, at(2)).unwrap();
    let other = other();
    store.config_unset(&other, "k0 of default").unwrap();
    store.prune_captures(&other, &CaptureFilter::default()).unwrap();
    store.prune_capture_failures(&other, Some(at(99))).unwrap();
    store.touch_token(&other, "t0 of default", at(9)).unwrap();
    assert!(!store.revoke_token(&other, "t0 of default", at(9)).unwrap());
    store.cancel_job(&other, 1, at(9)).unwrap();
    store.prune_jobs(&other, at(99)).unwrap();
    let kind = DocumentKind::Qrels;
    assert!(store.delete_document(&other, kind, "d0").unwrap());
    store.delete_label(&other, 1).unwrap();
    store.disable_suite(&other, "p0 of default", at(9)).unwrap();
    store.remove_suite(&other, "p0 of default").unwrap();
    store.prune_suite_history(&other, at(99), RunParts::All, 1_000).unwrap();
    store.set_query_state(&other, 1, QueryState::Active, at(9)).unwrap();
    store.delete_query(&other, 1).unwrap();
    store.delete_pair(&other, 1).unwrap();
    store.prune_deliveries(&other, at(99)).unwrap();
    store.end_silence(&other, 1, at(2)).unwrap();
    store.edit_incident(&other, 1, &|_| "noted".to_owned()).unwrap();
    assert_eq!(everything(&honest, &ws()), before);
    let theirs = everything(&honest, &other);
    let gone = ["count_captures", "captures"];
    for (what, answer) in theirs.iter().filter(|(what, _)| gone.contains(what)) {
        assert!(answer == "Ok(0)" || answer == "(Ok(()), [])", "{what}: {answer}");
    }
    assert_eq!(honest.job_counts_of(&other).unwrap().queued, 3, "its own was cancelled");
    assert_eq!(honest.labels(&other, None, 9).unwrap().len(), 1, "its own was deleted");
}
