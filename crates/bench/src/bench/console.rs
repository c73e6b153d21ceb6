//! `bench console`: what pages of large workspaces cost beside the API operations that they read, in
//! one server for each.
//!
//! - A gate of 100,000 rows is stored as a finished job. Its first page, a filter, an order and one case
//!   are requested by turns with `GET /v1/runs/1/result`; the page that is opened first, with nothing in
//!   memory, is timed on its own.
//! - 200 suites have a run for every day of a year. The overview and the list of suites are requested by
//!   turns with the operations that they call.
//!
//! Pages are requested as browsers do, with gzip.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use gbrain_bench::program::built_program;
use gbrain_core::id::WorkspaceId;
use gbrain_store::{Location, OpenMode, Store};
use gbrain_testkit::http::Caller;
use gbrain_testkit::process::Gbrain;
use gbrain_testkit::served::Served;
use gbrain_testkit::vitals::status_kib;
use jiff::Timestamp;
use rusqlite::Connection;
use serde_json::{Value, json};

use super::percentile::median;
use super::report::{Cell, Report};

/// How much longer than the API operations a page may take.
const MOST: f64 = 3.0;
/// Maximum size of the first page on the wire, in bytes.
const WIRE: usize = 100 << 10;
/// How much the memory may grow over all page views, in KiB.
const GROWTH_KIB: u64 = 16 << 10;
const FIRST: &str = "/runs/1";
const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../cli/demo");

/// What the overview calls.
const OVERVIEW: [&str; 10] = [
    "/v1/suites",
    "/v1/suite-trends",
    "/v1/eval/status",
    "/v1/capture-days",
    "/v1/alerts",
    "/v1/incidents?state=open&limit=50",
    "/v1/probe",
    "/v1/runs?limit=100",
    "/v1/spend",
    "/v1/changes?limit=10",
];

/// Measures pages of the console.
#[derive(Debug, clap::Args)]
pub(crate) struct ConsoleArgs {
    /// Rows of the run.
    #[arg(long, default_value_t = 100_000)]
    rows: usize,
    /// Suites of the overview.
    #[arg(long, default_value_t = 200)]
    suites: usize,
    /// Days on which every suite ran.
    #[arg(long, default_value_t = 365)]
    days: usize,
    /// Turns.
    #[arg(long, default_value_t = 9)]
    turns: usize,
    /// Views of pages of the run over which the memory must stay flat.
    #[arg(long, default_value_t = 10_000)]
    views: usize,
    /// Views of the overview and of the suites over which the memory must stay flat.
    #[arg(long, default_value_t = 1_000)]
    suite_views: usize,
}

/// Pages of one server, each with the operations that it is compared with.
struct Subject {
    name: String,
    pages: Vec<(&'static str, String, Vec<String>)>,
    /// Pages that are requested over and over while the memory is watched, and how often.
    views: (Vec<String>, usize),
}

/// Measures both servers.
pub(crate) fn run(args: &ConsoleArgs) -> Result<Report> {
    let headers = ["what", "turns", "page ms", "operations ms", "ratio", "bytes on the wire"];
    let mut report = Report::new("console", &headers);
    let program = built_program()?;
    let run = tempfile::tempdir()?;
    report.fact(
        "stored result of the run, bytes",
        Cell::Count(store_run(run.path(), args.rows)? as u64),
    );
    measure(args, &program, run.path(), &run_pages(args), &mut report)?;
    let brain = Gbrain::new_in(&program, &std::env::temp_dir(), None)?;
    store_suites(&brain, args)?;
    measure(args, &program, brain.home(), &suite_pages(args), &mut report)?;
    Ok(report)
}

fn run_pages(args: &ConsoleArgs) -> Subject {
    let rows = args.rows;
    let page = |what, path| (what, path, vec!["/v1/runs/1/result".to_owned()]);
    Subject {
        name: format!("run of {rows} rows"),
        pages: vec![
            page("first page", FIRST.to_owned()),
            page("filter", format!("{FIRST}?show=errored&source=wiki")),
            page("sort", format!("{FIRST}?show=all&sort=latency")),
            page("one case", format!("{FIRST}/rows/{}", rows / 2)),
        ],
        views: ((1..=50).map(|at| format!("{FIRST}?show=all&page={at}")).collect(), args.views),
    }
}

fn suite_pages(args: &ConsoleArgs) -> Subject {
    let operations = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
    Subject {
        name: format!("{} suites, {} days", args.suites, args.days),
        pages: vec![
            ("overview", "/".to_owned(), operations(&OVERVIEW)),
            ("suites", "/suites".to_owned(), operations(&["/v1/suites", "/v1/suite-days"])),
        ],
        views: (vec!["/".to_owned(), "/suites".to_owned()], args.suite_views),
    }
}

/// Adds the pages of one server to the report.
fn measure(
    args: &ConsoleArgs,
    program: &Path,
    home: &Path,
    subject: &Subject,
    report: &mut Report,
) -> Result<()> {
    let Subject { name, pages, views } = subject;
    let mut command = Command::new(program);
    command.args(["serve", "--home"]).arg(home);
    let server = Served::start(command)?;
    let mut caller = server.connect()?;
    caller.accept_gzip();
    let cold = timed(&mut caller, &pages[0].1)?;
    let mut times = vec![(Vec::new(), Vec::new(), 0); pages.len()];
    for _ in 0..args.turns {
        for ((_, path, operations), (page, operation, wire)) in pages.iter().zip(&mut times) {
            let (took, bytes) = timed(&mut caller, path)?;
            page.push(took);
            *wire = bytes;
            let mut all = 0.0;
            for path in operations {
                all += timed(&mut caller, path)?.0;
            }
            operation.push(all);
        }
    }
    let mut first = None;
    for ((what, _, _), (page, operation, wire)) in pages.iter().zip(&times) {
        let (page, operation) = (median(page), median(operation));
        first.get_or_insert(operation);
        report.row(vec![
            Cell::text(format!("{name}: {what}")),
            Cell::Count(args.turns as u64),
            Cell::number(page * 1e3, 2),
            Cell::number(operation * 1e3, 2),
            Cell::number(page / operation, 3),
            Cell::Count(*wire as u64),
        ]);
        let most = format!("{name}: {what} takes at most {MOST} times the operations");
        report.target(most, page <= MOST * operation);
    }
    let what = pages[0].0;
    let most =
        format!("{name}: {what} with nothing in memory takes at most {MOST} times the operations");
    report.target(
        format!("{most} ({:.1} ms)", cold.0 * 1e3),
        cold.0 <= MOST * first.unwrap_or_default(),
    );
    report.target(format!("{name}: {what} has at most {WIRE} bytes on the wire"), cold.1 <= WIRE);
    let (paths, views) = views;
    let [before, after] = memory(&server, &mut caller, paths, *views)?;
    report.target(
        format!("{name}: memory grows by at most {GROWTH_KIB} KiB over {} views ({before} to {after} KiB)", views),
        after <= before + GROWTH_KIB,
    );
    server.stop()?;
    Ok(())
}

/// Seconds until the answer is here, and its bytes on the wire.
fn timed(caller: &mut Caller, path: &str) -> Result<(f64, usize)> {
    let start = Instant::now();
    let answer = caller.get(path)?;
    let took = start.elapsed().as_secs_f64();
    ensure!(answer.status == 200, "{path}: {} {}", answer.status, answer.text());
    Ok((took, answer.body.len()))
}

/// Resident memory after a tenth of the page views, and after all.
fn memory(
    server: &Served,
    caller: &mut Caller,
    pages: &[String],
    views: usize,
) -> Result<[u64; 2]> {
    let mut look = |n: usize| -> Result<u64> {
        for page in pages.iter().cycle().take(n) {
            timed(caller, page)?;
        }
        Ok(status_kib(server.pid(), "VmRSS"))
    };
    Ok([look(views / 10)?, look(views - views / 10)?])
}

/// Copies one suite and its run so often. The alerts have been evaluated up to the last of them.
fn store_suites(brain: &Gbrain, args: &ConsoleArgs) -> Result<()> {
    let demo = |name: &str| format!("{DEMO}/{name}");
    for command in [
        &["import", &demo("wiki"), "--quiet"] as &[&str],
        &["queries", "import", &demo("queries.jsonl"), "--quiet"],
        &["suites", "create", "--from", "smoke", "--file", &demo("suites.yaml")],
    ] {
        let output = brain.run(command)?;
        ensure!(output.code == Some(0), "{command:?}: {}", output.stderr);
    }
    // The journal is not imported, so that some cases fail.
    let run = brain.run(&["suites", "run", "smoke", "--file", &demo("suites.yaml")])?;
    ensure!(matches!(run.code, Some(0 | 1)), "suites run: {}", run.stderr);
    let ws = WorkspaceId::default();
    let now = Timestamp::now();
    let store = brain.store()?;
    let suite = store.suite(&ws, "smoke")?.context("the suite is not stored")?;
    let named = |at: usize| format!("suite-{at:03}");
    for at in 0..args.suites {
        let spec = suite.spec.replace("\"smoke\"", &format!("\"{}\"", named(at)));
        store.put_suite(&ws, &named(at), &spec, now)?;
    }
    drop(store);
    let connection = Connection::open(brain.home().join("brain.db"))?;
    connection.execute(
        "WITH RECURSIVE suite(s) AS (SELECT 0 UNION ALL SELECT s + 1 FROM suite WHERE s + 1 < ?1), \
           day(d) AS (SELECT 1 UNION ALL SELECT d + 1 FROM day WHERE d < ?2) \
         INSERT INTO suite_runs (workspace_id, id, suite, key, trigger, attempt, started_at, finished_at, verdict, summary) \
         SELECT workspace_id, 1 + (d - 1) * ?1 + s + 1, printf('suite-%03d', s), printf('%d', d), trigger, attempt, \
           started_at - (?2 - d) * 86400000, finished_at - (?2 - d) * 86400000, \
           CASE WHEN (d * 7 + s) % 30 = 0 THEN 'fail' ELSE 'pass' END, \
           json_set(summary, '$.suite', printf('suite-%03d', s), '$.key', printf('%d', d), \
             '$.verdict', CASE WHEN (d * 7 + s) % 30 = 0 THEN 'fail' ELSE 'pass' END) \
         FROM suite_runs, suite, day WHERE id = 1 ORDER BY d, s",
        (args.suites as i64, args.days as i64),
    )?;
    let last = 1 + (args.suites * args.days) as i64;
    connection.execute("UPDATE counters SET last_id = ?1 WHERE name = 'suite_runs'", [last])?;
    connection.execute(
        "INSERT OR REPLACE INTO alert_cursors (workspace_id, run_id, revision) VALUES ('default', ?1, 1)",
        [last],
    )?;
    Ok(())
}

/// Stores a finished gate; the bytes of its result.
fn store_run(home: &Path, rows: usize) -> Result<usize> {
    let path = home.join("brain.db");
    drop(Store::open(&Location::Sqlite(path.clone()), OpenMode::Init, Timestamp::now())?);
    let result = gate(rows).to_string();
    let now = Timestamp::now().as_millisecond();
    let inserted = Connection::open(path)?.execute(
        "INSERT INTO jobs (workspace_id, id, kind, state, attempt, max_attempts, run_after, done, total, note, \
         cancel_requested, created_by, created_at, started_at, updated_at, finished_at, spec, result) \
         VALUES ('default', 1, 'gate', 'done', 1, 1, ?1, ?2, ?2, '', 0, 'bench', ?1, ?1, ?1, ?1, '{}', ?3)",
        (now, rows as i64, &result),
    );
    inserted.context("the job is not stored")?;
    Ok(result.len())
}

/// The report of a gate: of each ten rows seven are unchanged, two moved, and one failed.
fn gate(rows: usize) -> Value {
    let results: Vec<Value> = (0..rows).map(row).collect();
    let times: Vec<Value> = (0..rows).filter(|at| at % 10 != 9).map(time).collect();
    json!({
        "schema_version": 1, "verdict": "fail", "confidence": null, "provenance": null,
        "regression_gate": {
            "ran": true, "verdict": "fail", "baseline_path": "bench",
            "baseline": {
                "label": "bench", "published_at": "2026-05-01T00:00:00Z", "source_hash": "0", "rows_hash": null,
                "tamper_evident": true, "integrity": "hash_verified", "row_count": rows,
            },
            "summary": {
                "rows_total": rows, "rows_replayed": rows, "rows_skipped": 0, "rows_errored": rows / 10,
                "rows_not_comparable": 0, "rows_measured": rows, "mean_jaccard": 0.9,
            },
            "checks": [], "warnings": [], "changed": {}, "results": results,
        },
        "correctness_gate": { "ran": false },
        "timing": { "elapsed_ms": 1.0, "rows": times },
    })
}

fn row(at: usize) -> Value {
    let page = |n: usize| format!("wiki::notes/{:05}-of-the-harbour", (at * 31 + n) % 99_991);
    let captured: Vec<String> = (0..10).map(page).collect();
    let shift = if at % 10 == 7 || at % 10 == 8 { 1 + at % 9 } else { 0 };
    let current: Vec<String> = (0..10).map(|n| page(n + shift)).collect();
    let head = json!({
        "id": at, "line": at + 2, "tool_name": if at.is_multiple_of(3) { "search" } else { "query" },
        "query": format!("what does the berth planner do at quay {at}?"), "query_hash": format!("{at:016x}"), "weight": 1,
    });
    let rest = match at % 10 {
        9 => json!({ "errored": true, "error_message": "connection refused" }),
        _ => json!({
            "jaccard": (10 - shift) as f64 / (10 + shift) as f64, "top1Match": shift == 0,
            "rbo": 1.0 - shift as f64 / 10.0, "kendall_tau": null,
            "captured_slugs": captured, "current_slugs": current, "caveats": [],
            "changed": { "code": "same", "settings": "same", "corpus": "differs", "model": "same" },
        }),
    };
    let mut row = head;
    if let (Some(row), Value::Object(rest)) = (row.as_object_mut(), rest) {
        row.extend(rest);
    }
    row
}

fn time(at: usize) -> Value {
    json!({ "line": at + 2, "captured_latency_ms": 10.0, "current_latency_ms": 5.0 + (at * 7919 % 1000) as f64 / 50.0 })
}
