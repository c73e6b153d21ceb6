//! Arguments and reporting that all benchmarks share.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use flate2::Compression;
use flate2::write::GzEncoder;
use gbrain_core::benchmark::reading::ReadingPrompt;
use gbrain_core::benchmark::{Benchmark, Granularity, check_title, describe_summary_by_type};
use gbrain_core::format::benchmark::BenchmarkResult;
use gbrain_core::report::text;
use gbrain_eval::benchmark::{
    AnswerReader, Answerer, BenchmarkRun, BenchmarkRunSpec, Expander, ResumeState, Retrieval,
    RunOptions, summary_line,
};
use gbrain_eval::{check_outputs, write_atomically};

use super::gate::exit;
use crate::commands::CommandContext;
use crate::commands::html::HtmlArgs;
use crate::error::{CliError, Exit};
use crate::models::configured_embedder;
use crate::terminal::count;

/// Flags of every benchmark.
#[derive(Debug, Args)]
pub(super) struct BenchmarkArgs {
    /// Ask the first N questions only.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) limit: Option<u64>,
    /// How many documents of a ranking are taken.
    #[arg(long, value_name = "K", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(super) top_k: u16,
    /// Search by words only: no vectors are made.
    #[arg(long)]
    keyword_only: bool,
    /// Write one JSON row per question to this file. Without it `longmemeval` and `locomo` print their rows on stdout,
    /// unless stdout is a terminal.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write the whole result to this file: label, means, baselines, every row. `.gz` compresses.
    #[arg(long, value_name = "FILE")]
    result: Option<PathBuf>,
    /// Go on with the rows of this file; failed questions are asked again.
    #[arg(long, value_name = "FILE")]
    resume_from: Option<PathBuf>,
    /// Questions that are asked at once [default: one per processor].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    concurrency: Option<u16>,
    /// The seed of the random baseline.
    #[arg(long, value_name = "S", default_value_t = 42)]
    seed: u64,
    /// A number of the pipeline for this run: `--set pool=80`, as in `gbrain config list`.
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    set: Vec<(String, String)>,
    /// A title for the report, printed beside the measured configuration. Words for answer scores are
    /// refused.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    #[command(flatten)]
    html: HtmlArgs,
}

impl BenchmarkArgs {
    /// Which flags were given that say how a brain in memory is made and asked.
    pub(super) fn of_a_brain(&self) -> [(bool, &'static str); 9] {
        [
            (self.limit.is_some(), "--limit"),
            (self.keyword_only, "--keyword-only"),
            (self.output.is_some(), "--output"),
            (self.result.is_some(), "--result"),
            (self.resume_from.is_some(), "--resume-from"),
            (self.concurrency.is_some(), "--concurrency"),
            (!self.set.is_empty(), "--set"),
            (self.title.is_some(), "--title"),
            (self.html.html.is_some(), "--html"),
        ]
    }
}

/// Flags of the benchmarks that are chats.
#[derive(Debug, Args)]
pub(super) struct ChatArgs {
    /// The unit of retrieval: a session, or one turn of it.
    #[arg(long, value_name = "WHAT", default_value = "session", value_parser = granularity)]
    pub(super) granularity: Granularity,
    /// End the rows with recall by type of question.
    #[arg(long)]
    pub(super) by_type: bool,
    /// Exit 1 if a type's recall is below this.
    #[arg(long, value_name = "F", value_parser = share)]
    pub(super) by_type_floor: Option<f64>,
}

/// The parameters of one benchmark.
pub(super) struct BenchmarkSpec<'a> {
    pub(super) kind: Benchmark,
    pub(super) files: Vec<PathBuf>,
    pub(super) granularity: Granularity,
    pub(super) retrieval_log: Option<&'a Path>,
    pub(super) by_type: bool,
    pub(super) floor: Option<f64>,
    /// The model that answers.
    pub(super) reader: Option<&'a AnswerReader<'a>>,
    /// The model that rephrases questions, and its name.
    pub(super) expander: Option<(Expander<'a>, &'a str)>,
}

/// Runs a benchmark and reports it.
pub(super) fn run(
    context: &CommandContext<'_>,
    args: &BenchmarkArgs,
    particular: &BenchmarkSpec<'_>,
) -> Result<Exit, CliError> {
    if let Some(title) = &args.title {
        check_title(title).map_err(|error| {
            CliError::usage(error.to_string())
                .hint("say what was measured: --title \"retrieval on LongMemEval_S\"")
        })?;
    }
    let retrieval_log = particular.retrieval_log.map(Path::to_owned);
    check_outputs([&args.output, &args.result, &args.html.html, &retrieval_log])?;
    let spec = spec(args, particular);
    let ran = asked(context, args, particular, &spec)?;
    for problem in ran.problems.iter().take(5) {
        context.terminal.warn(format!("dataset: {}", problem.detail));
    }
    if ran.problems.len() > 5 {
        context.terminal.warn(format!("and {} more", ran.problems.len() - 5));
    }
    if let Some(path) = &args.result {
        write_result(path, &ran.result)?;
    }
    args.html.write(&ran.result)?;
    report(context, args, &ran, particular.kind);
    for (kind, recall) in ran.below(particular.floor) {
        let floor = particular.floor.unwrap_or_default();
        let found = format!("{} of {} found", recall.hit, recall.total);
        context.terminal.warn(format!("{kind}: {found}, below the floor of {floor}"));
    }
    let errors = ran.result.counts.get("errors").copied().unwrap_or_default();
    if let Some(reader) = particular.reader {
        context.terminal.remark(format!("answers of {} cost {}", reader.model(), reader.cost()));
        if reader.is_over_budget() {
            context.terminal.warn("the budget ran out: what is left has no answer");
        }
    }
    if errors > 0 {
        let questions = count(errors, "question", "questions");
        context.terminal.warn(format!("{questions} failed: see `error` in the rows (--output)"));
    }
    Ok(exit(ran.verdict(particular.floor)))
}

fn spec(args: &BenchmarkArgs, particular: &BenchmarkSpec<'_>) -> BenchmarkRunSpec {
    BenchmarkRunSpec {
        kind: particular.kind,
        files: particular.files.clone(),
        limit: args.limit.and_then(|limit| usize::try_from(limit).ok()),
        k: usize::from(args.top_k),
        retrieval: if args.keyword_only { Retrieval::Words } else { Retrieval::Hybrid },
        granularity: particular.granularity,
        seed: args.seed,
        settings: args.set.iter().cloned().collect::<BTreeMap<_, _>>(),
        title: args.title.clone(),
    }
}

fn asked(
    context: &CommandContext<'_>,
    args: &BenchmarkArgs,
    particular: &BenchmarkSpec<'_>,
    spec: &BenchmarkRunSpec,
) -> Result<BenchmarkRun, CliError> {
    let bar = context.terminal.progress("asking");
    let prints_rows = prints_rows(context, args, particular.kind);
    let on_resume = |resumed: &ResumeState| {
        let ResumeState { done, failed, unreadable, cut_off } = resumed;
        let done = count(*done, "question is", "questions are");
        let mut remark = format!("{done} done; {failed} failed and will be asked again");
        if *unreadable > 0 {
            remark.push_str(&format!("; {unreadable} lines can't be read and stay as they are"));
        }
        if *cut_off {
            remark.push_str("; the last line was cut off and is made again");
        }
        context.terminal.remark(remark);
    };
    let mut on_row = |line: &str| {
        bar.inc(1);
        if prints_rows {
            bar.suspend(|| context.terminal.out(format!("{line}\n")));
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // Waiting for a model needs no processor.
    let at_once = if particular.reader.is_some() { cores.max(8) } else { cores };
    let reader = particular.reader;
    let answer = |prompt: &ReadingPrompt| match reader {
        Some(reader) => reader.answer(prompt),
        None => Err("no model answers".to_owned()),
    };
    let answer = reader.map(|reader| (&answer, reader.model().to_string()));
    let how = RunOptions {
        concurrency: args.concurrency.map_or(at_once, usize::from),
        models: configured_embedder(&context.home)?.local_only(),
        expander: particular.expander,
        answerer: answer.as_ref().map(|(answer, model)| (*answer as Answerer<'_>, model.as_str())),
        output: args.output.as_deref(),
        resume_from: args.resume_from.as_deref(),
        by_type: particular.by_type || particular.floor.is_some(),
        retrieval_log: particular.retrieval_log,
        on_resume: &on_resume,
        on_row: &mut on_row,
    };
    let ran = spec.run(how);
    bar.finish_and_clear();
    let ran = ran?;
    if prints_rows && (particular.by_type || particular.floor.is_some()) {
        let measured = describe_summary_by_type(&ran.result.label);
        context.terminal.out(format!("{}\n", summary_line(&ran.by_type, measured)));
    }
    Ok(ran)
}

/// Whether rows go to stdout: the chat benchmarks print them for programs, and nothing prints them on a terminal.
fn prints_rows(context: &CommandContext<'_>, args: &BenchmarkArgs, kind: Benchmark) -> bool {
    let has_row_stream = matches!(kind, Benchmark::LongMemEval | Benchmark::Locomo);
    let terminal = context.terminal;
    has_row_stream
        && args.output.is_none()
        && !terminal.is_json()
        && !terminal.has_terminal_stdout()
}

/// Prints the summary: on stdout, or on stderr where stdout has the rows.
fn report(context: &CommandContext<'_>, args: &BenchmarkArgs, ran: &BenchmarkRun, kind: Benchmark) {
    if context.terminal.is_json() {
        context.terminal.json(&ran.result);
        return;
    }
    let text = text::benchmark(&ran.result, &ran.labelled.facts);
    if prints_rows(context, args, kind) {
        context.terminal.remark_text(&text);
        return;
    }
    context.terminal.report(text);
    if args.output.is_none() {
        context.terminal.remark("one row per question: add --output FILE");
    }
}

/// Writes a result, compressed where its name says so.
pub(super) fn write_result(path: &Path, result: &BenchmarkResult) -> Result<(), CliError> {
    let mut bytes = serde_json::to_vec_pretty(result).expect("results have text keys only");
    bytes.push(b'\n');
    if path.extension().is_some_and(|extension| extension == "gz") {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        let packed = encoder.write_all(&bytes).and_then(|()| encoder.finish());
        bytes = packed.map_err(|error| CliError::io(path.display(), &error))?;
    }
    Ok(write_atomically(path, &bytes)?)
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("NAME=VALUE, as in pool=80")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn granularity(text: &str) -> Result<Granularity, String> {
    let chats = Granularity::from_name(text).filter(|one| *one != Granularity::Document);
    chats.ok_or_else(|| "session or turn".to_owned())
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "a number from 0 to 1".to_owned())
}
