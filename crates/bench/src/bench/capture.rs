//! `bench capture`: what capturing costs those who ask.
//!
//! Two callers ask the same requests again and again, in blocks by turns with and without capture;
//! a pair of blocks is as near in time as can be, and which comes first alternates. A block that
//! captures has a door of its own, which is closed, and so drained, before the next block begins:
//! what is not stored while the callers wait still counts as processor time, never as the
//! neighbour's latency. Intervals are of paired differences, by bootstrap over the pairs; medians
//! are compared by the logarithm of their ratio, which noise moves up as often as down.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use gbrain_bench::campaign::identity::{Corpus, Place, demo, markdown};
use gbrain_bench::campaign::replay::options;
use gbrain_bench::campaign::scaffold::Engines;
use gbrain_bench::campaign::scaffold::progress;
use gbrain_brain::capture::{DrainReport, QueryService};
use gbrain_brain::{Brain, IndexKind, QueryOptions};
use gbrain_core::request::{Caller, Request};
use gbrain_core::stats::{BootstrapOptions, MeanDifference, paired_bootstrap};
use gbrain_testkit::engine::Engine;

use super::asked::requests;
use super::data_dir;
use super::machine::{cpu_seconds, thread_seconds};
use super::percentile::{mean, median, percentile, sorted};
use super::report::{Cell, Report};

const CALLERS: usize = 2;
/// Of so many requests one holds an address, which is scrubbed and asked again by the recorder.
const PERSONAL: usize = 50;
/// The most that the median may grow, as the upper end of its interval.
const TARGET: f64 = 0.05;
const HEADERS: [&str; 10] = [
    "engine",
    "pairs",
    "requests",
    "p50 us",
    "captured",
    "p50 difference",
    "95% low",
    "95% high",
    "p99 us",
    "captured p99",
];

/// Measures the latency that capturing adds to queries.
#[derive(Debug, clap::Args)]
pub(crate) struct CaptureArgs {
    /// Pages of the markdown trees, beside the demo corpus.
    #[arg(long, default_value_t = 3_000)]
    pages: usize,
    /// Pairs of blocks.
    #[arg(long, default_value_t = 40)]
    pairs: usize,
    /// Requests in a block.
    #[arg(long, default_value_t = 400)]
    requests: usize,
    /// Which databases.
    #[arg(long, value_enum, default_value = "both")]
    engine: Engines,
}

struct Block {
    /// Microseconds by request.
    times: Vec<f64>,
    /// Processor time of the callers alone, in seconds.
    callers: f64,
    /// Processor time of this process, from the first request until everything is stored.
    cpu: f64,
    drained: DrainReport,
}

/// Blocks, in pairs.
struct Blocks {
    without: Vec<Block>,
    with: Vec<Block>,
}

#[derive(Clone, Copy, PartialEq)]
enum Capturing {
    Off,
    On,
}

pub(crate) fn run(args: &CaptureArgs) -> Result<Report> {
    ensure!(args.pairs >= 2, "an interval needs two pairs at least");
    let mut corpus = demo()?;
    corpus.extend(markdown(&data_dir()?, args.pages, 0)?);
    let mut report = Report::new("capture", &HEADERS);
    report.fact("pages", Cell::Count(corpus.files.len() as u64));
    for engine in args.engine.list() {
        measure(args, *engine, &corpus, &mut report)?;
    }
    Ok(report)
}

fn measure(args: &CaptureArgs, engine: Engine, corpus: &Corpus, report: &mut Report) -> Result<()> {
    let place = Place::new(engine)?;
    place.bring(&corpus.files)?;
    let brain = Arc::new(place.open(IndexKind::Disk)?);
    let mut requests = requests(corpus, args.requests, &brain)?;
    make_personal(&mut requests);
    let audit = tempfile::tempdir()?;
    // One block of each warms up and does not count.
    block(&brain, &requests, Capturing::Off, audit.path())?;
    block(&brain, &requests, Capturing::On, audit.path())?;
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for pair in 0..args.pairs {
        for turn in [pair % 2 == 0, pair % 2 != 0] {
            let capturing = if turn { Capturing::On } else { Capturing::Off };
            let block = block(&brain, &requests, capturing, audit.path())?;
            if turn { with.push(block) } else { without.push(block) }
        }
    }
    progress(format!("{}: {} pairs measured", engine.name(), args.pairs));
    let blocks = Blocks { without, with };
    tell_latency(args, engine, &blocks, report)?;
    tell_work(engine, &blocks, report)
}

fn tell_latency(
    args: &CaptureArgs,
    engine: Engine,
    blocks: &Blocks,
    report: &mut Report,
) -> Result<()> {
    let p50s = |blocks: &[Block]| blocks.iter().map(|b| median(&b.times)).collect::<Vec<f64>>();
    let (off, on) = (p50s(&blocks.without), p50s(&blocks.with));
    let logs = |p50s: &[f64]| p50s.iter().map(|p50| p50.ln()).collect::<Vec<f64>>();
    let MeanDifference { mean, interval } = paired(&logs(&off), &logs(&on))?;
    let [mean, low, high] = [mean, interval.low, interval.high].map(f64::exp_m1);
    let percent = |share: f64| format!("{:+.1}%", 100.0 * share);
    report.row(vec![
        Cell::text(engine.name()),
        Cell::Count(args.pairs as u64),
        Cell::Count(args.requests as u64),
        Cell::number(median(&off), 0),
        Cell::number(median(&on), 0),
        Cell::text(percent(mean)),
        Cell::text(percent(low)),
        Cell::text(percent(high)),
        Cell::number(p99(&blocks.without), 0),
        Cell::number(p99(&blocks.with), 0),
    ]);
    let (name, mean, bound, target) =
        (engine.name(), percent(mean), percent(high), percent(TARGET));
    report.target(
        format!("{name}: capturing adds {mean} to the median, {bound} at most (95%), of {target}"),
        high <= TARGET,
    );
    Ok(())
}

fn tell_work(engine: Engine, blocks: &Blocks, report: &mut Report) -> Result<()> {
    let name = engine.name();
    let whole = added(blocks, |block| block.cpu)?;
    let waited = added(blocks, |block| block.callers)?;
    report.fact("processor time added per capture, us", Cell::text(format!("{name}: {whole}")));
    report.fact("of which the caller's own, us", Cell::text(format!("{name}: {waited}")));
    let drained = blocks.with.iter().map(|block| block.drained);
    let (stored, lost) = drained.fold((0, 0), |(s, l), drained| {
        (s + drained.stored, l + drained.failed + drained.unfinished)
    });
    report.target(format!("{name}: no capture is lost: {lost} of {}", stored + lost), lost == 0);
    Ok(())
}

fn p99(blocks: &[Block]) -> f64 {
    let all: Vec<f64> = blocks.iter().flat_map(|block| block.times.iter().copied()).collect();
    percentile(&sorted(&all), 0.99)
}

/// The time that capturing adds per request, in microseconds, and the time it is added to.
fn added(blocks: &Blocks, of: fn(&Block) -> f64) -> Result<String> {
    let micros = |block: &Block| 1e6 * of(block) / block.times.len() as f64;
    let off: Vec<f64> = blocks.without.iter().map(micros).collect();
    let on: Vec<f64> = blocks.with.iter().map(micros).collect();
    let MeanDifference { mean: added, interval } = paired(&off, &on)?;
    let to = mean(&off);
    Ok(format!("{added:.0} ({:.0} to {:.0}) to {to:.0}", interval.low, interval.high))
}

fn paired(without: &[f64], with: &[f64]) -> Result<MeanDifference> {
    paired_bootstrap(without, with, &BootstrapOptions::default()).context("nothing to compare")
}

/// Adds an address to some requests.
fn make_personal(requests: &mut [Request]) {
    for request in requests.iter_mut().step_by(PERSONAL) {
        request.query.push_str(" ada@example.org");
    }
}

/// Asks every request once, by callers that do not wait for each other.
fn block(
    brain: &Arc<Brain>,
    requests: &[Request],
    capturing: Capturing,
    audit: &Path,
) -> Result<Block> {
    let capture = (capturing == Capturing::On).then(|| options(audit));
    let door = QueryService::new(brain.clone(), capture);
    let cpu = cpu_seconds();
    let answered = std::thread::scope(|scope| {
        let share = requests.chunks(requests.len().div_ceil(CALLERS));
        let callers: Vec<_> = share.map(|some| scope.spawn(|| ask_all(&door, some))).collect();
        let joined = callers.into_iter().map(|caller| caller.join().expect("callers go on"));
        joined.collect::<Result<Vec<(Vec<f64>, f64)>>>()
    })?;
    let drained = door.close();
    let (times, callers): (Vec<Vec<f64>>, Vec<f64>) = answered.into_iter().unzip();
    let (times, callers) = (times.concat(), callers.iter().sum());
    Ok(Block { times, callers, cpu: cpu_seconds() - cpu, drained })
}

/// Microseconds by request, and the processor time of all.
fn ask_all(door: &QueryService, requests: &[Request]) -> Result<(Vec<f64>, f64)> {
    let ask = QueryOptions::default();
    let time = |request: &Request| {
        let begun = Instant::now();
        std::hint::black_box(door.answer(request, &ask, Caller::default())?);
        Ok(begun.elapsed().as_nanos() as f64 / 1000.0)
    };
    let begun = thread_seconds();
    let times = requests.iter().map(time).collect::<Result<_>>()?;
    Ok((times, thread_seconds() - begun))
}
