//! One run of the probe.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use gbrain_brain::IndexKind;
use gbrain_core::contradiction::report::RunInfo;
use gbrain_core::contradiction::{PairSet, Report, canaries, docket, prompt};
use gbrain_core::format::contradiction::ContradictionReport;
use gbrain_core::id::WorkspaceId;
use gbrain_core::money::Usd;
use gbrain_core::replay::LiveContext;
use gbrain_core::report::text;
use gbrain_core::request::Viewer;
use gbrain_eval::contradictions::{
    GatherOptions, Judge, JudgeSession, JudgementCache, SessionResult, default_canaries, gather,
    most_frequent, read_queries,
};
use gbrain_eval::{check_outputs, write_atomically};
use gbrain_llm::{ModelClient, ModelRef, ModelTask};
use gbrain_store::{JudgingRun, RunKind, Store};
use jiff::Timestamp;

use crate::commands::CommandContext;
use crate::commands::eval::gate::exit;
use crate::error::{CliError, Exit};
use crate::model_access::{
    BudgetedRun, ModelCallArgs, catalog, parse_usd, refuse_over_budget, settings,
};
use crate::models::EMBEDDING;

/// The purpose under which judgements are charged.
const PURPOSE: &str = "contradictions";
/// The name of the judge that needs no model.
const OFFLINE: &str = "offline";
/// The default budgets of a run on a terminal and of a run without one.
const WATCHED_USD: Usd = Usd::cents(500);
const UNWATCHED_USD: Usd = Usd::cents(100);

pub(super) const HELP: &str = "\
Examples:
  gbrain eval suspected-contradictions --query 'who owns the ledger?'
  gbrain eval suspected-contradictions --queries-file queries.jsonl --top-k 5 --budget-usd 5 \\
      --judge anthropic:claude-haiku-4-5 --output ~/.gbrain/probe-runs/today.json
  gbrain eval suspected-contradictions --from-capture --top 50
  gbrain eval suspected-contradictions trend --days 30
  gbrain eval suspected-contradictions review --severity high

Passages that answer the same query are compared with each other and with the takes of their page.
Without --judge and without a configured model, the offline judge is used: rules, no network.
Planted pairs with known answers are judged too, to correct the rate for the judge's errors.
Private pages are left out unless --include-private. Nothing is changed: findings contain the suggested fix.

Exit codes: 0 judged, no contradiction; 1 contradictions; 2 no verdict: refused, the judge failed or is
not worth believing, the budget ran out, a cassette is stale, or there was nothing to judge.";

/// Arguments of a run.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct ContradictionsRunArgs {
    /// Queries, one a line: text, or objects with `query`.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["query", "from_capture"])]
    queries_file: Option<PathBuf>,
    /// A query; may be given again.
    #[arg(long, value_name = "TEXT", conflicts_with = "from_capture")]
    query: Vec<String>,
    /// The queries that were captured most often.
    #[arg(long)]
    from_capture: bool,
    /// How many of them.
    #[arg(long, value_name = "N", default_value_t = 50, requires = "from_capture", value_parser = clap::value_parser!(u16).range(1..))]
    top: u16,
    /// Only the first queries.
    #[arg(long, value_name = "N", conflicts_with = "sample", value_parser = clap::value_parser!(u16).range(1..))]
    limit: Option<u16>,
    /// Only so many queries, drawn by --seed.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    sample: Option<u16>,
    /// The random seed of the sample and the planted pairs.
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// The number of pages per query.
    #[arg(long, value_name = "K", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=100))]
    top_k: u16,
    /// The judge: a model, or `offline` [default: the settings, else offline].
    #[arg(long, value_name = "M")]
    judge: Option<String>,
    /// The most that judging may cost, in dollars [default: 5 at a terminal, 1 otherwise].
    #[arg(long, alias = "max-usd", value_name = "USD", value_parser = parse_usd)]
    budget_usd: Option<Usd>,
    /// Planted pairs of each kind [default: 200 for the offline judge, 60 for a model].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(..=5000))]
    canaries: Option<u16>,
    /// The most characters of a passage that the judge is shown.
    #[arg(long, value_name = "N", default_value_t = prompt::MAX_PAIR_CHARS as u32, value_parser = clap::value_parser!(u32).range(50..=20_000))]
    max_pair_chars: u32,
    /// Include private pages. Their text is sent to the judge and appears in the report.
    #[arg(long)]
    include_private: bool,
    /// Remember nothing and use nothing that is remembered.
    #[arg(long, conflicts_with = "refresh_cache")]
    no_cache: bool,
    /// Judge everything anew, and remember that.
    #[arg(long)]
    refresh_cache: bool,
    /// Write the report, as JSON; directories are made.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    model_calls: ModelCallArgs,
}

pub(super) fn run(
    context: &CommandContext<'_>,
    args: &ContradictionsRunArgs,
) -> Result<Exit, CliError> {
    check_outputs([&args.output])?;
    let started = Instant::now();
    let store: Arc<Store> = context.store()?.into();
    let (queries, sampling) = queries(context, store.as_ref(), args)?;
    let chosen = chosen(context, &store, args)?;
    let judge = match &chosen {
        None => Judge::Offline,
        Some((client, model)) => Judge::Model(client, model.clone()),
    };
    let embedded = embedding_cost(store.as_ref(), &context.home.workspace, context.now)?;
    let docket = gathered(context, &store, args, &queries)?;
    let memory = JudgementCache {
        store: store.as_ref(),
        workspace: &context.home.workspace,
        now: context.now,
        reads: !args.refresh_cache,
    };
    // A run from a cassette uses the recorded answers, not the cached ones.
    let memory =
        Some(memory).filter(|_| !args.no_cache && args.model_calls.recording.cassette.is_none());
    let of_each = args.canaries.map_or_else(|| default_canaries(&judge), usize::from);
    let planted = canaries(args.seed, of_each);
    let session =
        JudgeSession::new(&judge, memory, &docket, planted, args.max_pair_chars as usize)?;
    let estimate = session.estimate()?;
    if let Some((client, _)) = &chosen {
        refuse_over_budget(client, estimate, "--budget-usd", args.model_calls.yes)?;
    }
    let SessionResult { outcomes, planted, first_error } = judged_session(context, session);
    if let Some(error) = first_error {
        context.terminal.warn(format!("{}: {error}", error.kind));
    }
    let embedded_now = embedding_cost(store.as_ref(), &context.home.workspace, context.now)?;
    let info = RunInfo {
        run_id: format!("{:.3}-{}", context.now, std::process::id()),
        judge_model: judge.name(),
        prompt_version: prompt::PROMPT_VERSION.to_owned(),
        prompt_hash: prompt::prompt_hash().short(),
        truncation_policy: prompt::truncation_policy(args.max_pair_chars as usize),
        top_k: usize::from(args.top_k),
        sampling,
        canary_seed: args.seed,
        judge_cost: chosen.as_ref().map_or(Usd::ZERO, |(client, _)| client.charged()),
        embedding_cost: embedded_now.saturating_sub(embedded),
        duration_ms: started.elapsed().as_millis() as u64,
    };
    let report = Report::new(info, &docket, &outcomes, &planted);
    tell(context, store.as_ref(), args, &ContradictionReport::new(&report, &docket))?;
    Ok(exit(report.verdict()))
}

/// The queries, and in words how they were chosen.
fn queries(
    context: &CommandContext<'_>,
    store: &Store,
    args: &ContradictionsRunArgs,
) -> Result<(Vec<String>, String), CliError> {
    let (mut queries, from) = match (&args.queries_file, args.from_capture) {
        (Some(path), _) => (read_queries(path)?, "file".to_owned()),
        (None, true) => {
            let queries = most_frequent(store, &context.home.workspace, usize::from(args.top))?;
            (queries, format!("captured, the {} most frequent", args.top))
        }
        (None, false) if args.query.is_empty() => {
            return Err(CliError::usage("there is nothing to ask")
                .hint("give --query TEXT, --queries-file FILE or --from-capture"));
        }
        (None, false) => (args.query.clone(), "given".to_owned()),
    };
    queries.retain(|query| !query.trim().is_empty());
    if queries.is_empty() {
        let error = CliError::usage("there is no query to ask");
        return Err(match args.from_capture {
            true => {
                error.hint("nothing is captured yet: export GBRAIN_CONTRIBUTOR_MODE=1, then ask")
            }
            false => error.hint("a file has one query a line, as text or as {\"query\": \"...\"}"),
        });
    }
    let total = queries.len();
    let how = match (args.limit, args.sample) {
        (Some(limit), _) => {
            queries.truncate(usize::from(limit));
            format!("{from}; the first {} of {total}", queries.len())
        }
        (None, Some(sample)) => {
            let drawn = docket::sample(total, usize::from(sample), args.seed);
            queries = drawn.into_iter().map(|at| queries[at].clone()).collect();
            format!("{from}; {} of {total}, drawn by seed {}", queries.len(), args.seed)
        }
        (None, None) => format!("{from}; all {total}"),
    };
    Ok((queries, how))
}

/// The model that judges, with the door to it; none is the offline judge.
fn chosen(
    context: &CommandContext<'_>,
    store: &Arc<Store>,
    args: &ContradictionsRunArgs,
) -> Result<Option<(ModelClient, ModelRef)>, CliError> {
    let flag = args.judge.as_deref();
    let model = if flag == Some(OFFLINE) {
        None
    } else {
        let settings = settings(store.as_ref(), &context.home.workspace)?;
        let chosen = catalog(&context.home)?.choose(ModelTask::Contradictions, flag, &settings);
        chosen.map_err(|error| CliError::usage(error.to_string()))?.map(|(model, _)| model)
    };
    let Some(model) = model else {
        return match args.model_calls.recording.cassette {
            Some(_) => Err(CliError::usage("the offline judge has no use for a cassette")
                .hint("name the model that was recorded: --judge provider:model")),
            None => Ok(None),
        };
    };
    let max_usd = budget(context, args);
    let paid =
        BudgetedRun { max_usd, purpose: PURPOSE, args: &args.model_calls, concurrency: None };
    let client = paid.client(context, store)?;
    let offline = |error| CliError::from(error).hint("judge without a model: --judge offline");
    client.ready(&model).map_err(offline)?;
    Ok(Some((client, model)))
}

fn budget(context: &CommandContext<'_>, args: &ContradictionsRunArgs) -> Usd {
    let default = if context.terminal.is_watched() { WATCHED_USD } else { UNWATCHED_USD };
    args.budget_usd.unwrap_or(default)
}

fn gathered(
    context: &CommandContext<'_>,
    store: &Arc<Store>,
    args: &ContradictionsRunArgs,
    queries: &[String],
) -> Result<PairSet, CliError> {
    let brain = context.brain_in(store.clone(), IndexKind::Disk)?;
    let options = GatherOptions {
        live: LiveContext { settings: brain.settings()?, now: context.now },
        top_k: usize::from(args.top_k),
        max_chars: args.max_pair_chars as usize,
        trust: if args.include_private { Viewer::Trusted } else { Viewer::Untrusted },
    };
    let bar = context.terminal.progress("asking");
    bar.set_length(queries.len() as u64);
    let docket = gather(&brain, queries, &options, &|n| bar.inc(n as u64))?;
    bar.finish_and_clear();
    Ok(docket)
}

fn judged_session(context: &CommandContext<'_>, session: JudgeSession<'_>) -> SessionResult {
    let bar = context.terminal.progress("judging");
    bar.set_length(session.count() as u64);
    let judged_session = session.run(&|n| bar.inc(n as u64));
    bar.finish_and_clear();
    judged_session
}

/// The cost of embedding since the run began, over all processes.
fn embedding_cost(
    store: &Store,
    workspace: &WorkspaceId,
    since: Timestamp,
) -> Result<Usd, CliError> {
    let lines = store.spend(workspace, since)?;
    Ok(lines.iter().filter(|line| line.purpose == EMBEDDING).map(|line| line.charged).sum())
}

/// Keeps the report, writes it, prints it. A run that can't be kept is told all the same.
fn tell(
    context: &CommandContext<'_>,
    store: &Store,
    args: &ContradictionsRunArgs,
    report: &ContradictionReport,
) -> Result<(), CliError> {
    let body = serde_json::to_string(report).expect("our values have text keys only");
    let outcome = report.run_status.name().to_owned();
    let run = JudgingRun { id: report.run_id.clone(), at: context.now, outcome, body };
    let kept = store.add_run(&context.home.workspace, RunKind::Contradictions, &run);
    if context.terminal.is_json() {
        context.terminal.json(report);
    } else {
        context.terminal.report(text::contradictions(report));
    }
    if let Some(path) = &args.output {
        let text = serde_json::to_string_pretty(report).expect("our values have text keys only");
        write_atomically(path, format!("{text}\n").as_bytes())?;
    }
    kept?;
    Ok(())
}
