//! `bench export`: rows per second of an export of captures, and the memory it takes, beside the
//! database's own client reading out the same table.
//!
//! An export is a process that streams the rows out of the store, newest first, and writes each
//! as a line of NDJSON. The clients are `sqlite3` and `psql`, once asked for the same rows in the
//! same order and once for the whole table as it lies. All of them write to nowhere, and all are
//! timed from their start to their end. An export of a tenth of the rows shows whether memory
//! grows with their number.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use gbrain_bench::campaign::scaffold::Engines;
use gbrain_bench::campaign::scaffold::progress;
use gbrain_core::capture::{CaptureFields, write_line};
use gbrain_core::id::WorkspaceId;
use gbrain_core::request::{Detail, Operation};
use gbrain_store::{CaptureFilter, Location, OpenMode, Store};
use gbrain_testkit::cluster;
use gbrain_testkit::engine::{Database, Engine};
use jiff::{SignedDuration, Timestamp};

use super::machine::{mib, status_kib};
use super::percentile::median;
use super::report::{Cell, Report};

const SEED: u64 = 20_260_801;
/// The rate of an export, as a share of the fastest client's.
const TARGET: f64 = 0.25;
/// The memory of an export, beside that of an export of a tenth of the rows.
const GROWTH_TARGET: f64 = 1.1;
/// Captures stored at once.
const BATCH: usize = 1000;
/// Bytes collected before they are written.
const WRITTEN: usize = 1 << 16;
const HEADERS: [&str; 7] =
    ["engine", "what", "rows", "n", "rows/s", "share of fastest client", "peak MiB"];

/// Rows per second and memory of an export.
#[derive(Debug, clap::Args)]
pub(crate) struct ExportArgs {
    /// How many captures.
    #[arg(long, default_value_t = 1_000_000)]
    rows: u64,
    /// How often each is measured.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Which databases.
    #[arg(long, value_enum, default_value = "both")]
    engine: Engines,
    /// Where the SQLite file is made; a temporary directory by default.
    #[arg(long)]
    dir: Option<PathBuf>,
}

/// A place to export from, for as long as it lives.
enum Place {
    Sqlite(tempfile::TempDir),
    Postgres(Database),
}

struct Runner {
    what: &'static str,
    command: Command,
}

struct Export {
    seconds: f64,
    rows: u64,
    peak_kib: u64,
}

pub(crate) fn run(args: &ExportArgs) -> Result<Report> {
    let mut report = Report::new("export", &HEADERS);
    for engine in args.engine.list() {
        measure(args, *engine, &mut report)?;
    }
    Ok(report)
}

fn measure(args: &ExportArgs, engine: Engine, report: &mut Report) -> Result<()> {
    let place = Place::create(engine, args.dir.as_deref())?;
    let filling = fill(&place, args.rows)?;
    progress(format!("{}: {} rows stored in {filling:.0} s", engine.name(), args.rows));
    let mut clients = place.clients();
    let mut times: Vec<Vec<f64>> = clients.iter().map(|_| Vec::new()).collect();
    let (mut whole, mut tenth) = (Vec::new(), Vec::new());
    for round in 0..args.rounds {
        // The order alternates, so that neither side is always first.
        if round % 2 == 0 {
            whole.push(export(&place, args.rows)?);
        }
        for (client, times) in clients.iter_mut().zip(&mut times) {
            times.push(seconds(&mut client.command)?);
        }
        if round % 2 != 0 {
            whole.push(export(&place, args.rows)?);
        }
        tenth.push(export(&place, args.rows / 10)?);
    }
    let rate = |times: &[f64]| args.rows as f64 / median(times);
    let fastest = times.iter().map(|times| rate(times)).fold(0.0, f64::max);
    for (client, times) in clients.iter().zip(&times) {
        report.row(row(engine, client.what, args.rows, times, fastest, None));
    }
    let times: Vec<f64> = whole.iter().map(|export| export.seconds).collect();
    let (peak, peak_of_tenth) = (peak(&whole), peak(&tenth));
    let of_tenth: Vec<f64> = tenth.iter().map(|export| export.seconds).collect();
    report.row(row(engine, "export", args.rows, &times, fastest, Some(peak)));
    report.row(row(engine, "export", args.rows / 10, &of_tenth, fastest, Some(peak_of_tenth)));
    let share = rate(&times) / fastest;
    let name = engine.name();
    report.target(
        format!("{name}: an export has {share:.2} of the fastest client's rate, at least {TARGET}"),
        share >= TARGET,
    );
    let growth = peak / peak_of_tenth;
    report.target(
        format!(
            "{name}: ten times the rows take {growth:.2} of the memory, at most {GROWTH_TARGET}"
        ),
        growth <= GROWTH_TARGET,
    );
    Ok(())
}

fn row(
    engine: Engine,
    what: &str,
    rows: u64,
    times: &[f64],
    fastest: f64,
    peak: Option<f64>,
) -> Vec<Cell> {
    let rate = rows as f64 / median(times);
    vec![
        Cell::text(engine.name()),
        Cell::text(what),
        Cell::Count(rows),
        Cell::Count(times.len() as u64),
        Cell::number(rate, 0),
        Cell::number(rate / fastest, 2),
        peak.map_or(Cell::text("-"), |peak| Cell::number(peak, 1)),
    ]
}

fn peak(exports: &[Export]) -> f64 {
    mib(exports.iter().map(|export| export.peak_kib).max().unwrap_or(0) << 10)
}

impl Place {
    fn create(engine: Engine, dir: Option<&Path>) -> Result<Self> {
        Ok(match (engine, dir) {
            (Engine::Sqlite, None) => Self::Sqlite(tempfile::tempdir()?),
            (Engine::Sqlite, Some(dir)) => {
                std::fs::create_dir_all(dir)?;
                Self::Sqlite(tempfile::tempdir_in(dir)?)
            }
            (Engine::Postgres, _) => Self::Postgres(Database::create()?),
        })
    }

    /// As [`Location::parse`] reads it.
    fn address(&self) -> String {
        match self {
            Self::Sqlite(dir) => dir.path().join("brain.db").display().to_string(),
            Self::Postgres(database) => database.url().to_owned(),
        }
    }

    fn store(&self) -> Result<Store> {
        Ok(Store::open(&Location::parse(&self.address())?, OpenMode::Init, Timestamp::UNIX_EPOCH)?)
    }

    /// The database's own client at the same work.
    fn clients(&self) -> Vec<Runner> {
        const SORTED: &str = "SELECT * FROM eval_candidates ORDER BY created_at DESC, id DESC";
        let address = self.address();
        let runner = |what, program: &Path, args: &[&str]| {
            let mut command = Command::new(program);
            command.args(args);
            Runner { what, command }
        };
        match self {
            Self::Sqlite(_) => {
                let program = Path::new("sqlite3");
                let select = ["-readonly", "-json", &address, SORTED];
                let dump = ["-readonly", &address, ".dump eval_candidates"];
                vec![
                    runner("sqlite3 -json, sorted", program, &select),
                    runner("sqlite3 .dump", program, &dump),
                ]
            }
            Self::Postgres(_) => {
                let program = psql();
                let sorted = format!("COPY ({SORTED}) TO STDOUT");
                let copy = "COPY eval_candidates TO STDOUT";
                vec![
                    runner("psql COPY, sorted", &program, &["-d", &address, "-qc", &sorted]),
                    runner("psql COPY", &program, &["-d", &address, "-qc", copy]),
                ]
            }
        }
    }
}

/// The client beside the server's programs, or the one on the path.
fn psql() -> PathBuf {
    let programs = std::env::var_os(cluster::PROGRAMS).map(PathBuf::from);
    let beside = programs.map(|programs| programs.join("psql"));
    beside.filter(|psql| psql.exists()).unwrap_or_else(|| PathBuf::from("psql"))
}

/// Stores captures, ten a second; the seconds it took.
fn fill(place: &Place, rows: u64) -> Result<f64> {
    let begun = Instant::now();
    let store = place.store()?;
    let ws = WorkspaceId::default();
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut stored = 0;
    while stored < rows {
        let count = BATCH.min((rows - stored) as usize);
        let captures: Vec<CaptureFields> = (0..count).map(|_| capture(&mut random)).collect();
        let seconds = i64::try_from(stored / 10)?;
        store.add_captures(
            &ws,
            &captures,
            Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds),
        )?;
        stored += count as u64;
    }
    if let Place::Postgres(database) = place {
        // A table at rest: neither side should pay for marking rows as committed.
        let mut client = postgres::Client::connect(database.url(), postgres::NoTls)?;
        client.batch_execute("VACUUM ANALYZE eval_candidates")?;
        client.batch_execute("CHECKPOINT")?;
    }
    Ok(begun.elapsed().as_secs_f64())
}

/// A request as people and agents make them: a few words, ten pages.
fn capture(random: &mut fastrand::Rng) -> CaptureFields {
    const WORDS: [&str; 8] =
        ["who", "invoice", "größe", "\"board pack\"", "travel", "last week", "owner", "tide"];
    let query: Vec<&str> = (0..random.usize(2..14)).map(|_| WORDS[random.usize(..8)]).collect();
    let slugs: Vec<String> =
        (0..10).map(|_| format!("\"people/person-{:05}\"", random.u32(..50_000))).collect();
    let chunks: Vec<String> = (0..14).map(|_| random.u32(..500_000).to_string()).collect();
    let is_query = random.bool();
    CaptureFields {
        tool_name: if is_query { Operation::Query } else { Operation::Search },
        query: query.join(" "),
        retrieved_slugs: format!("[{}]", slugs.join(",")),
        retrieved_chunk_ids: format!("[{}]", chunks.join(",")),
        source_ids: "[\"default\",\"wiki\"]".to_owned(),
        expand_enabled: is_query.then_some(false),
        detail: random.bool().then_some(Detail::Low),
        detail_resolved: Some(Detail::Medium),
        vector_enabled: true,
        expansion_applied: false,
        latency_ms: random.f64() * 20.0,
        remote: random.bool(),
        job_id: None,
        subagent_id: None,
        extra: format!(
            "{{\"request_version\":1,\"limit\":10,\"mode\":\"hybrid\",\"generation\":{},\
             \"corpus\":\"{:064x}\",\"settings\":{{\"k\":60,\"pool\":100,\"b\":0.75}}}}",
            random.u32(..),
            random.u128(..)
        ),
    }
}

/// Exports in a process of its own.
fn export(place: &Place, rows: u64) -> Result<Export> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("stream").arg(place.address()).arg(rows.to_string());
    let begun = Instant::now();
    let output = command.stdout(Stdio::null()).stderr(Stdio::piped()).output()?;
    let seconds = begun.elapsed().as_secs_f64();
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the export failed: {said}");
    let mut numbers = said.split_whitespace().map(str::parse::<u64>);
    let mut next = || numbers.next().context("the export said too little");
    let export = Export { seconds, rows: next()??, peak_kib: next()?? };
    ensure!(export.rows == rows, "{} of {rows} rows were exported", export.rows);
    Ok(export)
}

/// The process that is measured: writes the newest `rows` captures to stdout, and to stderr how
/// many there were and the peak of memory in KiB.
pub(crate) fn stream(address: &str, rows: u64) -> Result<ExitCode> {
    use std::io::Write as _;
    let store = Store::open(&Location::parse(address)?, OpenMode::Use, Timestamp::UNIX_EPOCH)?;
    let filter = CaptureFilter { limit: Some(rows), ..CaptureFilter::default() };
    let mut stdout = std::io::stdout().lock();
    let (mut lines, mut count, mut written) = (Vec::with_capacity(2 * WRITTEN), 0, Ok(()));
    store.captures(&WorkspaceId::default(), &filter, &mut |row| {
        write_line(&row, &mut lines);
        count += 1;
        if lines.len() >= WRITTEN {
            written = stdout.write_all(&lines);
            lines.clear();
        }
        Ok(if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    written?;
    stdout.write_all(&lines)?;
    progress(format!("{count} {}", status_kib("VmHWM")));
    Ok(ExitCode::SUCCESS)
}

fn seconds(command: &mut Command) -> Result<f64> {
    let begun = Instant::now();
    let status = command.stdout(Stdio::null()).status();
    let status = status.with_context(|| format!("{command:?} cannot be started"))?;
    ensure!(status.success(), "{command:?} failed ({status})");
    Ok(begun.elapsed().as_secs_f64())
}
