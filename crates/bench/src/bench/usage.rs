//! `bench usage`: `eva show` on a long usage log, beside `wc -l` and a program that only scans the same
//! bytes as JSON with the fastest parser we know. All are processes, run in turn, the file in the page
//! cache.
//!
//! Memory is the most that `eva` had, on a tenth of the rows and on all of them.

use std::fs::File;
use std::io::{BufWriter, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use fastrand::Rng;
use gbrain_bench::campaign::scaffold::progress;
use gbrain_bench::program::built_program;
use gbrain_testkit::vitals::status_kib;

use super::percentile::median;
use super::process::{milliseconds, timed};
use super::report::{Cell, Report};

/// How fast ours must be, beside `wc -l` and the scan together.
const TARGET: f64 = 0.5;
/// How much more memory ten times the rows may take.
const MEMORY_TARGET: f64 = 1.1;

/// Summing up a usage log.
#[derive(Debug, clap::Args)]
pub(crate) struct UsageArgs {
    /// How many rows.
    #[arg(long, default_value_t = 5_000_000)]
    rows: usize,
    /// How many times each runs.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
}

pub(crate) fn run(args: &UsageArgs) -> Result<Report> {
    let (large, small) = (tempfile::tempdir()?, tempfile::tempdir()?);
    progress("writing rows");
    write_library(small.path(), args.rows / 10)?;
    let bytes = write_library(large.path(), args.rows)?;
    let log = large.path().join(LOG);
    let (eva, own) = (built_program()?.with_file_name("eva"), std::env::current_exe()?);
    let ours = |root: &Path| {
        let mut command = Command::new(&eva);
        command.args(["show", "greet", "--json", "--root"]).arg(root);
        command
    };
    let process = |program: &Path, word: &str| {
        let mut command = Command::new(program);
        command.arg(word).arg(&log);
        command
    };
    let shown: serde_json::Value = serde_json::from_str(&timed(ours(large.path()))?.1)?;
    ensure!(shown["usage"]["total"] == args.rows, "eva counted {}", shown["usage"]);
    let (mut summed, mut counted, mut scanned) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..args.rounds {
        counted.push(milliseconds(process(Path::new("wc"), "-l"))?);
        scanned.push(milliseconds(process(&own, "scan"))?);
        summed.push(milliseconds(ours(large.path()))?);
    }
    let [wc, scan, eva_ms] = [&counted, &scanned, &summed].map(|times| median(times));
    let memory = [small.path(), large.path()].map(|root| peak_mib(ours(root)));
    let [on_tenth, on_all] = memory;
    let (on_tenth, on_all) = (on_tenth?, on_all?);
    let mut report = Report::new("usage", &["process", "n", "median ms", "MB/s"]);
    for (name, took) in [("wc -l", wc), ("scan as JSON (sonic-rs)", scan), ("eva show", eva_ms)] {
        let rate = bytes as f64 / 1e6 / (took / 1e3);
        report.row(vec![
            Cell::text(name),
            Cell::Count(args.rounds as u64),
            Cell::number(took, 0),
            Cell::number(rate, 0),
        ]);
    }
    let ratio = (wc + scan) / eva_ms;
    report.fact("rows", Cell::Count(args.rows as u64));
    report.fact("bytes", Cell::Count(bytes));
    report.fact("most memory on a tenth, MiB", Cell::number(on_tenth, 1));
    report.fact("most memory on all, MiB", Cell::number(on_all, 1));
    report.target(
        format!("{ratio:.2} times as fast as wc and scan together, at least {TARGET}"),
        ratio >= TARGET,
    );
    let growth = on_all / on_tenth;
    report.target(
        format!("{growth:.2} times the memory for ten times the rows, at most {MEMORY_TARGET}"),
        growth <= MEMORY_TARGET,
    );
    Ok(report)
}

const LOG: &str = "prompts/greet/.usage.jsonl";

/// A library with one prompt that was run so often; how long its log is.
fn write_library(root: &Path, rows: usize) -> Result<u64> {
    let dir = root.join("prompts/greet");
    std::fs::create_dir_all(&dir)?;
    let meta = "id: greet\ntitle: Greet\nsummary: S.\nstatus: draft\nversion: 1.0.0\ncreated: 2026-05-01\n\
        updated: 2026-05-01\n";
    std::fs::write(dir.join("meta.yml"), meta)?;
    std::fs::write(dir.join("prompt.xml"), "Hello.\n")?;
    let mut rng = Rng::with_seed(1);
    let mut file = BufWriter::with_capacity(1 << 20, File::create(root.join(LOG))?);
    let start: jiff::Timestamp = "2024-01-01T00:00:00Z".parse()?;
    for row in 0..rows {
        let ts = start + jiff::SignedDuration::from_secs(row as i64 * 12);
        let case = ["null", "\"happy-path\"", "\"empty\""][rng.usize(..3)];
        let verified = ["true", "true", "false", "null"][rng.usize(..4)];
        writeln!(
            file,
            "{{\"ts\":\"{}\",\"case\":{case},\"vars_hash\":\"{:012x}\",\"sent\":{},\"exit_code\":0,\"verified\":{verified},\
             \"duration_ms\":{},\"prompt_words\":{},\"output_words\":{}}}",
            gbrain_prompts::domain::usage::second(ts),
            rng.u64(..1 << 48),
            rng.u8(..5) > 0,
            rng.u64(500..60_000),
            rng.u64(..2000),
            rng.u64(..4000),
        )?;
    }
    file.flush()?;
    Ok(std::fs::metadata(root.join(LOG))?.len())
}

/// Parses every line as JSON and keeps nothing: what no reader of rows can do without. A value of
/// sonic-rs is what took least of what was tried: its lazy values, its reading into a struct (both half
/// as much again) and serde_json's (a quarter more).
pub(crate) fn scan(file: &Path) -> Result<ExitCode> {
    let mut file = File::open(file).with_context(|| file.display().to_string())?;
    let (mut block, mut held, mut rows) = (vec![0; 1 << 18], 0, 0_usize);
    loop {
        let read = file.read(&mut block[held..])?;
        if read == 0 {
            break;
        }
        held += read;
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', &block[..held]) {
            let _value: sonic_rs::Value = sonic_rs::from_slice(&block[start..end])?;
            (rows, start) = (rows + 1, end + 1);
        }
        block.copy_within(start..held, 0);
        held -= start;
    }
    writeln!(std::io::stdout(), "{rows}")?;
    Ok(ExitCode::SUCCESS)
}

fn peak_mib(mut command: Command) -> Result<f64> {
    let mut child = command.stdout(Stdio::null()).spawn()?;
    let mut peak = 0;
    while child.try_wait()?.is_none() {
        peak = peak.max(status_kib(child.id(), "VmHWM"));
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(peak as f64 / 1024.0)
}
