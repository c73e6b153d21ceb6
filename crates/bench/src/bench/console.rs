//! `bench console`: what a page of a large run costs beside the API operation that it reads, in one
//! server.
//!
//! A gate of so many rows is stored as a finished job. Its first page, a filter, an order and one case
//! are asked for by turns with `GET /v1/runs/1/result`; the page that is opened first, with nothing in
//! memory, is timed on its own. Pages are asked for as browsers do, with gzip.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use gbrain_bench::program::built_program;
use gbrain_store::{Location, OpenMode, Store};
use gbrain_testkit::http::Caller;
use gbrain_testkit::served::Served;
use gbrain_testkit::vitals::status_kib;
use jiff::Timestamp;
use rusqlite::Connection;
use serde_json::{Value, json};

use super::percentile::median;
use super::report::{Cell, Report};

/// How much longer than the API operation a page may take.
const MOST: f64 = 3.0;
/// Maximum size of the first page on the wire, in bytes.
const WIRE: usize = 100 << 10;
/// How much the memory may grow over all page views, in KiB.
const GROWTH_KIB: u64 = 16 << 10;
const OPERATION: &str = "/v1/runs/1/result";
const FIRST: &str = "/runs/1";

/// Measures pages of the console.
#[derive(Debug, clap::Args)]
pub(crate) struct ConsoleArgs {
    /// Rows of the run.
    #[arg(long, default_value_t = 100_000)]
    rows: usize,
    /// Turns.
    #[arg(long, default_value_t = 9)]
    turns: usize,
    /// Page views over which the memory must stay flat.
    #[arg(long, default_value_t = 10_000)]
    views: usize,
}

/// Measures.
pub(crate) fn run(args: &ConsoleArgs) -> Result<Report> {
    let dir = tempfile::tempdir()?;
    let document = store_run(dir.path(), args.rows)?;
    let mut command = Command::new(built_program()?);
    command.args(["serve", "--home"]).arg(dir.path());
    let server = Served::start(command)?;
    let mut caller = server.connect()?;
    caller.accept_gzip();
    let pages = pages(args.rows);
    let (cold, wire) = timed(&mut caller, FIRST)?;
    let mut times = vec![Vec::new(); pages.len()];
    for _ in 0..args.turns {
        for ((_, path), times) in pages.iter().zip(&mut times) {
            times.push(timed(&mut caller, path)?.0);
        }
    }
    let memory = memory(&server, &mut caller, args.views)?;
    server.stop()?;
    Ok(told(args, &Measured { document, cold, wire, times, memory }, &pages))
}

/// What was measured: seconds, bytes and KiB.
struct Measured {
    document: usize,
    cold: f64,
    wire: usize,
    times: Vec<Vec<f64>>,
    memory: [u64; 2],
}

/// The operation, and the pages that are held against it.
fn pages(rows: usize) -> [(&'static str, String); 5] {
    [
        ("operation: run_result", OPERATION.to_owned()),
        ("first page", FIRST.to_owned()),
        ("filter", format!("{FIRST}?show=errored&source=wiki")),
        ("sort", format!("{FIRST}?show=all&sort=latency")),
        ("one case", format!("{FIRST}/rows/{}", rows / 2)),
    ]
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
fn memory(server: &Served, caller: &mut Caller, views: usize) -> Result<[u64; 2]> {
    let mut look = |n: usize| -> Result<u64> {
        for at in 0..n {
            timed(caller, &format!("{FIRST}?show=all&page={}", 1 + at % 50))?;
        }
        Ok(status_kib(server.pid(), "VmRSS"))
    };
    Ok([look(views / 10)?, look(views - views / 10)?])
}

fn told(args: &ConsoleArgs, measured: &Measured, pages: &[(&'static str, String); 5]) -> Report {
    let mut report =
        Report::new("console", &["what", "rows", "turns", "median ms", "of the operation"]);
    let operation = median(&measured.times[0]);
    for ((what, _), times) in pages.iter().zip(&measured.times) {
        let took = median(times);
        report.row(vec![
            Cell::text(*what),
            Cell::Count(args.rows as u64),
            Cell::Count(args.turns as u64),
            Cell::number(took * 1e3, 2),
            Cell::number(took / operation, 3),
        ]);
        if *what != pages[0].0 {
            report.target(
                format!("{what} takes at most {MOST} times the operation"),
                took <= MOST * operation,
            );
        }
    }
    let [before, after] = measured.memory;
    report.fact("stored result, bytes", Cell::Count(measured.document as u64));
    report.fact("first page, nothing in memory, ms", Cell::number(measured.cold * 1e3, 1));
    report.fact("first page, bytes on the wire", Cell::Count(measured.wire as u64));
    report.fact("memory after a tenth of the views, KiB", Cell::Count(before));
    report.fact("memory after all views, KiB", Cell::Count(after));
    report.target(
        format!("the first page takes at most {MOST} times the operation with nothing in memory"),
        measured.cold <= MOST * operation,
    );
    report.target(
        format!("the first page has at most {WIRE} bytes on the wire"),
        measured.wire <= WIRE,
    );
    report.target(
        format!("memory grows by at most {GROWTH_KIB} KiB over {} views", args.views),
        after <= before + GROWTH_KIB,
    );
    report
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
