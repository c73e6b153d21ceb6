//! `gbrain eval --qrels`: runs queries whose right answers are known and measures the answers,
//! with one setting or two.

use std::path::{Path, PathBuf};

use clap::Args;
use gbrain_core::compare::{
    CompareOptions, EvalResultKind, MeasureColumn, MeasureRole, ResultRow, ResultTable, compare,
};
use gbrain_core::config::{OLD_RERANK_THRESHOLD, RERANK_THRESHOLD};
use gbrain_core::gate::{JudgedResult, QueryResult};
use gbrain_core::measure::{Evaluation, Measure, MissingQueries, evaluate};
use gbrain_core::qrels::{JudgedPages, Qrels, SegmentBy, queries_of_jsonl};
use gbrain_core::replay::LiveContext;
use gbrain_core::report::json::{
    CompareReport, NO_JUDGED_HIT, PerQuery, ScoreReport, ScoreWarning, Segments,
};
use gbrain_core::report::text;
use gbrain_core::run::{OrderedBy, Run, RunHit, trec_run};
use gbrain_core::search::Settings;
use gbrain_core::target::TargetSettings;
use gbrain_eval::{
    JudgedPipeline, JudgedRun, LocalOptions, LocalRetriever, Retriever, StoppableRetriever,
    check_outputs, judge, read_document, write_atomically,
};
use serde_json::Value;

use super::score::{judgements, shown};
use crate::commands::CommandContext;
use crate::error::{CliError, Exit};
use crate::model_access::{interrupted, refuse_interrupted};
use crate::targets::{TargetArgs, open_target};

#[derive(Debug, Args)]
pub(crate) struct QrelsArgs {
    /// Known-right answers: a JSON file of any shape, TREC qrels, or a BEIR folder.
    #[arg(long, value_name = "FILE", required = true)]
    qrels: Option<PathBuf>,
    /// The texts of the queries, as BEIR's queries.jsonl, for qrels that have none.
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,
    /// The measures, by default nDCG@k P@k R@k RR AP judged@k.
    #[arg(long, value_name = "LIST")]
    measures: Option<String>,
    /// How many pages count.
    #[arg(short, long = "k", value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    k: u16,
    /// Settings of A: a JSON object such as {"search.vectors_weight": 0}, or a file of one.
    #[arg(long, value_name = "FILE|JSON")]
    config_a: Option<String>,
    /// Settings of B: compares B with A.
    #[arg(long, value_name = "FILE|JSON")]
    config_b: Option<String>,
    /// Ask as users do, with the time as it is, instead of the fixed pipeline.
    #[arg(long)]
    production: bool,
    /// Show a row for every query.
    #[arg(long)]
    per_query: bool,
    /// Tell the means by label, source, intent, mode or tag of the queries, too.
    #[arg(long, value_name = "WHAT")]
    by: Option<SegmentBy>,
    /// Write the retrieved results (of A) as a TREC run.
    #[arg(long, value_name = "FILE")]
    run_output: Option<PathBuf>,
    #[command(flatten)]
    target: TargetArgs,
}

impl QrelsArgs {
    /// Judged queries of a collection, asked of a target.
    pub(super) fn of_target(
        qrels: PathBuf,
        queries: Option<PathBuf>,
        k: u16,
        target: TargetArgs,
    ) -> Self {
        Self {
            qrels: Some(qrels),
            queries,
            measures: None,
            k,
            config_a: None,
            config_b: None,
            production: false,
            per_query: false,
            by: None,
            run_output: None,
            target,
        }
    }
}

/// How many queries that fell, and that rose, are listed.
const WORST: usize = 10;

/// One run with its scores.
struct Arm {
    judged: Vec<JudgedResult>,
    /// The judgements with their pages named as they are here.
    qrels: Qrels,
    pages: JudgedPages,
    evaluation: Evaluation,
}

/// Runs the queries and prints the measures.
pub(super) fn run(context: &CommandContext<'_>, args: &QrelsArgs) -> Result<Exit, CliError> {
    let Some(path) = &args.qrels else {
        return Err(CliError::usage("nothing to do").hint("see `gbrain eval --help`"));
    };
    check_outputs([&args.run_output])?;
    let qrels = with_texts(read_qrels(path)?, args.queries.as_deref())?;
    let measures = measures(args)?;
    let of_a = args.config_a.is_some();
    args.target.refuse(&[(of_a, "--config-a"), (args.config_b.is_some(), "--config-b")])?;
    if let Some(settings) = args.target.remote(&context.home)? {
        return run_remote(context, args, &qrels, &measures, settings);
    }
    let brain = context.brain()?;
    let live = brain.settings()?;
    let a = arm(context, &brain, args, &qrels, &measures, with(&live, args.config_a.as_deref())?)?;
    if let Some(path) = &args.run_output {
        write_atomically(path, as_trec(&a.judged)?.as_bytes())?;
    }
    let exit = if is_whole(&a) { Exit::Pass } else { Exit::NoVerdict };
    let Some(config_b) = &args.config_b else {
        say_one(context, args, &a)?;
        return Ok(exit);
    };
    let b = arm(context, &brain, args, &qrels, &measures, with(&live, Some(config_b))?)?;
    say_two(context, &a, &b)?;
    Ok(if is_whole(&b) { exit } else { Exit::NoVerdict })
}

/// Asks a target elsewhere, as many queries at once as it may be asked.
fn run_remote(
    context: &CommandContext<'_>,
    args: &QrelsArgs,
    qrels: &Qrels,
    measures: &[Measure],
    settings: TargetSettings,
) -> Result<Exit, CliError> {
    let threads = settings.limits.concurrency;
    let target = open_target(context, settings)?;
    let info = target.info();
    let wanted = depth(measures);
    let depth = info.max_results.map_or(wanted, |most| most.min(wanted));
    let cut = measures.iter().filter_map(Measure::cutoff).max().unwrap_or(0);
    if cut > depth {
        return Err(CliError::usage(format!("{} gives at most {depth} results", info.name))
            .hint(format!("measure at most that many: -k {depth}")));
    }
    let arm = asked(context, args, qrels, measures, target.as_ref(), (depth, threads))?;
    if let Some(path) = &args.run_output {
        write_atomically(path, as_trec(&arm.judged)?.as_bytes())?;
    }
    say_one(context, args, &arm)?;
    Ok(if is_whole(&arm) { Exit::Pass } else { Exit::NoVerdict })
}

/// Whether every query was answered and a judged page is in some answer: a zero of judgements that name
/// other pages is no measurement.
fn is_whole(arm: &Arm) -> bool {
    arm.evaluation.judged_hits > 0
        && arm.judged.iter().all(|judged| matches!(judged.result, QueryResult::Ranked(_)))
}

fn measures(args: &QrelsArgs) -> Result<Vec<Measure>, CliError> {
    let k = args.k;
    let default = format!("nDCG@{k} P@{k} R@{k} RR AP judged@{k}");
    Measure::parse_list(args.measures.as_deref().unwrap_or(&default))
        .map_err(|error| CliError::usage(error.to_string()))
}

/// The live settings with some of them replaced. Nothing is stored.
fn with(live: &Settings, config: Option<&str>) -> Result<Settings, CliError> {
    let Some(config) = config else { return Ok(live.clone()) };
    let text = if config.trim_start().starts_with('{') {
        config.to_owned()
    } else {
        std::fs::read_to_string(config).map_err(|error| CliError::io(config, &error))?
    };
    let Ok(Value::Object(object)) = serde_json::from_str::<Value>(&text) else {
        return Err(CliError::usage(format!("{config} is not a JSON object of settings")));
    };
    let mut settings = live.clone();
    for (key, value) in object {
        let key = if key == RERANK_THRESHOLD { OLD_RERANK_THRESHOLD } else { &key };
        let name = key.strip_prefix("search.").unwrap_or(key);
        let value = value.as_str().map_or(value.to_string(), str::to_owned);
        settings.set(name, &value).map_err(|error| CliError::usage(error.to_string()))?;
    }
    Ok(settings)
}

fn arm(
    context: &CommandContext<'_>,
    brain: &gbrain_brain::Brain,
    args: &QrelsArgs,
    qrels: &Qrels,
    measures: &[Measure],
    settings: Settings,
) -> Result<Arm, CliError> {
    let live = LiveContext { settings, now: context.now };
    let indexing = context.terminal.indexing_until(interrupted());
    let target = LocalRetriever::new(brain, LocalOptions::new(live), &indexing)?;
    asked(context, args, qrels, measures, &target, (depth(measures), 1))
}

/// Measures over the whole ranking need more than what is cut at.
fn depth(measures: &[Measure]) -> usize {
    measures.iter().filter_map(Measure::cutoff).max().unwrap_or(0).max(100)
}

/// Asks every query, so deep and on so many threads.
fn asked(
    context: &CommandContext<'_>,
    args: &QrelsArgs,
    qrels: &Qrels,
    measures: &[Measure],
    retriever: &dyn Retriever,
    (depth, threads): (usize, usize),
) -> Result<Arm, CliError> {
    let bar = context.terminal.progress("asking");
    bar.set_length(qrels.queries.len() as u64);
    let pipeline = if args.production { JudgedPipeline::Production } else { JudgedPipeline::Fixed };
    let queries = qrels.queries.clone();
    let stop = interrupted();
    let retriever = StoppableRetriever { retriever: Box::new(retriever), stop: &stop };
    let JudgedRun { queries: judged, pages } =
        judge(&retriever, queries, depth, pipeline, threads, &|n| bar.inc(n as u64))?;
    bar.finish_and_clear();
    refuse_interrupted(&stop)?;
    let queries = judged.iter().map(|judged| judged.query.clone()).collect();
    let qrels = Qrels { queries, shape: qrels.shape, lints: qrels.lints.clone() };
    let evaluation = evaluate(&qrels, &saved(&judged)?, measures, MissingQueries::Zero);
    Ok(Arm { judged, qrels, pages, evaluation })
}

/// The retrieved pages as a TREC run.
fn saved(judged: &[JudgedResult]) -> Result<Run<'_>, CliError> {
    let mut run = Run::new(OrderedBy::Position);
    for judged in judged {
        if let QueryResult::Ranked(pages) = &judged.result {
            let hits = pages.iter().map(|page| RunHit { doc: page.as_str().into(), score: None });
            run.push(judged.query.id.as_str(), hits)
                .map_err(|error| CliError::usage(error.to_string()))?;
        }
    }
    Ok(run)
}

fn as_trec(judged: &[JudgedResult]) -> Result<String, CliError> {
    trec_run(&saved(judged)?, "gbrain").map_err(|error| CliError::usage(error.to_string()))
}

fn say_one(context: &CommandContext<'_>, args: &QrelsArgs, arm: &Arm) -> Result<(), CliError> {
    let qrels = &arm.qrels;
    let per_query = if args.per_query { PerQuery::Show } else { PerQuery::Hide };
    let mut score = ScoreReport::of(&arm.evaluation, qrels, &saved(&arm.judged)?, per_query);
    score.segments = args.by.map(|by| Segments::of(&arm.evaluation, qrels, by));
    let missing = arm.pages.warning();
    score
        .warnings
        .extend(missing.map(|message| ScoreWarning { kind: "judged_pages_missing", message }));
    for warning in &score.warnings {
        context.terminal.warn(&warning.message);
    }
    warn_errors(context, arm);
    if context.terminal.is_json() {
        context.terminal.json(&score);
    } else {
        context.terminal.out(shown(&score, &arm.evaluation));
    }
    Ok(())
}

fn warn_errors(context: &CommandContext<'_>, arm: &Arm) {
    for judged in &arm.judged {
        if let QueryResult::Errored(message) = &judged.result {
            context.terminal.warn(format!("query {}: {message}", judged.query.id));
        }
    }
}

/// B against A, measure by measure, paired by query.
fn say_two(context: &CommandContext<'_>, a: &Arm, b: &Arm) -> Result<(), CliError> {
    let comparison = compare(&measured("A", a), &[measured("B", b)], &CompareOptions::default())
        .expect("two evaluations of the same queries can be compared");
    for arm in [a, b] {
        warn_errors(context, arm);
        if arm.evaluation.judged_hits == 0 {
            context.terminal.warn(NO_JUDGED_HIT);
        }
    }
    if let Some(warning) = a.pages.warning() {
        context.terminal.warn(warning);
    }
    if context.terminal.is_json() {
        context.terminal.json(&CompareReport::new(&comparison));
    } else {
        context.terminal.report(text::compare(&comparison, WORST));
    }
    Ok(())
}

/// The scores of one arm, query by query.
fn measured(name: &str, arm: &Arm) -> ResultTable {
    let measures = arm.evaluation.summary.iter();
    let columns =
        measures.map(|(m, _)| MeasureColumn { measure: m.to_string(), role: MeasureRole::Quality });
    let answered = arm.judged.iter().map(|judged| matches!(judged.result, QueryResult::Ranked(_)));
    let rows =
        arm.evaluation.per_query.iter().zip(answered).map(|(query, is_answered)| ResultRow {
            key: query.query_id.clone(),
            label: query.query_id.clone(),
            against: None,
            is_answered,
            values: query.scores.iter().map(|score| Some(*score)).collect(),
        });
    ResultTable {
        name: name.to_owned(),
        kind: EvalResultKind::Scores,
        conditions: Vec::new(),
        notes: Vec::new(),
        columns: columns.collect(),
        rows: rows.collect(),
    }
}

/// Reads qrels of any shape: a file, or a BEIR folder with its queries.
pub(in crate::commands) fn read_qrels(path: &Path) -> Result<Qrels, CliError> {
    let qrels = judgements(path)?;
    if path.is_dir() {
        return with_texts(qrels, Some(&path.join("queries.jsonl")));
    }
    Ok(qrels)
}

/// Gives queries their texts, and refuses qrels that have none: there would be nothing to ask.
pub(super) fn with_texts(qrels: Qrels, texts: Option<&Path>) -> Result<Qrels, CliError> {
    let qrels = match texts {
        None => qrels,
        Some(path) => {
            let texts = queries_of_jsonl(&read_document(path)?).map_err(|error| {
                CliError::input(path.display(), &error)
                    .hint("every line is {\"_id\": \"...\", \"text\": \"...\"}")
            })?;
            qrels.with_texts(texts)
        }
    };
    match qrels.queries.iter().find(|query| query.text.is_none()) {
        None => Ok(qrels),
        Some(query) => Err(CliError::usage(format!("query `{}` has no text to ask", query.id))
            .hint("give the texts with --queries queries.jsonl, or a BEIR folder")),
    }
}
