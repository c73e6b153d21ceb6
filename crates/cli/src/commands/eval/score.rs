//! `gbrain eval score`: a saved run against judgements, as trec_eval and ir_measures score it.
//!
//! Reads two files and nothing else: no brain, no home, no network.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use gbrain_core::fault::FaultKind;
use gbrain_core::measure::{Evaluation, Measure, MissingQueries, defaults, evaluate};
use gbrain_core::qrels::{Qrels, SegmentBy};
use gbrain_core::report::json::{PerQuery, ScoreReport, Segments};
use gbrain_core::run::Run;
use gbrain_eval::benchmark::Collection;
use gbrain_eval::{check_outputs, read_document, write_atomically};

use crate::error::{CliError, Exit};
use crate::terminal::{Terminal, table};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gbrain eval score --qrels qrels.txt --run bm25.run
  gbrain eval score --qrels beir/scifact --run bm25.run --measures \"nDCG@10 R@100\" --per-query
  gbrain eval score --qrels team.qrels.json --run run.ndjson --json --output score.json

Qrels: TREC lines, a BEIR table or folder (its qrels/test.tsv), gbrain's qrels.json in both shapes.
Runs: TREC lines, or NDJSON rows {\"query_id\", \"retrieved\": [{\"source_id\", \"slug\", \"score\"}]}.
Measures: P@k R@k recall_any@k recall_all@k hit@k Success@k RR AP nDCG nDCG(dcg='exp-log2')
RBP(p=0.8) ERR(max=4) Judged, with @k where it is wanted, and Rprec and Bpref; (rel=2) where 1 is not
relevant enough. Grades are whole numbers: trec_eval would read 0.5 as 0.

A judged query that the run does not rank counts 0, as in `trec_eval -c`. Ties are broken as in
trec_eval 10: score as a double, then document id, both descending.

An id is compared as it is written: `people/ada` and `default::people/ada` are two documents here.

Exit codes: 0 scored, 2 a file could not be read, no judged query is in the run, or no judged
document is in it: do both files name documents alike?")]
pub(crate) struct ScoreArgs {
    /// The judgements: a file of any shape, or a BEIR folder.
    #[arg(long, value_name = "PATH")]
    qrels: PathBuf,
    /// The run: TREC lines or NDJSON rows.
    #[arg(long, value_name = "FILE")]
    run: PathBuf,
    /// The measures, separated by blanks; by default nDCG@10 AP RR P@5 R@5 R@10 R@100 Judged@10.
    #[arg(long, value_name = "NAMES")]
    measures: Option<String>,
    /// Tell the scores of every query; JSON has the key `per_query` only with this.
    #[arg(long)]
    per_query: bool,
    /// Tell the means by label, source, intent, mode or tag of the queries, too.
    #[arg(long, value_name = "WHAT")]
    by: Option<SegmentBy>,
    /// Leave queries out that the run does not rank, instead of counting them 0.
    #[arg(long)]
    skip_missing: bool,
    /// Write to this file instead of stdout.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

const RUNS: &str = "a run has TREC lines or NDJSON rows: see `gbrain eval score --help`";

pub(crate) fn run(args: &ScoreArgs, terminal: &Terminal) -> Result<Exit, CliError> {
    check_outputs([&args.output])?;
    let measures = measures(args.measures.as_deref())?;
    let qrels = judgements(&args.qrels)?;
    let bytes = read_document(&args.run)?;
    let run = Run::parse(&bytes)
        .map_err(|error| CliError::input(args.run.display(), &error).hint(RUNS))?;
    if run.is_empty() {
        let message = format!("{}: there is no row in it", args.run.display());
        return Err(CliError::new(FaultKind::Input, message).hint(RUNS));
    }
    let missing = if args.skip_missing { MissingQueries::Skip } else { MissingQueries::Zero };
    let evaluation = evaluate(&qrels, &run, &measures, missing);
    let per_query = if args.per_query { PerQuery::Show } else { PerQuery::Hide };
    let is_whole =
        evaluation.missing_in_run.len() < qrels.queries.len() && evaluation.judged_hits > 0;
    let mut score = ScoreReport::of(&evaluation, &qrels, &run, per_query);
    score.segments = args.by.map(|by| Segments::of(&evaluation, &qrels, by));
    for warning in &score.warnings {
        terminal.warn(&warning.message);
    }
    let text = if terminal.is_json() {
        let text = serde_json::to_string_pretty(&score).expect("our values have text keys only");
        format!("{text}\n")
    } else {
        shown(&score, &evaluation)
    };
    match &args.output {
        Some(path) => write_atomically(path, text.as_bytes())?,
        None => terminal.out(text),
    }
    // The process is about to end, so the memory is not freed piece by piece.
    std::mem::forget((run, qrels));
    Ok(if is_whole { Exit::Pass } else { Exit::NoVerdict })
}

fn measures(names: Option<&str>) -> Result<Vec<Measure>, CliError> {
    let Some(names) = names else { return Ok(defaults()) };
    let measures =
        Measure::parse_list(names).map_err(|error| CliError::usage(error.to_string()))?;
    if measures.is_empty() {
        return Err(CliError::usage("--measures names none")
            .hint("leave it out for the usual ones, or name some: \"nDCG@10 R@100\""));
    }
    Ok(measures)
}

/// Reads qrels of any shape: a file, or a BEIR folder.
pub(super) fn judgements(path: &Path) -> Result<Qrels, CliError> {
    let file = if path.is_dir() { Collection::of_folder(path)?.qrels } else { path.to_owned() };
    Qrels::parse(&read_document(&file)?).map_err(|error| {
        CliError::input(file.display(), &error)
            .hint("qrels are JSON, TREC lines or a BEIR table: see `gbrain eval score --help`")
    })
}

/// The scores as text.
pub(super) fn shown(score: &ScoreReport, evaluation: &Evaluation) -> String {
    let mut text = String::new();
    if score.per_query.is_some() {
        text.push_str(&per_query(evaluation));
        text.push('\n');
    }
    let value = |mean: Option<f64>| mean.map_or("-".to_owned(), |mean| format!("{mean:.4}"));
    let rows = evaluation.summary.iter();
    text.push_str(&table(
        &["measure", "mean"],
        rows.map(|(measure, mean)| vec![measure.to_string(), value(*mean)]),
    ));
    if let Some(segments) = &score.segments {
        text.push('\n');
        text.push_str(&by_segment(segments, evaluation));
    }
    let counts = &score.counts;
    writeln!(
        text,
        "\nover {} queries; {} hits, {} of them judged",
        counts.queries, counts.hits, counts.judged_hits
    )
    .expect("writing to a string succeeds");
    text
}

fn by_segment(segments: &Segments, evaluation: &Evaluation) -> String {
    let measures: Vec<String> =
        evaluation.summary.iter().map(|(measure, _)| measure.to_string()).collect();
    let head: Vec<&str> =
        [segments.by.name(), "n"].into_iter().chain(measures.iter().map(String::as_str)).collect();
    let rows = segments.groups.iter().map(|(name, group)| {
        let mean = |measure: &String| {
            group.summary[measure].as_f64().map_or("-".to_owned(), |mean| format!("{mean:.4}"))
        };
        let means = measures.iter().map(mean);
        [name.clone(), group.queries.to_string()].into_iter().chain(means).collect()
    });
    table(&head, rows)
}

fn per_query(evaluation: &Evaluation) -> String {
    let measures: Vec<String> =
        evaluation.summary.iter().map(|(measure, _)| measure.to_string()).collect();
    let head: Vec<&str> =
        ["query", "hits"].into_iter().chain(measures.iter().map(String::as_str)).collect();
    let rows = evaluation.per_query.iter().map(|query| {
        let hits = query.retrieved.map_or("missing".to_owned(), |n| n.to_string());
        let scores = query.scores.iter().map(|score| format!("{score:.4}"));
        [query.query_id.clone(), hits].into_iter().chain(scores).collect()
    });
    table(&head, rows)
}
