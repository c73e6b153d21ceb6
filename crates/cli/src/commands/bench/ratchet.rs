//! `gbrain bench ratchet`: banks an improvement, explicitly and with a reason.
//!
//! Every row of a baseline is asked again and today's ranking takes the place of the old one. With
//! qrels, a query whose right answers are known must not get worse.

use std::path::PathBuf;

use clap::Args;
use gbrain_brain::capture::software;
use gbrain_brain::{Ask, Brain};
use gbrain_core::baseline::{Draft, query_hash};
use gbrain_core::capture::{CapturePolicy, CapturedRow, Observed, StoredCapture, write_line};
use gbrain_core::format::capture::read_row;
use gbrain_core::measure::{Graded, Measure};
use gbrain_core::qrels::{JudgedQuery, Qrels};
use gbrain_core::ranking::is_of_the_question;
use gbrain_core::replay::{Live, SettingsFrom, ask};
use gbrain_core::request::Caller;
use gbrain_core::scrub::Scrubber;
use gbrain_eval::{Input, read_baseline, read_publishable};
use jiff::Timestamp;
use serde_json::Value;

use super::publish;
use crate::commands::Context;
use crate::commands::eval::read_qrels;
use crate::commands::thresholds::ThresholdArgs;
use crate::error::{CliError, Exit};

/// How deep a ranking is judged.
const DEPTH: usize = 10;

/// Arguments of `bench ratchet`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gbrain bench ratchet --baseline mine.baseline.ndjson \\\n    \
    --qrels qrels.json --why \"titles weigh more: q12 now finds the essay\"")]
pub(crate) struct RatchetArgs {
    /// The baseline; what it was stays in its history.
    #[arg(long, value_name = "FILE")]
    baseline: PathBuf,
    /// Known-right answers: a query in them must not get worse (nDCG@10).
    #[arg(long, value_name = "FILE")]
    qrels: Option<PathBuf>,
    /// Why today's rankings are better.
    #[arg(long, value_name = "TEXT")]
    why: String,
    #[command(flatten)]
    thresholds: ThresholdArgs,
    /// Keep captures of real use outside your own baselines directory.
    #[arg(long)]
    allow_real: bool,
}

/// Banks today's rankings.
pub(super) fn run(context: &Context<'_>, args: &RatchetArgs) -> Result<Exit, CliError> {
    if args.why.trim().is_empty() {
        return Err(CliError::usage("--why is empty").hint("say why today's rankings are better"));
    }
    let baseline = read_baseline(Input::open(&args.baseline)?)?;
    let rows = read_publishable(Input::open(&args.baseline)?)?;
    let qrels = args.qrels.as_deref().map(read_qrels).transpose()?;
    let brain = context.brain()?;
    let live = Live { settings: brain.settings()?, now: context.now };
    let mut banked = Vec::with_capacity(rows.len());
    let mut worse = Vec::new();
    let mut moved = 0_usize;
    for (value, row) in rows {
        let (value, new) = again(&brain, &live, value, &row)?;
        moved += usize::from(row.expected() != new.expected());
        worse.extend(qrels.as_ref().and_then(|qrels| worsened(qrels, &row, &new)));
        banked.push((value, new));
    }
    if !worse.is_empty() {
        return Err(worse.into_iter().fold(
            CliError::usage("nothing was banked: by the qrels these queries got worse"),
            CliError::hint,
        ));
    }
    let draft = Draft {
        label: baseline.metadata.label.clone(),
        published_at: context.now,
        thresholds: args.thresholds.on(baseline.metadata.thresholds)?,
        why: Some(args.why.clone()),
        previous: Some(baseline.metadata),
    };
    let path = &args.baseline;
    let published = publish::write(context, path, path, banked, &draft, args.allow_real)?;
    context.terminal.remark(format!("{moved} rows have another ranking than before"));
    publish::say(context, &args.baseline, &published);
    Ok(Exit::Pass)
}

/// A row with today's ranking, made as capture makes rows.
fn again(
    brain: &Brain,
    live: &Live,
    value: Value,
    row: &CapturedRow,
) -> Result<(Value, CapturedRow), CliError> {
    let refuse = |why: String| CliError::usage(format!("line {}: {why}", row.line));
    let asked = ask(row, live, SettingsFrom::Live).map_err(|skip| refuse(skip.to_string()))?;
    let answered = brain.answer(&asked.request, &Ask::default())?;
    let failed = answered.ranking.degraded.iter().find(|d| !is_of_the_question(d.reason));
    if let Some(degraded) = failed {
        return Err(refuse(format!("stage `{}` could not do its work", degraded.stage)));
    }
    let latency: u64 = answered.served.timings.iter().map(|stage| stage.micros).sum();
    let at = (brain.store().identity(), &answered.served);
    let caller = Caller { remote: row.remote, ..Caller::default() };
    let observed =
        Observed::new(&asked.request, caller, &answered.ranking, at, latency as f64 / 1000.0);
    let policy = CapturePolicy {
        scrubber: Some(Scrubber::default()),
        synthetic: row.synthetic,
        software: software(),
    };
    // The text was scrubbed when it was captured; what is asked is what is left of it.
    let is_scrubbed = row.scrubbed == Some(true);
    let again = is_scrubbed.then_some(&answered.ranking);
    let fields = policy.row(policy.scrub(observed), again);
    let mut line = Vec::new();
    write_line(&StoredCapture { id: 0, created_at: Timestamp::UNIX_EPOCH, fields }, &mut line);
    let new: Value = serde_json::from_slice(&line)
        .map_err(|error| refuse(format!("its new row can't be read back: {error}")))?;
    let value = replaced(value, new);
    let read = read_row(value.clone(), row.line).map_err(|error| refuse(error.to_string()))?;
    Ok((value, read))
}

/// The old row with everything that was measured again taken from the new one.
fn replaced(old: Value, new: Value) -> Value {
    let (Value::Object(mut kept), Value::Object(new)) = (old, new) else { return Value::Null };
    for (key, value) in new {
        if !matches!(key.as_str(), "id" | "created_at" | "query" | "scrubbed") {
            kept.insert(key, value);
        }
    }
    Value::Object(kept)
}

/// Says so if a judged query got worse.
fn worsened(qrels: &Qrels, old: &CapturedRow, new: &CapturedRow) -> Option<String> {
    let hash = query_hash(&old.query);
    let is_it = |query: &&JudgedQuery| query.text.as_deref().is_some_and(|t| query_hash(t) == hash);
    let judged = qrels.queries.iter().find(is_it)?;
    let measure = Measure::ndcg(DEPTH);
    let score = |row: &CapturedRow| {
        let pages: Vec<String> =
            row.expected().unwrap_or_default().iter().map(ToString::to_string).collect();
        measure.of(&Graded::of(&judged.judgements, pages.iter().map(String::as_str)))
    };
    let (before, after) = (score(old), score(new));
    (after + 1e-9 < before).then(|| format!("{}: {measure} {before:.4} to {after:.4}", judged.id))
}
