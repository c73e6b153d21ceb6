//! `gbrain baseline ratchet`: banks an improvement, explicitly and with a reason.
//!
//! Every row of a baseline is asked again. A row that the qrels say is better takes today's ranking; a
//! loss refuses everything unless it is accepted; a row that finds nothing any more keeps its old
//! ranking, so that the gate goes on failing on it.

use std::path::PathBuf;

use clap::Args;
use gbrain_brain::{Brain, QueryOptions};
use gbrain_core::baseline::{
    Baseline, BaselineDraft, BaselineThresholds, RowChange, SignatureCheck, judged_rows, row_change,
};
use gbrain_core::capture::{CapturePolicy, CapturedRow, ObservedAnswer, StoredCapture, write_line};
use gbrain_core::format::capture::read_row;
use gbrain_core::qrels::{JudgedQuery, Qrels};
use gbrain_core::ranking::is_query_specific;
use gbrain_core::replay::{LiveContext, SettingsSource, ask};
use gbrain_core::request::Caller;
use gbrain_eval::{Input, read_publishable};
use jiff::Timestamp;
use serde_json::Value;

use super::{publish, read_checked};
use crate::capture::policy;
use crate::commands::CommandContext;
use crate::commands::baseline_key::KeyArgs;
use crate::commands::eval::read_qrels;
use crate::commands::thresholds::ThresholdArgs;
use crate::error::{CliError, Exit};

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gbrain baseline ratchet --baseline mine.baseline.ndjson \\\n    \
    --qrels qrels.json --why \"titles weigh more: q12 now finds the essay\"\n  \
    gbrain baseline ratchet --baseline mine.baseline.ndjson --accept-loss --why \"the wiki was split\"\n\n\
    A row whose nDCG@10 rises by the qrels takes today's ranking; other rows stay as they were. A row \
    that got worse, that is not judged and lost a page or its first page, or that finds nothing any more, \
    and a looser threshold, are losses: nothing is written unless --accept-loss is given. Then every row \
    takes today's ranking, but one that finds nothing keeps the old one. Exit codes: 0 updated; 2 \
    nothing was banked."
)]
pub(crate) struct RatchetArgs {
    /// The baseline; what it was stays in its history.
    #[arg(long, value_name = "FILE")]
    baseline: PathBuf,
    /// Known-right answers that say which rows improved (nDCG@10).
    #[arg(long, value_name = "FILE")]
    qrels: Option<PathBuf>,
    /// Why today's rankings are better.
    #[arg(long, value_name = "TEXT")]
    why: String,
    /// Bank rows that got worse too.
    #[arg(long)]
    accept_loss: bool,
    #[command(flatten)]
    thresholds: ThresholdArgs,
    /// Keep captures of real use outside your own baselines directory.
    #[arg(long)]
    allow_real: bool,
    #[command(flatten)]
    key: KeyArgs,
}

/// Losses that are named one by one.
const LISTED: usize = 20;

/// A row with the object that it is published from.
type Publishable = (Value, CapturedRow);

/// A row that was asked again.
struct AskedRow {
    change: RowChange,
    old: Publishable,
    new: Publishable,
}

/// Every row with what became of it.
struct Changes {
    rows: Vec<AskedRow>,
}

pub(super) fn run(context: &CommandContext<'_>, args: &RatchetArgs) -> Result<Exit, CliError> {
    if args.why.trim().is_empty() {
        return Err(CliError::usage("--why is empty").hint("say why today's rankings are better"));
    }
    let key = args.key.read(&context.home)?;
    let baseline = read_checked(context, &args.baseline, key.as_ref())?;
    let signature = SignatureCheck::required(key.as_ref());
    let rows = read_publishable(Input::open(&args.baseline)?.checking(signature))?;
    let qrels = judgements(context, args, &baseline)?;
    let thresholds = args.thresholds.on(baseline.metadata.thresholds)?;
    let changes = Changes::of(context, rows, qrels.as_ref())?;
    changes.refuse(args, &thresholds, &baseline.metadata.thresholds)?;
    changes.say(context, args.accept_loss);
    let draft = BaselineDraft {
        label: baseline.metadata.label.clone(),
        published_at: context.now,
        thresholds,
        why: Some(args.why.clone()),
        previous: Some(baseline.metadata),
        key,
    };
    let path = &args.baseline;
    let banked = changes.banked(args.accept_loss);
    let published = publish::write_whole(context, path, path, banked, &draft, args.allow_real)?;
    publish::say(context, path, &published);
    Ok(Exit::Pass)
}

/// The qrels, which must judge some row of the baseline.
fn judgements(
    context: &CommandContext<'_>,
    args: &RatchetArgs,
    baseline: &Baseline,
) -> Result<Option<Qrels>, CliError> {
    let Some(path) = &args.qrels else { return Ok(None) };
    let mut qrels = read_qrels(path)?;
    qrels.queries.iter_mut().for_each(JudgedQuery::in_default_source);
    let (judged, all) = (judged_rows(&baseline.rows, &qrels), baseline.rows.len());
    if judged == 0 {
        return Err(CliError::usage(format!(
            "{}: none of its queries is in the baseline: no row can be judged",
            path.display()
        ))
        .hint("the texts of the queries must be those of the baseline's rows")
        .hint("TREC qrels have no texts: give a BEIR folder or qrels as JSON"));
    }
    context.terminal.remark(format!("{judged} of {all} rows are judged"));
    Ok(Some(qrels))
}

impl Changes {
    /// Asks every row again.
    fn of(
        context: &CommandContext<'_>,
        rows: Vec<Publishable>,
        qrels: Option<&Qrels>,
    ) -> Result<Self, CliError> {
        let brain = context.brain()?;
        let live = LiveContext { settings: brain.settings()?, now: context.now };
        let policy = policy(&context.home)?.map_err(CliError::config)?;
        let policy = policy.for_workspace(&context.home.workspace);
        let asked = rows.into_iter().map(|(value, row)| {
            let new = again(&brain, &live, &policy, value.clone(), &row)?;
            let change = row_change(&row, &new.1, qrels, policy.identity.as_ref());
            Ok(AskedRow { change, old: (value, row), new })
        });
        Ok(Self { rows: asked.collect::<Result<_, CliError>>()? })
    }

    fn count(&self, is_it: impl Fn(&RowChange) -> bool) -> usize {
        self.rows.iter().filter(|row| is_it(&row.change)).count()
    }

    /// Refuses losses that were not accepted, and a ratchet that has nothing to bank.
    fn refuse(
        &self,
        args: &RatchetArgs,
        thresholds: &BaselineThresholds,
        before: &BaselineThresholds,
    ) -> Result<(), CliError> {
        if args.accept_loss {
            return Ok(());
        }
        let mut losses: Vec<String> = self.rows.iter().filter_map(loss).collect();
        losses.extend(thresholds.loosened(before));
        if !losses.is_empty() {
            let error = CliError::usage(format!(
                "nothing was banked: {} would get worse",
                if losses.len() == 1 {
                    "1 thing".to_owned()
                } else {
                    format!("{} things", losses.len())
                }
            ));
            let error = losses.into_iter().take(LISTED).fold(error, CliError::hint);
            return Err(
                error.hint("accept them with --accept-loss, which banks every row, or fix them")
            );
        }
        let improved = self.count(|change| *change == RowChange::Improved);
        if improved == 0 && thresholds == before {
            let error = CliError::usage("nothing was banked: no row is known to have improved");
            return Err(match args.qrels {
                Some(_) => error.hint("no judged row has a higher nDCG@10 than before"),
                None => error
                    .hint("give --qrels to show what improved, or --accept-loss to bank every row"),
            });
        }
        Ok(())
    }

    fn say(&self, context: &CommandContext<'_>, accept_loss: bool) {
        let improved = self.count(|change| *change == RowChange::Improved);
        let moved = self.count(|change| *change == RowChange::Moved);
        let worse = self.count(|change| matches!(change, RowChange::Worse(_)));
        let empty = self.count(|change| *change == RowChange::FindsNothing);
        let of_moved = if accept_loss { "take today's ranking" } else { "keep the old ranking" };
        context.terminal.remark(format!(
            "{improved} rows improved; {moved} moved without being judged better or worse and \
             {of_moved}; {worse} got worse; {empty} find nothing any more and keep the old ranking"
        ));
        for loss in self.rows.iter().filter_map(loss).take(LISTED) {
            context.terminal.warn(format!("accepted loss: {loss}"));
        }
    }

    /// The rows to publish, as many as there were.
    fn banked(self, accept_loss: bool) -> Vec<Publishable> {
        let pick = |AskedRow { change, old, new }| match change {
            RowChange::Improved => new,
            RowChange::Moved | RowChange::Worse(_) if accept_loss => new,
            RowChange::Same | RowChange::FindsNothing | RowChange::Moved | RowChange::Worse(_) => {
                old
            }
        };
        self.rows.into_iter().map(pick).collect()
    }
}

/// Describes the pages that a row lost.
fn loss(AskedRow { change, old: (_, row), .. }: &AskedRow) -> Option<String> {
    match change {
        RowChange::Worse(why) => Some(format!("line {}: {why}", row.line)),
        RowChange::FindsNothing => Some(format!("line {}: it finds nothing any more", row.line)),
        RowChange::Same | RowChange::Improved | RowChange::Moved => None,
    }
}

/// A row with today's ranking, made as capture makes rows.
fn again(
    brain: &Brain,
    live: &LiveContext,
    policy: &CapturePolicy,
    value: Value,
    row: &CapturedRow,
) -> Result<(Value, CapturedRow), CliError> {
    let refuse = |why: String| CliError::usage(format!("line {}: {why}", row.line));
    let asked = ask(row, live, SettingsSource::Live).map_err(|skip| refuse(skip.to_string()))?;
    let answered = brain.answer(&asked.request, &QueryOptions::default())?;
    let failed = answered.ranking.degraded.iter().find(|d| !is_query_specific(d.reason));
    if let Some(degraded) = failed {
        return Err(refuse(format!("stage `{}` could not do its work", degraded.stage)));
    }
    let latency: u64 = answered.served.timings.iter().map(|stage| stage.micros).sum();
    let at = (brain.store().identity(), &answered.served);
    let caller = Caller { remote: row.remote, ..Caller::default() };
    let observed =
        ObservedAnswer::new(&asked.request, caller, &answered.ranking, at, latency as f64 / 1000.0);
    let policy = CapturePolicy { synthetic: row.synthetic, ..policy.clone() };
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
