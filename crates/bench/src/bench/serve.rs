//! `bench serve`: what an answer over HTTP costs beside the same answer in one's own process, and
//! what becomes of a server that is asked more than it can answer.
//!
//! The same questions are asked of one brain in blocks by turns: in this process, on as many
//! threads as the server has readers, and of `gbrain serve` on 32 connections. Compared is the
//! processor time of whoever answers, block by block. Callers and server share the machine, so
//! rates and latencies are those of both together. Then questions come at four times the rate that
//! the server reached, on a clock and not one after the other.

mod blocks;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use gbrain_bench::campaign::replay::options;
use gbrain_bench::campaign::scaffold::progress;
use gbrain_bench::program::built_program;
use gbrain_brain::Brain;
use gbrain_brain::capture::QueryService;
use gbrain_core::defect::reports_panic;
use gbrain_core::format::ask::AskBody;
use gbrain_core::request::{Operation, Request, Viewer};
use gbrain_core::stats::{BootstrapOptions, paired_bootstrap};
use gbrain_store::CaptureFilter;
use gbrain_testkit::served::Served;
use jiff::Timestamp;

use self::blocks::{Block, Overload, in_process, over_http, overload};
use super::build::{ensure_built, read_questions};
use super::home::Home;
use super::percentile::{mean, median, percentile, sorted};
use super::report::{Cell, Report};

const CONNECTIONS: usize = 32;
/// Server processor time of a request, beside that of the call.
const TARGET: f64 = 1.67;
/// How much more is asked than can be answered, on so many connections.
const EXCESS: f64 = 4.0;
const CROWD: usize = 256;
/// How many requests wait at most, by default.
const QUEUE: f64 = 64.0;
/// Answers under overload take at most so many times what a full queue takes.
const SLACK: f64 = 2.0;
const HEADERS: [&str; 8] =
    ["what", "blocks", "n", "cpu us", "requests/s", "p50 ms", "p95 ms", "p99 ms"];

/// Measures the cost of an answer over HTTP.
#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    /// How many chunks the brain has.
    #[arg(long, default_value_t = 100_000)]
    chunks: usize,
    /// Where the brain is kept between runs; made where there is none.
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Pairs of blocks.
    #[arg(long, default_value_t = 8)]
    pairs: usize,
    /// Requests in a block.
    #[arg(long, default_value_t = 2_000)]
    requests: usize,
    /// Seconds of overload.
    #[arg(long, default_value_t = 20)]
    seconds: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum Capturing {
    Off,
    On,
}

struct Bench<'a> {
    args: &'a ServeArgs,
    home: PathBuf,
    brain: Arc<Brain>,
    requests: Vec<Request>,
    bodies: Vec<Vec<u8>>,
    readers: usize,
}

/// Blocks, in pairs.
#[derive(Default)]
struct Blocks {
    called: Vec<Block>,
    served: Vec<Block>,
}

pub(crate) fn run(args: &ServeArgs) -> Result<Report> {
    ensure!(args.pairs >= 2, "an interval needs two pairs at least");
    let temporary = tempfile::tempdir()?;
    let dir = args.dir.clone().unwrap_or_else(|| temporary.path().join("brain"));
    let built = ensure_built(args.chunks, &dir)?;
    let bench = Bench::open(args, &dir)?;
    let mut report = Report::new("serve", &HEADERS);
    report.fact("chunks", Cell::Count(built.chunks));
    report.fact("threads that call, and readers of the server", Cell::Count(bench.readers as u64));
    report.fact("connections", Cell::Count(CONNECTIONS as u64));

    let server = bench.serve(Capturing::Off)?;
    let blocks = bench.compare(&server, Capturing::Off)?;
    tell(&blocks, Capturing::Off, &mut report)?;
    let rates: Vec<f64> = blocks.served.iter().map(Block::rate).collect();
    bench.exceed(server, median(&rates), &mut report)?;

    let server = bench.serve(Capturing::On)?;
    let blocks = bench.compare(&server, Capturing::On)?;
    tell(&blocks, Capturing::On, &mut report)?;
    end(server)?;
    bench.brain.store().prune_captures(bench.brain.workspace(), &CaptureFilter::default())?;
    Ok(report)
}

impl<'a> Bench<'a> {
    fn open(args: &'a ServeArgs, dir: &Path) -> Result<Self> {
        let home = dir.join("home");
        let brain = Arc::new(Home::open(&home)?.brain);
        let settings = brain.settings()?;
        let (mut requests, mut bodies) = (Vec::new(), Vec::new());
        for query in read_questions(dir)? {
            let body = AskBody { query, ..AskBody::default() };
            bodies.push(serde_json::to_vec(&body)?);
            let (trust, now) = (Viewer::Untrusted, Timestamp::now());
            let request = body.request(Operation::Query, settings.clone(), trust, now);
            requests.push(request.map_err(|fault| anyhow::anyhow!(fault.message))?);
        }
        let readers = std::thread::available_parallelism().map_or(2, usize::from);
        Ok(Self { args, home, brain, requests, bodies, readers })
    }

    fn serve(&self, capturing: Capturing) -> Result<Served> {
        let mut command = Command::new(built_program()?);
        for variable in ["GBRAIN_HOME", "GBRAIN_WORKSPACE", "DATABASE_URL"] {
            command.env_remove(variable);
        }
        let mode = if capturing == Capturing::On { "1" } else { "0" };
        command.env("GBRAIN_CONTRIBUTOR_MODE", mode);
        command.arg("--home").arg(&self.home).arg("serve");
        Served::start(command)
    }

    /// Blocks by turns; the first pair warms up and does not count.
    fn compare(&self, server: &Served, capturing: Capturing) -> Result<Blocks> {
        let audit = tempfile::tempdir()?;
        let capture = (capturing == Capturing::On).then(|| options(audit.path()));
        let door = QueryService::new(self.brain.clone(), capture);
        let count = self.args.requests;
        let mut blocks = Blocks::default();
        for pair in 0..=self.args.pairs {
            let call = || in_process(&door, &self.requests, count, self.readers);
            let ask = || over_http(server, &self.bodies, count, CONNECTIONS);
            let (called, served) = if pair % 2 == 0 {
                let called = call()?;
                (called, ask()?)
            } else {
                let served = ask()?;
                (call()?, served)
            };
            let ratio = served.cpu_micros() / called.cpu_micros();
            progress(format!("pair {pair}: {ratio:.3} times the processor time"));
            if pair > 0 {
                blocks.called.push(called);
                blocks.served.push(served);
            }
        }
        let drained = door.close();
        ensure!(drained.unfinished == 0, "captures were not stored: {drained:?}");
        Ok(blocks)
    }

    /// Asks too much, and looks whether the server is well afterwards.
    fn exceed(&self, server: Served, capacity: f64, report: &mut Report) -> Result<()> {
        let before = server.vitals()?;
        let time = Duration::from_secs(self.args.seconds);
        let seen = overload(&server, &self.bodies, EXCESS * capacity, CROWD, time)?;
        let after = server.vitals()?;
        // One that was asked too much answers as before.
        let again = over_http(&server, &self.bodies, self.args.requests, CONNECTIONS)?;
        end(server)?;
        tell_overload(&seen, capacity, self.readers, report);
        let mib = |kib: u64| format!("{:.1}", kib as f64 / 1024.0);
        let memory = [before, after].map(|vitals| mib(vitals.anonymous_kib)).join(", ");
        report.fact("server's own memory before and after overload, MiB", Cell::text(memory));
        report.fact("requests/s after overload", Cell::number(again.rate(), 0));
        Ok(())
    }
}

/// Ends a server, which must end well.
fn end(server: Served) -> Result<()> {
    let output = server.stop()?;
    ensure!(output.code == Some(0), "the server ended with {:?}", output.code);
    ensure!(!reports_panic(&output.stderr), "the server panicked");
    Ok(())
}

fn tell(blocks: &Blocks, capturing: Capturing, report: &mut Report) -> Result<()> {
    let names = match capturing {
        Capturing::Off => ["call", "server"],
        Capturing::On => ["call, captured", "server, captured"],
    };
    for (name, blocks) in names.iter().zip([&blocks.called, &blocks.served]) {
        let times: Vec<f64> = blocks.iter().flat_map(|block| block.times.clone()).collect();
        let cpu: Vec<f64> = blocks.iter().map(Block::cpu_micros).collect();
        let rates: Vec<f64> = blocks.iter().map(Block::rate).collect();
        let mut cells = vec![Cell::text(*name), Cell::Count(blocks.len() as u64)];
        cells.push(Cell::Count(times.len() as u64));
        cells.push(Cell::number(mean(&cpu), 0));
        cells.push(Cell::number(median(&rates), 0));
        cells.extend(percentiles(&times).map(|millis| Cell::number(millis, 2)));
        report.row(cells);
    }
    let logs = |blocks: &[Block]| blocks.iter().map(|b| b.cpu_micros().ln()).collect::<Vec<f64>>();
    let difference = paired_bootstrap(
        &logs(&blocks.called),
        &logs(&blocks.served),
        &BootstrapOptions::default(),
    )
    .context("nothing to compare")?;
    let pairs = blocks.called.iter().zip(&blocks.served);
    let ratios = sorted(&pairs.map(|(c, s)| s.cpu_micros() / c.cpu_micros()).collect::<Vec<_>>());
    let (least, most) = (percentile(&ratios, 0.0), percentile(&ratios, 1.0));
    let [ratio, low, high] =
        [difference.mean, difference.interval.low, difference.interval.high].map(f64::exp);
    let told = format!(
        "{ratio:.3} (95% {low:.3} to {high:.3}; pairs {least:.3} to {most:.3}) times the \
         processor time of the call"
    );
    match capturing {
        Capturing::Off => {
            report.target(format!("a request takes {told}, at most {TARGET}"), ratio <= TARGET)
        }
        Capturing::On => report.fact("captured, a request takes", Cell::text(told)),
    }
    Ok(())
}

fn tell_overload(seen: &Overload, capacity: f64, readers: usize, report: &mut Report) {
    let Overload { accepted, refused, unsent, seconds } = seen;
    for (name, times) in [("overload, answered", accepted), ("overload, refused", refused)] {
        let mut cells = vec![Cell::text(name), Cell::Count(1), Cell::Count(times.len() as u64)];
        cells.push(Cell::text(""));
        cells.push(Cell::number(times.len() as f64 / seconds, 0));
        cells.extend(percentiles(times).map(|millis| Cell::number(millis, 2)));
        report.row(cells);
    }
    let sent = (accepted.len() + refused.len()) as f64;
    let share = refused.len() as f64 / sent;
    let excess = sent / seconds / capacity;
    report.fact("overload, times the rate before", Cell::number(excess, 2));
    report.fact("overload, share refused", Cell::number(share, 3));
    report.fact("overload, requests that nobody was free to send", Cell::Count(*unsent as u64));
    // An admitted request has at most a full queue before it.
    let bound = 1e3 * (QUEUE + readers as f64) / (accepted.len() as f64 / seconds);
    let [_, _, p99] = percentiles(accepted);
    report.target(
        format!(
            "under overload p99 is {p99:.0} ms, at most {SLACK} times the {bound:.0} ms that a \
             full queue takes"
        ),
        p99 <= SLACK * bound,
    );
}

/// Milliseconds.
fn percentiles(micros: &[f64]) -> [f64; 3] {
    let sorted = sorted(micros);
    [0.50, 0.95, 0.99].map(|share| percentile(&sorted, share) / 1e3)
}
