//! `gbrain eval replay`: asks captured requests again and says what moved.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use gbrain_core::baseline::{BaselineIntegrity, CaptureFile, SignatureCheck};
use gbrain_core::capture::CapturedRow;
use gbrain_core::replay::{LiveContext, ReplaySummary, ReplayedRow, SettingsSource};
use gbrain_core::report::json::ReplayReport;
use gbrain_core::report::{ReplayParts, text};
use gbrain_eval::{
    Input, LocalOptions, LocalRetriever, Replay, ReplayCorpus, ReplayOptions, Retriever,
    StoppableRetriever, check_outputs, read_captures, replay,
};

use crate::commands::CommandContext;
use crate::commands::baseline_key::KeyArgs;
use crate::commands::html::HtmlArgs;
use crate::error::{CliError, Exit};
use crate::identity::workspace_key;
use crate::model_access::{interrupted, refuse_interrupted};
use crate::targets::{TargetArgs, open_target};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  gbrain eval replay --against captured.ndjson\n  \
    gbrain eval replay --against captured.ndjson --as-of capture --blame\n  \
    gbrain eval replay --against captured.ndjson --target prod --repeats 1\n  \
    gbrain eval replay --against captured.ndjson --html replay.html\n  \
    gbrain eval replay --against captured.ndjson --json | jq -e '.summary.mean_jaccard >= 0.85'\n\n\
    The brain's settings as they are now are used, so that a change of them shows; \
    --settings capture uses those of each capture. The brain is never changed. Exit codes: 0 every row \
    was asked and compared; 2 a row failed, was skipped or can't be compared, nothing was found for any row, or \
    the replay was interrupted.")]
pub(crate) struct ReplayArgs {
    /// Captures or a baseline; `-` is stdin.
    #[arg(long, value_name = "FILE")]
    against: PathBuf,
    /// At most this many rows, the newest.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// How many of the worst queries to show and explain.
    #[arg(long, value_name = "K", default_value_t = 5)]
    top_regressions: usize,
    /// Put every row into the JSON.
    #[arg(long)]
    verbose: bool,
    /// How many rows are asked at once; more than one makes latencies worse.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    concurrency: u16,
    /// How often each row is asked: the shortest time counts. A row with a captured CPU time is asked
    /// at least six times.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=1000))]
    repeats: u16,
    /// Which corpus is asked: now, or each row's own (capture), so that growth does not look like
    /// regression.
    #[arg(long, value_name = "WHEN", default_value = "now")]
    as_of: AsOfArg,
    /// The settings to use: live, or capture (those of each row).
    #[arg(long, value_name = "WHOSE", default_value = "live")]
    settings: SettingsArg,
    /// Find out what moved each query: corpus, settings, model or code.
    #[arg(long)]
    blame: bool,
    #[command(flatten)]
    html: HtmlArgs,
    #[command(flatten)]
    key: KeyArgs,
    #[command(flatten)]
    target: TargetArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AsOfArg {
    Now,
    Capture,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum SettingsArg {
    Live,
    Capture,
}

impl From<SettingsArg> for SettingsSource {
    fn from(settings: SettingsArg) -> Self {
        match settings {
            SettingsArg::Live => Self::Live,
            SettingsArg::Capture => Self::Capture,
        }
    }
}

pub(super) fn run(context: &CommandContext<'_>, args: &ReplayArgs) -> Result<Exit, CliError> {
    // From the first moment, so that a signal while files are read is an interruption too.
    interrupted();
    check_outputs([&args.html.html])?;
    args.target.refuse(&[
        (args.as_of == AsOfArg::Capture, "--as-of capture"),
        (args.settings == SettingsArg::Capture, "--settings capture"),
        (args.blame, "--blame"),
    ])?;
    let remote = args.target.remote(&context.home)?;
    let captures = captures(context, args)?;
    let integrity = captures.baseline.as_ref().map(|(_, integrity)| *integrity);
    let total = captures.rows.len();
    let rows = newest(captures.rows, args.limit);
    context.terminal.remark(format!("Replaying {} of {total} captured queries…", rows.len()));
    let options = ReplayOptions {
        as_of: match args.as_of {
            AsOfArg::Now => ReplayCorpus::Now,
            AsOfArg::Capture => ReplayCorpus::Capture,
        },
        settings: args.settings.into(),
        concurrency: usize::from(args.concurrency),
        repeats: usize::from(args.repeats),
        blame: args.blame,
        explain: args.top_regressions,
        identity: workspace_key(&context.home)?,
    };
    let replayed = match remote {
        Some(settings) => {
            replayed(context, open_target(context, settings)?.as_ref(), &rows, &options)
        }
        None => {
            let brain = context.brain()?;
            let live = LiveContext { settings: brain.settings()?, now: context.now };
            let indexing = context.terminal.indexing_until(interrupted());
            let local = LocalRetriever::new(&brain, LocalOptions::new(live), &indexing)?;
            replayed(context, &local, &rows, &options)
        }
    }?;
    let report = |is_verbose| {
        let (rows, summary) = (&replayed.rows, &replayed.summary);
        ReplayReport::new(rows, summary, args.top_regressions, is_verbose).of_baseline(integrity)
    };
    args.html.write(&report(true))?;
    if context.terminal.is_json() {
        context.terminal.json(&report(args.verbose));
    } else {
        let (rows, summary, worst) = (&replayed.rows, &replayed.summary, args.top_regressions);
        context.terminal.report(text::replay(&ReplayParts { rows, summary, worst }));
    }
    let is_silent = is_silent(&replayed.rows);
    if is_silent {
        context.terminal.warn(
            "nothing was found for any row: is it the right brain or target, and has it any pages?",
        );
    }
    let ReplaySummary { total, replayed, skipped, .. } = replayed.summary;
    if skipped > 0 {
        context.terminal.warn(format!(
            "{skipped} of {total} rows were not compared: the figures are of the others alone"
        ));
    }
    let is_whole = total > 0 && replayed == total && !is_silent;
    Ok(if is_whole { Exit::Pass } else { Exit::NoVerdict })
}

/// Reads the rows, and says what of a baseline could not be checked.
fn captures(context: &CommandContext<'_>, args: &ReplayArgs) -> Result<CaptureFile, CliError> {
    let key = args.key.read(&context.home)?;
    let input = Input::open(&args.against)?.checking(SignatureCheck::if_signed(key.as_ref()));
    let captures = read_captures(input)?;
    let integrity = captures.baseline.as_ref().map(|(_, integrity)| *integrity);
    if let Some(warning) = integrity.and_then(BaselineIntegrity::warning) {
        context.terminal.warn(format!("{}: {warning}", args.against.display()));
    }
    Ok(captures)
}

/// Whether rows were asked and none found anything.
fn is_silent(rows: &[ReplayedRow]) -> bool {
    let mut compared = rows.iter().filter_map(ReplayedRow::compared).peekable();
    compared.peek().is_some() && compared.all(|row| row.current.is_empty())
}

fn replayed(
    context: &CommandContext<'_>,
    retriever: &dyn Retriever,
    rows: &[CapturedRow],
    options: &ReplayOptions,
) -> Result<Replay, CliError> {
    let bar = context.terminal.progress("replaying");
    bar.set_length(rows.len() as u64);
    let stop = interrupted();
    let retriever = StoppableRetriever { retriever: Box::new(retriever), stop: &stop };
    let replayed = replay(&retriever, rows, options, &|n| bar.inc(n as u64))?;
    bar.finish_and_clear();
    refuse_interrupted(&stop)?;
    Ok(replayed)
}

/// The newest rows, by when they were stored where that is known, else those that come first.
fn newest(mut rows: Vec<CapturedRow>, limit: Option<u64>) -> Vec<CapturedRow> {
    let Some(limit) = limit.and_then(|limit| usize::try_from(limit).ok()) else { return rows };
    if limit >= rows.len() {
        return rows;
    }
    if rows.iter().all(|row| row.created_at.is_some()) {
        rows.sort_by_key(|row| std::cmp::Reverse((row.created_at, row.id)));
    }
    rows.truncate(limit);
    rows
}
