//! `gbrain eval gate`: pass or fail.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use gbrain_core::baseline::{Baseline, BaselineThresholds, SignatureCheck};
use gbrain_core::gate::{ConfidenceLevel, CorrectnessThresholds, GateParts, MeasureFloor, Verdict};
use gbrain_core::provenance::Provenance;
use gbrain_core::qrels::Qrels;
use gbrain_core::replay::LiveContext;
use gbrain_core::report::json::GateReport;
use gbrain_core::report::{Queries, github, junit, markdown, text};
use gbrain_eval::{
    BLAME_CHUNKS, GateInputs, GateRun, Input, JudgedPipeline, LocalOptions, LocalRetriever,
    ReplayOptions, Retriever, Selftest, StoppableRetriever, check_outputs, gate, read_baseline,
    selftest, write_atomically,
};
use serde_json::json;

use super::qrels::{read_qrels, with_texts};
use super::replay::SettingsArg;
use crate::commands::CommandContext;
use crate::commands::baseline_key::KeyArgs;
use crate::commands::html::HtmlArgs;
use crate::commands::thresholds::ThresholdArgs;
use crate::error::{CliError, Exit};
use crate::identity::workspace_key;
use crate::model_access::{interrupted, refuse_interrupted};
use crate::targets::{TargetArgs, open_target};
use crate::terminal::table;

mod gate_result;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gbrain eval gate --baseline ~/.gbrain/baselines/mine.baseline.ndjson\n  \
    gbrain eval gate --qrels qrels.json -k 10 --json > gate.json\n  \
    gbrain eval gate --baseline b.ndjson --qrels q.json --junit gate.xml --html gate.html --github\n  \
    gbrain eval gate --baseline b.ndjson --qrels q.json --selftest\n  \
    gbrain eval gate --qrels q.json --target prod --concurrency 8\n  \
    gbrain eval gate --result longmemeval.json.gz --floor recall_all@5=0.9\n\n\
    Exit codes: 0 pass; 1 fail: a breach was measured; 2 no verdict: an input can't be read or was \
    edited or is not signed with the configured key, no judged page exists, a threshold is no number or \
    needs more rows than there are (one row weighs more than 1 - floor), or the run was interrupted. \
    Thresholds: flag, then the baseline's own, then the default."
)]
pub(crate) struct GateArgs {
    /// A baseline to replay: did it change?
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Known-right answers: is it any good? Any shape of qrels; TREC and BEIR need --queries or a
    /// folder.
    #[arg(long, value_name = "FILE")]
    qrels: Option<PathBuf>,
    /// A benchmark's result (`--result` of `eval longmemeval` and its like) to hold against --floor;
    /// opens no brain.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["baseline", "qrels", "selftest", "html", "github", "confidence", "production", "target"], requires = "floor")]
    result: Option<PathBuf>,
    /// The least mean of a measure in --result: `--floor recall_all@5=0.9`.
    #[arg(long, value_name = "NAME=F", requires = "result", value_parser = gate_result::floor)]
    floor: Vec<MeasureFloor>,
    /// The texts of the queries, as BEIR's queries.jsonl, for qrels that have none.
    #[arg(long, value_name = "FILE", requires = "qrels")]
    queries: Option<PathBuf>,
    /// How many pages of a judged query count.
    #[arg(short, long = "k", value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    k: u16,
    #[command(flatten)]
    thresholds: ThresholdArgs,
    #[command(flatten)]
    qrels_thresholds: QrelsThresholdArgs,
    /// Call a breach a failure only when it is this sure (0.95); else it is inconclusive.
    #[arg(long, value_name = "C")]
    confidence: Option<f64>,
    /// Ask judged queries as users get them, with the time as it is, instead of the fixed pipeline.
    #[arg(long)]
    production: bool,
    /// The settings for replayed rows: live, or capture (those of each row).
    #[arg(long, value_name = "WHOSE", default_value = "live")]
    settings: SettingsArg,
    /// How many rows are asked at once; more than one makes latencies worse.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    concurrency: u16,
    /// How often each row is asked: the shortest time counts. A row with a captured CPU time is asked
    /// at least six times.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=1000))]
    repeats: u16,
    /// Write a JUnit report.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write a Markdown report.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    #[command(flatten)]
    html: HtmlArgs,
    /// Print annotations for GitHub Actions, and the summary where it asks for one.
    #[arg(long)]
    github: bool,
    /// Show queries in Markdown, JUnit and annotations; without it they show hashes only.
    #[arg(long)]
    show_queries: bool,
    /// Break the retriever in ten ways and see whether this gate notices each.
    #[arg(long)]
    selftest: bool,
    #[command(flatten)]
    key: KeyArgs,
    #[command(flatten)]
    target: TargetArgs,
}

/// Thresholds for known-right answers that were typed.
#[derive(Debug, Args)]
struct QrelsThresholdArgs {
    /// Least mean recall at k of judged queries [default: 0.70].
    #[arg(long, value_name = "F")]
    threshold_recall_at_k: Option<f64>,
    /// Least share of judged queries whose first page is relevant [default: 0.60].
    #[arg(long, value_name = "F")]
    threshold_first_relevant_hit: Option<f64>,
    /// Least share of judged queries whose first page is the expected one [default: 0.50].
    #[arg(long, value_name = "F")]
    threshold_expected_top1: Option<f64>,
}

impl QrelsThresholdArgs {
    fn on(&self, kept: CorrectnessThresholds) -> Result<CorrectnessThresholds, CliError> {
        let first = self.threshold_first_relevant_hit.unwrap_or(kept.first_relevant_hit);
        let thresholds = CorrectnessThresholds {
            recall_at_k: self.threshold_recall_at_k.unwrap_or(kept.recall_at_k),
            first_relevant_hit: first,
            expected_top1: self.threshold_expected_top1.unwrap_or(kept.expected_top1),
        };
        thresholds.check().map_err(|error| CliError::usage(error.to_string()))?;
        Ok(thresholds)
    }
}

/// The inputs of the gate, read and checked before any query is sent.
struct GateFiles {
    baseline: Option<(Baseline, BaselineThresholds)>,
    qrels: Option<(Qrels, CorrectnessThresholds)>,
    confidence: Option<ConfidenceLevel>,
}

pub(super) fn run(context: &CommandContext<'_>, args: &GateArgs) -> Result<Exit, CliError> {
    check_outputs([&args.junit, &args.markdown, &args.html.html])?;
    if let Some(path) = &args.result {
        return gate_result::run(context, path, args);
    }
    // From the first moment, so that a signal while files are read is an interruption too.
    let stop = interrupted();
    args.target.refuse(&[(args.settings == SettingsArg::Capture, "--settings capture")])?;
    let remote = args.target.remote(&context.home)?;
    let inputs = read(context, args)?;
    if let Some(settings) = remote {
        return gated(context, args, &inputs, open_target(context, settings)?.as_ref());
    }
    let brain = context.brain()?;
    let live = LiveContext { settings: brain.settings()?, now: context.now };
    let indexing = context.terminal.indexing_until(stop);
    let local = LocalRetriever::new(&brain, LocalOptions::new(live), &indexing)?;
    gated(context, args, &inputs, &local)
}

/// Runs the gates on a target.
fn gated(
    context: &CommandContext<'_>,
    args: &GateArgs,
    inputs: &GateFiles,
    retriever: &dyn Retriever,
) -> Result<Exit, CliError> {
    let provenance = &retriever.info().provenance;
    let gated = GateInputs {
        baseline: inputs.baseline.as_ref().map(|(baseline, thresholds)| (baseline, *thresholds)),
        judged: inputs
            .qrels
            .as_ref()
            .map(|(qrels, thresholds)| (qrels.queries.as_slice(), *thresholds)),
        k: usize::from(args.k),
        confidence: inputs.confidence,
        pipeline: if args.production { JudgedPipeline::Production } else { JudgedPipeline::Fixed },
        replay: ReplayOptions {
            settings: args.settings.into(),
            concurrency: usize::from(args.concurrency),
            repeats: usize::from(args.repeats),
            explain: 5,
            blame: is_small(provenance),
            identity: workspace_key(&context.home)?,
            ..ReplayOptions::default()
        },
    };
    let stop = interrupted();
    let retriever = &StoppableRetriever { retriever: Box::new(retriever), stop: &stop };
    if args.selftest {
        let text = args.baseline.as_deref().map(read_text).transpose()?;
        let tested = selftest(retriever, &gated, text.as_deref())?;
        refuse_interrupted(&stop)?;
        return Ok(say_selftest(context, &tested));
    }
    let bar = context.terminal.progress("gating");
    bar.set_length(gated.count() as u64);
    let started = Instant::now();
    let outcome = gate(retriever, &gated, &|n| bar.inc(n as u64))?;
    bar.finish_and_clear();
    refuse_interrupted(&stop)?;
    let run = GateRun {
        baseline: &shown(args.baseline.as_deref()),
        qrels: &shown(args.qrels.as_deref()),
        provenance: Some(provenance),
        elapsed_ms: started.elapsed().as_micros() as f64 / 1000.0,
    };
    report(context, args, &outcome.parts(&gated, run))?;
    context.remember_gate(&json!({
        "schema_version": 1, "ts": format!("{:.3}", context.now), "verdict": outcome.verdict.name(),
        "baseline": args.baseline, "qrels": args.qrels,
    }));
    Ok(exit(outcome.verdict))
}

/// The exit code of a verdict.
pub(super) fn exit(verdict: Verdict) -> Exit {
    match verdict {
        Verdict::Pass => Exit::Pass,
        Verdict::Fail => Exit::Fail,
        Verdict::Inconclusive => Exit::NoVerdict,
    }
}

fn is_small(provenance: &Provenance) -> bool {
    provenance.corpus.as_ref().is_some_and(|corpus| corpus.fingerprint.chunks <= BLAME_CHUNKS)
}

fn read(context: &CommandContext<'_>, args: &GateArgs) -> Result<GateFiles, CliError> {
    if args.baseline.is_none() && args.qrels.is_none() {
        return Err(CliError::usage("nothing to gate on")
            .hint("give --baseline FILE, --qrels FILE, or both"));
    }
    let baseline = match &args.baseline {
        None => None,
        Some(path) => {
            let key = args.key.read(&context.home)?;
            let input = Input::open(path)?.checking(SignatureCheck::required(key.as_ref()));
            let baseline = read_baseline(input)?;
            let thresholds = args.thresholds.on(baseline.metadata.thresholds)?;
            Some((baseline, thresholds))
        }
    };
    let qrels = match &args.qrels {
        None => None,
        Some(path) => {
            let qrels = with_texts(read_qrels(path)?, args.queries.as_deref())?;
            let thresholds = args.qrels_thresholds.on(CorrectnessThresholds::default())?;
            Some((qrels, thresholds))
        }
    };
    let confidence = args.confidence.map(ConfidenceLevel::new).transpose();
    let confidence = confidence.map_err(|error| CliError::usage(error.to_string()))?;
    Ok(GateFiles { baseline, qrels, confidence })
}

fn read_text(path: &Path) -> Result<String, CliError> {
    std::fs::read_to_string(path).map_err(|error| CliError::io(path.display(), &error))
}

fn report(
    context: &CommandContext<'_>,
    args: &GateArgs,
    parts: &GateParts<'_>,
) -> Result<(), CliError> {
    write_reports(context, args, parts)?;
    if context.terminal.is_json() {
        context.terminal.json(&GateReport::new(parts));
    } else {
        context.terminal.report(text::gate(parts));
    }
    if args.github {
        // Where stdout is one JSON document, annotations go to the other stream.
        let queries = queries(args);
        if context.terminal.is_json() {
            context.terminal.remark_text(github::gate(parts, queries).trim_end());
        } else {
            context.terminal.out(github::gate(parts, queries));
        }
    }
    Ok(())
}

fn write_reports(
    context: &CommandContext<'_>,
    args: &GateArgs,
    parts: &GateParts<'_>,
) -> Result<(), CliError> {
    let queries = queries(args);
    if let Some(path) = &args.junit {
        write_atomically(path, junit::gate(parts, queries).as_bytes())?;
    }
    if let Some(path) = &args.markdown {
        write_atomically(path, markdown::gate(parts, queries).as_bytes())?;
    }
    args.html.write(&GateReport::new(parts))?;
    if args.github
        && let Some(path) = &context.home.step_summary
    {
        append(path, &markdown::gate(parts, queries))?;
    }
    Ok(())
}

pub(in crate::commands) fn append(path: &Path, text: &str) -> Result<(), CliError> {
    use std::io::Write as _;
    let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| CliError::io(path.display(), &error))
}

fn queries(args: &GateArgs) -> Queries {
    if args.show_queries { Queries::Shown } else { Queries::Hashed }
}

fn shown(path: Option<&Path>) -> String {
    path.map_or_else(String::new, |path| path.display().to_string())
}

/// Prints the kill score. A mutant that lives is a finding; a gate that is not green to begin with
/// can't be tested.
fn say_selftest(context: &CommandContext<'_>, selftest: &Selftest) -> Exit {
    let (killed, applied) = selftest.kills();
    let status = |is_killed: Option<bool>| match is_killed {
        Some(true) => "killed",
        Some(false) => "SURVIVED",
        None => "does not apply",
    };
    if context.terminal.is_json() {
        context.terminal.json(&selftest.wire_body());
    } else {
        context.terminal.out_paged(table(
            &["mutant", "gate", "how"],
            selftest.mutants.iter().map(|report| {
                let how = report.note.clone();
                vec![report.mutant.to_string(), status(report.is_killed).to_owned(), how]
            }),
        ));
        context.terminal.line(format!("kill score: {killed} of {applied}"));
    }
    if selftest.unmutated != Verdict::Pass {
        let verdict = selftest.unmutated;
        context
            .terminal
            .warn(format!("the gate says {verdict} without any mutant: nothing is proven"));
        return Exit::NoVerdict;
    }
    if killed == applied && applied > 0 { Exit::Pass } else { Exit::Fail }
}
