//! The rows of every table, as SQLite holds them after a session of commands.

use std::fmt::Write as _;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

use super::mask::Mask;
use super::session::Session;
use super::snapshot;

/// Places that differ from run to run beside times, by table, column and key.
const VOLATILE: &[&str] = &[
    // Random.
    "eval_capture_failures.event_id",
    "request_id",
    "token_id",
    "tokens.digest",
    "tokens.id",
    // The host and the process.
    "alert_deliveries.worker",
    "jobs.worker",
    // Calls are made at once.
    "charges.number",
    // Times to come, and one that is a day ago.
    "alert_silences.ends_at",
    "eval_contradictions_cache.expires_at",
    "eval_runs.body.next_run",
    "eval_windows.until",
    "model_answers.expires_at",
    "tokens.expires_at",
    // The source code.
    "software.code",
    // Durations, and what is computed from them.
    "baseline_mean_latency_ms",
    "captured_latency_ms",
    "captured_ms",
    "cpu_time.calibration_ms",
    "cpu_time.cpu_ms",
    "current_latency_ms",
    "current_ms",
    "duration_ms",
    "elapsed_ms",
    "latency.interval",
    "latency.observed",
    "latency.status",
    "latency_ms",
    "like_with_like.interval",
    "like_with_like.ratio",
    "mean_latency_delta_ms",
    "retrieval_logs.body.latencies",
    "retrieval_logs.body.seen_ms",
    "retrieval_logs.dense_ms",
    "retrieval_logs.hydration_ms",
    "retrieval_logs.rerank_ms",
    "retrieval_logs.total_ms",
    "rows_over_2x_latency",
    // They cover durations.
    "documents.bytes",
    "documents.hash",
    "rows_hash",
];

/// Tables whose keys are random, or whose rows are written at once: they are sorted here.
const UNORDERED: [&str; 3] = ["charges", "model_answers", "tokens"];

#[test]
fn rows_after_a_session() {
    let mut mask = Mask::new(VOLATILE);
    let session = Session::run(&mut mask);
    let db = Connection::open(session.home().path().join("brain.db")).unwrap();
    let mut counts = String::new();
    let mut names = vec!["tables.txt".to_owned()];
    for table in tables(&db) {
        let mut rows = rows(&db, &table, &mask);
        if UNORDERED.contains(&table.as_str()) {
            rows.sort();
        }
        writeln!(counts, "{table} {}", if rows.is_empty() { "EMPTY" } else { "has rows" }).unwrap();
        let name = format!("{table}.txt");
        snapshot::check(&format!("store/rows/{name}"), &distinct(&rows));
        names.push(name);
    }
    snapshot::check("store/rows/tables.txt", &counts);
    snapshot::check_names("store/rows", &names);
    check_audit(&session, &mask);
}

/// The files of `audit/` in the home, which are named after a week.
fn check_audit(session: &Session, mask: &Mask) {
    let files = std::fs::read_dir(session.home().path().join("audit")).unwrap();
    let mut names: Vec<String> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let mut text = String::new();
    for name in names {
        let lines =
            std::fs::read_to_string(session.home().path().join("audit").join(&name)).unwrap();
        writeln!(text, "# audit/{}\n{}", week_of(&name), mask.lines(&lines)).unwrap();
    }
    snapshot::check("files/audit.txt", &text);
}

/// The name of a file with a placeholder for its week, such as `2026-W20`.
fn week_of(name: &str) -> String {
    let is_week = |at: &usize| {
        let bytes = name.as_bytes();
        bytes[at + 4..].starts_with(b"-W") && bytes[*at..at + 4].iter().all(u8::is_ascii_digit)
    };
    match (0..name.len().saturating_sub(8)).find(is_week) {
        Some(at) => format!("{}<week>{}", &name[..at], &name[at + 8..]),
        None => name.to_owned(),
    }
}

fn tables(db: &Connection) -> Vec<String> {
    let sql = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')
        AND name NOT LIKE 'sqlite_%' ORDER BY name";
    let mut statement = db.prepare(sql).unwrap();
    let names = statement.query_map([], |row| row.get(0)).unwrap();
    names.map(Result::unwrap).collect()
}

/// Every row as text, a column a line.
fn rows(db: &Connection, table: &str, mask: &Mask) -> Vec<String> {
    let mut statement = db.prepare(&format!("SELECT * FROM {table}")).unwrap();
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let text = |row: &Row<'_>| {
        let values = columns.iter().enumerate();
        let line = |(at, column): (usize, &String)| {
            format!("{column}: {}\n", value(row.get_ref(at).unwrap(), &[table, column], mask))
        };
        Ok(values.map(line).collect::<String>())
    };
    statement.query_map([], text).unwrap().map(Result::unwrap).collect()
}

/// Rows that are the same with placeholders are counted.
fn distinct(rows: &[String]) -> String {
    let mut text = format!("{} rows\n", rows.len());
    let mut seen: Vec<(&String, usize)> = Vec::new();
    for row in rows {
        match seen.iter_mut().find(|(known, _)| *known == row) {
            Some((_, count)) => *count += 1,
            None => seen.push((row, 1)),
        }
    }
    for (row, count) in seen {
        let times = if count > 1 { format!("{count} times\n") } else { String::new() };
        write!(text, "\n{times}{row}").unwrap();
    }
    text
}

fn value(value: ValueRef<'_>, place: &[&str], mask: &Mask) -> String {
    match value {
        ValueRef::Null => "NULL".to_owned(),
        ValueRef::Integer(number) if mask.is_time(number) => "<time>".to_owned(),
        ValueRef::Integer(_) if mask.has_rule(place) => "<integer>".to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(_) if mask.has_rule(place) => "<number>".to_owned(),
        ValueRef::Real(number) => format!("{number:?}"),
        ValueRef::Text(text) => {
            let lines = std::str::from_utf8(text).unwrap().split('\n');
            lines.map(|line| mask.line_at(place, line)).collect::<Vec<_>>().join("\\n")
        }
        ValueRef::Blob(bytes) if mask.has_rule(place) => format!("<{} bytes>", bytes.len()),
        ValueRef::Blob(bytes) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("x'{hex}'")
        }
    }
}
