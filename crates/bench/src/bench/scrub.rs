//! `bench scrub`: how well and how fast personal data and secrets are found.
//!
//! Quality on labelled data and on generated variants; throughput beside ripgrep counting the matches of the same families as
//! regular expressions in the same bytes on one thread; and time per byte of hostile texts, which
//! must not grow with their length.

mod labelled;
mod rival;
mod variants;

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use gbrain_bench::campaign::scaffold::progress;
use gbrain_core::scrub::Scrubber;

use super::percentile::median;
use super::report::{Cell, Report};
use labelled::Score;
use rival::Ripgrep;

/// At least this share of ripgrep's throughput.
const SHARE: f64 = 0.5;
/// How much more a byte of 1 MB may cost than a byte of 64 KB.
const GROWTH: f64 = 2.0;

/// The lengths of hostile texts.
const SMALL: usize = 64 << 10;
const LARGE: usize = 1 << 20;

/// Texts that make a careless search look at every byte again and again.
const HOSTILE: [&str; 19] = [
    "1",
    "1 ",
    "4111 1111 ",
    "a@",
    "a@b.",
    "ü@ü.",
    "eyJ-",
    "eyJaaaaa.",
    "token=",
    "sk-",
    "a://b:c@",
    "-----BEGIN PRIVATE KEY-----",
    "555-123-4567 ",
    "1:",
    "%25",
    "1\u{a0}",
    "1  ",
    "Basic YTpi",
    "password=a",
];

#[derive(Debug, clap::Args)]
#[command(name = "cargo xtask bench scrub")]
pub(crate) struct ScrubArgs {
    /// Megabytes of query-like lines.
    #[arg(long, default_value_t = 32)]
    megabytes: usize,
    /// How often each side is measured.
    #[arg(long, default_value_t = 7)]
    repeats: usize,
    /// Where ripgrep is installed if it is not on the path.
    #[arg(long, default_value = "target/bench-tools")]
    tools: PathBuf,
    /// Generated samples of each kind, half of which must be left alone.
    #[arg(long, default_value_t = 2_000)]
    samples: usize,
    /// The seed of the generated samples.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Measure precision and recall only.
    #[arg(long)]
    quality: bool,
}

pub(crate) fn run(args: &ScrubArgs) -> Result<Report> {
    let data = super::data_dir()?;
    let headers = ["what", "of", "n", "precision", "recall", "ours", "ripgrep", "ratio"];
    let mut report = Report::new("scrub", &headers);
    for score in labelled::scores(&data)? {
        report.row(quality_row(&score));
    }
    for score in variants::scores(args.seed, args.samples / 2) {
        report.row(quality_row(&score));
    }
    if args.quality {
        return Ok(report);
    }
    let ripgrep = Ripgrep::find(&args.tools)?;
    let texts = labelled::texts(&data)?;
    let all = texts.iter().map(|(text, _)| text.as_str());
    let free = texts.iter().filter(|(_, has_span)| !has_span).map(|(text, _)| text.as_str());
    throughput("lines, MB/s", &lines(all, args.megabytes), args, &ripgrep, &mut report)?;
    throughput(
        "lines without PII, MB/s",
        &lines(free, args.megabytes),
        args,
        &ripgrep,
        &mut report,
    )?;
    linearity(args.repeats, &mut report);
    report.fact("ripgrep", Cell::text(ripgrep.version()?));
    Ok(report)
}

fn quality_row(score: &Score) -> Vec<Cell> {
    let share = |share: Option<f64>| share.map_or(Cell::text(""), |share| Cell::number(share, 3));
    let n = score.gold.max(score.claims) as u64;
    let (set, kind) = (Cell::text(score.set), Cell::text(&score.kind));
    let mut row = vec![set, kind, Cell::Count(n), share(score.precision()), share(score.recall())];
    row.extend(vec![Cell::text(""); 3]);
    row
}

/// Lines, again and again, until they are as long as asked for.
fn lines<'a>(texts: impl Iterator<Item = &'a str>, megabytes: usize) -> String {
    let once: String = texts.flat_map(|text| [text, "\n"]).collect();
    once.repeat((megabytes << 20).div_ceil(once.len().max(1)))
}

/// Ours, one call per line as queries come, and ripgrep over the file, in alternation.
fn throughput(
    what: &'static str,
    text: &str,
    args: &ScrubArgs,
    ripgrep: &Ripgrep,
    report: &mut Report,
) -> Result<()> {
    progress(what);
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), text)?;
    let scrubber = Scrubber::default();
    let (mut ours, mut theirs, mut found) = (Vec::new(), Vec::new(), 0);
    for _ in 0..args.repeats {
        let start = Instant::now();
        found = text.lines().map(|line| black_box(scrubber.find(line)).len()).sum();
        ours.push(start.elapsed().as_secs_f64());
        let start = Instant::now();
        ripgrep.count(file.path())?;
        theirs.push(start.elapsed().as_secs_f64());
    }
    let speed = |seconds: &[f64]| text.len() as f64 / median(seconds) / 1e6;
    let (ours, theirs) = (speed(&ours), speed(&theirs));
    let mut row = vec![Cell::text("throughput"), Cell::text(what), Cell::Count(found as u64)];
    row.extend([Cell::text(""), Cell::text(""), Cell::number(ours, 0), Cell::number(theirs, 0)]);
    row.push(Cell::number(ours / theirs, 2));
    report.row(row);
    report.target(format!("{what}: at least {SHARE} of ripgrep"), ours >= SHARE * theirs);
    Ok(())
}

/// Nanoseconds per byte at 64 KB and at 1 MB.
///
/// Both sides work on the same number of bytes, in alternation: on a busy machine a single short
/// call is done before anything interrupts it, and a long one is not.
fn linearity(repeats: usize, report: &mut Report) {
    let scrubber = Scrubber::default();
    for piece in HOSTILE {
        progress(piece);
        let texts = [SMALL, LARGE].map(|bytes| piece.repeat(bytes / piece.len()));
        let mut costs = [Vec::new(), Vec::new()];
        for _ in 0..repeats {
            for (text, costs) in texts.iter().zip(&mut costs) {
                costs.push(cost(&scrubber, text));
            }
        }
        let [small, large] = costs.map(|costs| median(&costs));
        let mut row =
            vec![Cell::text("ns per byte, 64 KB and 1 MB"), Cell::text(format!("{piece:?}"))];
        row.extend([Cell::Count(repeats as u64), Cell::text(""), Cell::text("")]);
        row.extend([
            Cell::number(small, 1),
            Cell::number(large, 1),
            Cell::number(large / small, 2),
        ]);
        report.row(row);
        report.target(format!("{piece:?}: linear"), large <= GROWTH * small);
    }
}

/// Nanoseconds per byte over at least as many bytes as the large text has.
fn cost(scrubber: &Scrubber, text: &str) -> f64 {
    let times = LARGE.div_ceil(text.len());
    let start = Instant::now();
    for _ in 0..times {
        black_box(scrubber.find(text));
    }
    start.elapsed().as_secs_f64() * 1e9 / (times * text.len()) as f64
}
