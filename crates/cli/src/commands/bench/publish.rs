//! `gbrain bench publish`: freezes captures into a baseline.

use std::path::{Path, PathBuf};

use clap::Args;
use gbrain_core::baseline::{Draft, Metadata, Published, Thresholds, publish};
use gbrain_core::capture::CapturedRow;
use gbrain_core::format::baseline::PublishBody;
use gbrain_eval::{Input, read_baseline, read_publishable, write_atomically};
use serde_json::Value;

use super::is_own;
use crate::commands::Context;
use crate::commands::thresholds::ThresholdArgs;
use crate::error::{CliError, Exit};

/// Rows that were left out and are named one by one.
const LISTED: usize = 10;

/// Arguments of `bench publish`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gbrain eval export --since 30d > captured.ndjson\n  \
    gbrain bench publish --from captured.ndjson --to ~/.gbrain/baselines/mine.baseline.ndjson \\\n    \
    --label mine --why \"before the new ranking\"\n\n\
    A question that was asked again is kept once, by its newest answer, with its count as weight. \
    Captures of real use stay in your own baselines directory: a baseline that others see is made \
    from a made-up brain (\"eval\": { \"synthetic\": true } in its config.json).")]
pub(crate) struct PublishArgs {
    /// Captures: what `gbrain eval export` printed; `-` is stdin.
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    /// The baseline to write.
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    /// A name for people [default: the file's name].
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,
    #[command(flatten)]
    thresholds: ThresholdArgs,
    /// Why it is published: kept in the file, shown by `bench log`.
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
    /// Take the place of a baseline that is there; it stays in the history.
    #[arg(long)]
    force: bool,
    /// Publish captures of real use outside your own baselines directory.
    #[arg(long)]
    allow_real: bool,
}

/// Publishes a baseline.
pub(super) fn run(context: &Context<'_>, args: &PublishArgs) -> Result<Exit, CliError> {
    let previous = previous(&args.to, args.force)?;
    let rows = read_publishable(Input::open(&args.from)?)?;
    let draft = Draft {
        label: args.label.clone().unwrap_or_else(|| name_of(&args.to)),
        published_at: context.now,
        thresholds: args.thresholds.on(Thresholds::default())?,
        why: args.why.clone(),
        previous,
    };
    let published = write(context, &args.from, &args.to, rows, &draft, args.allow_real)?;
    say(context, &args.to, &published);
    Ok(Exit::Pass)
}

/// Makes a baseline and writes it, if its rows may go there.
pub(super) fn write(
    context: &Context<'_>,
    from: &Path,
    to: &Path,
    rows: Vec<(Value, CapturedRow)>,
    draft: &Draft,
    allow_real: bool,
) -> Result<Published, CliError> {
    let published = publish(rows, draft).map_err(|error| {
        CliError::input(from.display(), &error)
            .hint("a row needs a query, the pages it found, and an answer of every stage")
    })?;
    if !published.real.is_empty() && !allow_real && !is_own(context, to) {
        return Err(refuse_real(context, to, published.real.len()));
    }
    write_atomically(to, published.text.as_bytes())?;
    Ok(published)
}

fn refuse_real(context: &Context<'_>, to: &Path, rows: usize) -> CliError {
    CliError::private(format!(
        "{rows} of the rows were captured from real use, and {} is not in your own baselines \
         directory",
        to.display()
    ))
    .hint(format!("keep it in {}", context.home.baselines_dir().display()))
    .hint("or capture from a made-up brain: \"eval\": { \"synthetic\": true } in its config.json")
    .hint("or, if you mean it, --allow-real")
}

/// The baseline that is in the way, if it may be replaced.
fn previous(to: &Path, force: bool) -> Result<Option<Metadata>, CliError> {
    if !to.exists() {
        return Ok(None);
    }
    if !force {
        return Err(CliError::usage(format!("{} is already there", to.display()))
            .hint("--force takes its place and keeps it in the history"));
    }
    Ok(Some(read_baseline(Input::open(to)?)?.metadata))
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.strip_suffix(".ndjson").unwrap_or(&name);
    name.strip_suffix(".baseline").unwrap_or(name).to_owned()
}

/// Tells what was published.
pub(super) fn say(context: &Context<'_>, to: &Path, published: &Published) {
    let Published { metadata, weight_total, refused, real: _, text: _ } = published;
    let Thresholds { jaccard, top1, latency_multiplier } = metadata.thresholds;
    if context.terminal.is_json() {
        let path = to.display().to_string();
        context.terminal.json(&PublishBody::new(&path, published));
        return;
    }
    let latency = metadata.mean_latency_ms.map_or("none".to_owned(), |ms| format!("{ms:.1} ms"));
    context.terminal.line(format!("published {} ({})", to.display(), metadata.label));
    context.terminal.line(format!(
        "{} rows for {weight_total} captures, mean latency {latency}, hash {}",
        metadata.row_count,
        &metadata.source_hash[..16]
    ));
    context.terminal.line(format!(
        "gate: jaccard at least {jaccard}, top-1 at least {top1}, latency at most \
         {latency_multiplier} times"
    ));
    for refused in refused.iter().take(LISTED) {
        context.terminal.remark(format!("left out line {}: {}", refused.line, refused.reason));
    }
    if refused.len() > LISTED {
        context.terminal.remark(format!("left out {} more", refused.len() - LISTED));
    }
}
