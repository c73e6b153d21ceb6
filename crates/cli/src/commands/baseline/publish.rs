//! `gbrain baseline publish`: freezes captures into a baseline.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use clap::Args;
use gbrain_core::baseline::{
    Baseline, BaselineDraft, BaselineKey, BaselineThresholds, PublishedBaseline, SignatureCheck,
    publish, query_hash,
};
use gbrain_core::capture::CapturedRow;
use gbrain_core::gate::rows_needed;
use gbrain_core::report::json::PublishBody;
use gbrain_eval::{Input, check_output, read_baseline, read_publishable, write_atomically};
use serde_json::Value;

use super::is_own;
use crate::commands::CommandContext;
use crate::commands::baseline_key::KeyArgs;
use crate::commands::thresholds::ThresholdArgs;
use crate::error::{CliError, Exit};

/// Rows that were left out and are named one by one.
const LISTED: usize = 10;

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gbrain eval export --since 30d > captured.ndjson\n  \
    gbrain baseline publish --from captured.ndjson --to ~/.gbrain/baselines/mine.baseline.ndjson \\\n    \
    --label mine --why \"before the new ranking\"\n\n\
    A question that was asked again is kept once, by its newest answer, with its count as weight. \
    Captures of real use stay in your own baselines directory: a baseline to publish is made from a \
    synthetic brain (\"eval\": { \"synthetic\": true } in its config.json).")]
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
    /// Why it is published: kept in the file, shown by `baseline log`.
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
    /// Take the place of a baseline that is there; it stays in the history.
    #[arg(long)]
    force: bool,
    /// Publish captures of real use outside your own baselines directory.
    #[arg(long)]
    allow_real: bool,
    #[command(flatten)]
    key: KeyArgs,
}

pub(super) fn run(context: &CommandContext<'_>, args: &PublishArgs) -> Result<Exit, CliError> {
    check_output(&args.to)?;
    let key = args.key.read(&context.home)?;
    let previous = previous(&args.to, args.force, key.as_ref())?;
    // Publishing is how a baseline gets its signature: one without is taken, a wrong one is not.
    let signature = SignatureCheck::if_signed(key.as_ref());
    let rows = read_publishable(Input::open(&args.from)?.checking(signature))?;
    let draft = BaselineDraft {
        label: args.label.clone().unwrap_or_else(|| name_of(&args.to)),
        published_at: context.now,
        thresholds: args.thresholds.on(BaselineThresholds::default())?,
        why: args.why.clone(),
        previous: previous.as_ref().map(|previous| previous.metadata.clone()),
        key,
    };
    let read = rows.len();
    let published = made(&args.from, rows, &draft)?;
    let published = store(context, &args.to, published, args.allow_real)?;
    say(context, &args.to, &published);
    warn_of(context, read, &published);
    if let Some(previous) = &previous {
        warn_loosened(context, &args.to, previous, &published)?;
    }
    Ok(Exit::Pass)
}

/// Makes a baseline of all of these rows, and writes nothing if one would be left out.
pub(super) fn write_whole(
    context: &CommandContext<'_>,
    from: &Path,
    to: &Path,
    rows: Vec<(Value, CapturedRow)>,
    draft: &BaselineDraft,
    allow_real: bool,
) -> Result<PublishedBaseline, CliError> {
    let published = made(from, rows, draft)?;
    if !published.refused.is_empty() {
        let named = published.refused.iter().take(LISTED);
        return Err(named.fold(
            CliError::usage(format!(
                "nothing was written: {} rows would be left out of the baseline",
                published.refused.len()
            )),
            |error, refused| error.hint(format!("line {}: {}", refused.line, refused.reason)),
        ));
    }
    store(context, to, published, allow_real)
}

fn made(
    from: &Path,
    rows: Vec<(Value, CapturedRow)>,
    draft: &BaselineDraft,
) -> Result<PublishedBaseline, CliError> {
    publish(rows, draft).map_err(|error| {
        CliError::input(from.display(), &error)
            .hint("a row needs a query, the pages it found, and an answer of every stage")
    })
}

/// Writes a baseline, if its rows may go there.
fn store(
    context: &CommandContext<'_>,
    to: &Path,
    published: PublishedBaseline,
    allow_real: bool,
) -> Result<PublishedBaseline, CliError> {
    if !published.real.is_empty() && !allow_real && !is_own(context, to) {
        return Err(refuse_real(context, to, published.real.len()));
    }
    write_atomically(to, published.text.as_bytes())?;
    Ok(published)
}

fn refuse_real(context: &CommandContext<'_>, to: &Path, rows: usize) -> CliError {
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
fn previous(
    to: &Path,
    force: bool,
    key: Option<&BaselineKey>,
) -> Result<Option<Baseline>, CliError> {
    if !to.exists() {
        return Ok(None);
    }
    if !force {
        return Err(CliError::usage(format!("{} is already there", to.display()))
            .hint("--force takes its place and keeps it in the history"));
    }
    Ok(Some(read_baseline(Input::open(to)?.checking(SignatureCheck::if_signed(key)))?))
}

/// Warns of a baseline that takes the place of another and accepts more than that did.
fn warn_loosened(
    context: &CommandContext<'_>,
    to: &Path,
    previous: &Baseline,
    published: &PublishedBaseline,
) -> Result<(), CliError> {
    for loosened in published.metadata.thresholds.loosened(&previous.metadata.thresholds) {
        context.terminal.warn(format!("{loosened} with this baseline"));
    }
    let rows = read_baseline(Input::new(to, published.text.as_bytes()))?.rows;
    let kept: HashSet<String> = rows.iter().map(|row| query_hash(&row.query)).collect();
    let gone = previous.rows.iter().filter(|row| !kept.contains(&query_hash(&row.query)));
    match gone.count() {
        0 => (),
        gone => context.terminal.warn(format!(
            "{gone} of the {} queries of the baseline that was there are not in this one",
            previous.rows.len()
        )),
    }
    Ok(())
}

/// Warns of thresholds that the gate will refuse to decide on so few rows.
fn warn_too_few(context: &CommandContext<'_>, published: &PublishedBaseline) {
    let BaselineThresholds { jaccard, top1, .. } = published.metadata.thresholds;
    let n = published.metadata.row_count;
    for (name, floor) in [("jaccard", jaccard), ("top1", top1)] {
        if let Some(needed) = rows_needed(floor, n) {
            context.terminal.warn(format!(
                "the gate refuses {name} {floor} on {n} rows: it needs {needed}; capture more, or set \
                 another threshold"
            ));
        }
    }
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.strip_suffix(".ndjson").unwrap_or(&name);
    name.strip_suffix(".baseline").unwrap_or(name).to_owned()
}

/// Tells what was published.
pub(super) fn say(context: &CommandContext<'_>, to: &Path, published: &PublishedBaseline) {
    let PublishedBaseline { metadata, weight_total, refused, real: _, text: _ } = published;
    let BaselineThresholds { jaccard, top1, latency_multiplier } = metadata.thresholds;
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

/// Warns of what a reader of the summary would miss.
fn warn_of(context: &CommandContext<'_>, read: usize, published: &PublishedBaseline) {
    let left = published.refused.len();
    if left > 0 {
        context.terminal.warn(format!(
            "{left} of {read} captures can't be gated on and are not in the baseline"
        ));
    }
    warn_too_few(context, published);
}
