//! `gbrain eval cross-modal`: outputs judged by a panel of three models of different makers.

mod batch;
mod single;

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use gbrain_core::cross_modal::{AnswerCounts, JudgeInput, MAX_CYCLES, PanelSlot, Rubric, choose};
use gbrain_core::fault::FaultKind;
use gbrain_core::money::Usd;
use gbrain_eval::cross_modal::{Jury, JuryCost};
use gbrain_eval::{EvalError, MAX_DOCUMENT, read_document, write_atomically};
use gbrain_llm::{ModelClient, ModelRef, ModelTask};
use gbrain_store::Store;
use serde::Serialize;

use crate::commands::CommandContext;
use crate::error::{CliError, Exit};
use crate::home::create_private;
use crate::model_access::{
    BudgetedRun, ModelCallArgs, catalog, parse_usd, refuse_over_budget, settings,
};

/// The purpose under which votes are charged.
const PURPOSE: &str = "cross_modal";
/// The path that stands for stdin.
const STDIN: &str = "-";

const HELP: &str = "\
Examples:
  gbrain eval cross-modal --task 'Summarise the incident for a customer' --output reply.md
  gbrain eval cross-modal --task @brief.md --output skills/triage/SKILL.md --cycles 3
  gbrain eval cross-modal --batch run.jsonl --limit 10 --concurrent 3 --max-usd 5 --json
  gbrain eval cross-modal --batch run.jsonl --cassette votes.ndjson --replay-only

Three models score the output with a fixed rubric, each dimension from 1 to 10. It passes if in
every dimension the mean of the models is at least 7 and no single score is below 5, with votes of
at least two models. Cycles ask again and are pooled: more cycles make a verdict more certain, never
more lenient. Models that can no longer change the verdict are not called; the saved calls are reported.

--batch reads rows with question, hypothesis, answer and question_id, as `gbrain eval longmemeval`
writes them. Rows with an expected answer are compared with it (qa-v1), others are judged by their
task (task-v1).

Exit codes: 0 pass; 1 fail; 2 no verdict: too few votes, a row that could not be judged or was not
answered, the budget ran out, a cassette is stale, it was interrupted, or it was refused before
anything was sent. Of a batch the worst counts: error, fail, inconclusive, pass.";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct CrossModalArgs {
    /// The task: the text itself, or @FILE (a text that begins with @ is written @@).
    #[arg(long, value_name = "TEXT", requires = "output", conflicts_with = "batch")]
    task: Option<String>,
    /// The right answer, if there is one: a text or @FILE.
    #[arg(long, value_name = "TEXT", conflicts_with = "batch")]
    expected: Option<String>,
    /// With --task the file that is judged, `-` for stdin; with --batch where the summary goes.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Rows to judge, one JSON object a line; `-` for stdin.
    #[arg(long, value_name = "FILE")]
    batch: Option<PathBuf>,
    /// The name of the output in its receipt [default: the skill's, else the content's hash].
    #[arg(long, value_name = "NAME", conflicts_with = "batch")]
    slug: Option<String>,
    /// The rubric: task-v1 or qa-v1 [default: qa-v1 with expected answers, else task-v1].
    #[arg(long, value_name = "NAME")]
    rubric: Option<String>,
    /// Some of its dimensions, or others: 'depth, tone', or 'tone: is it polite, and kind?; depth'.
    #[arg(long, value_name = "LIST")]
    dimensions: Option<String>,
    /// How often each model is asked, 1 to 3 [default: 3 at a terminal, else 1; with --batch 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=i64::from(MAX_CYCLES)))]
    cycles: Option<u8>,
    /// The first model of the panel.
    #[arg(long, value_name = "M")]
    slot_a_model: Option<String>,
    /// The second model of the panel.
    #[arg(long, value_name = "M")]
    slot_b_model: Option<String>,
    /// The third, which is asked only if the first two leave it open.
    #[arg(long, value_name = "M")]
    slot_c_model: Option<String>,
    /// Where receipts are kept [default: runs/cross-modal in the home].
    #[arg(long, value_name = "DIR")]
    receipt_dir: Option<PathBuf>,
    /// The most tokens of a reply, thinking included.
    #[arg(long, value_name = "N", default_value_t = 4000, value_parser = clap::value_parser!(u32).range(16..=100_000))]
    max_tokens: u32,
    /// Judge only the first rows.
    #[arg(long, value_name = "N", default_value_t = 10, conflicts_with = "task", value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Rows that are judged at once.
    #[arg(long, value_name = "N", default_value_t = 3, conflicts_with = "task", value_parser = clap::value_parser!(u8).range(1..=64))]
    concurrent: u8,
    /// The most that it may cost, in dollars.
    #[arg(long, alias = "budget-usd", value_name = "USD", default_value = "5", value_parser = parse_usd)]
    max_usd: Usd,
    #[command(flatten)]
    model_calls: ModelCallArgs,
}

/// Has one output or a file of them judged.
pub(super) fn run(context: &CommandContext<'_>, args: &CrossModalArgs) -> Result<Exit, CliError> {
    match (&args.batch, &args.task, &args.output) {
        (Some(batch), _, _) => batch::run(context, args, batch),
        (None, Some(task), Some(output)) => single::run(context, args, task, output),
        _ => Err(CliError::usage("there is nothing to judge")
            .hint("give --task TEXT and --output FILE, or --batch FILE")),
    }
}

/// The door to a panel, and who sits on it.
struct Panelists {
    client: ModelClient,
    seats: Vec<(PanelSlot, ModelRef)>,
}

impl Panelists {
    fn new(context: &CommandContext<'_>, args: &CrossModalArgs) -> Result<Self, CliError> {
        let store: Arc<Store> = context.store()?.into();
        let settings = settings(store.as_ref(), &context.home.workspace)?;
        let catalog = catalog(&context.home)?;
        let slots = [
            (PanelSlot::A, ModelTask::SlotA, &args.slot_a_model),
            (PanelSlot::B, ModelTask::SlotB, &args.slot_b_model),
            (PanelSlot::C, ModelTask::SlotC, &args.slot_c_model),
        ];
        let mut seats = Vec::new();
        for (slot, task, flag) in slots {
            let chosen = catalog.choose(task, flag.as_deref(), &settings);
            let chosen = chosen
                .map_err(|error| CliError::usage(format!("the model of slot {slot}: {error}")))?;
            seats.extend(chosen.map(|(model, _)| (slot, model)));
        }
        let at_once = usize::from(args.concurrent) * seats.len();
        let concurrency = args.batch.is_some().then_some(at_once);
        let paid = BudgetedRun {
            max_usd: args.max_usd,
            purpose: PURPOSE,
            args: &args.model_calls,
            concurrency,
        };
        Ok(Self { client: paid.client(context, &store)?, seats })
    }

    fn jury<'a>(&'a self, args: &CrossModalArgs, rubric: &'a Rubric, cycles: u8) -> Jury<'a> {
        let (client, seats) = (&self.client, self.seats.clone());
        Jury { client, rubric, seats, cycles, max_tokens: args.max_tokens }
    }
}

/// Estimates the cost of judging these. It is an error if a model can't be called or the estimate is over the budget;
/// then nothing was sent.
fn allowed<'a>(
    context: &CommandContext<'_>,
    args: &CrossModalArgs,
    jury: &Jury<'_>,
    cases: impl IntoIterator<Item = JudgeInput<'a>>,
) -> Result<Usd, CliError> {
    jury.ready()?;
    let JuryCost { likely, most } = jury.estimate(cases)?;
    refuse_over_budget(jury.client, likely, "--max-usd", args.model_calls.yes)?;
    let seats = jury.seats.iter().map(|(slot, model)| format!("{slot} {model}"));
    let cycles =
        if jury.cycles == 1 { "1 cycle".to_owned() } else { format!("{} cycles", jury.cycles) };
    context.terminal.remark(format!(
        "{}; rubric {}, {cycles}, about {likely}, at most {most}",
        seats.collect::<Vec<_>>().join(", "),
        jury.rubric.name(),
    ));
    Ok(likely)
}

fn rubric(args: &CrossModalArgs, answers: AnswerCounts) -> Result<Rubric, CliError> {
    choose(args.rubric.as_deref(), args.dimensions.as_deref(), answers).map_err(|error| {
        CliError::usage(error.to_string())
            .hint("--rubric task-v1 judges by the task alone; --dimensions names what is scored")
    })
}

/// The directory of receipts. It is created before any model is called, so that no judgement is paid for and lost.
fn receipt_dir(context: &CommandContext<'_>, args: &CrossModalArgs) -> Result<PathBuf, CliError> {
    let dir = args.receipt_dir.clone().unwrap_or_else(|| context.home.receipts_dir());
    create_private(&dir).map_err(|error| CliError::io(dir.display(), &error))?;
    Ok(dir)
}

/// A text that was typed, or is in a file that was named with an `@`.
fn text_of(flag: &str, typed: &str) -> Result<String, CliError> {
    let text = match typed.strip_prefix('@') {
        None => typed.to_owned(),
        Some(rest) if rest.starts_with('@') => rest.to_owned(),
        Some(path) => read_text(Path::new(path)).map_err(|error| {
            error.hint(format!("a text of {flag} that begins with @ itself is written @@"))
        })?,
    };
    said(text, flag)
}

/// A text that says something.
fn said(text: String, what: &str) -> Result<String, CliError> {
    if text.trim().is_empty() {
        return Err(CliError::usage(format!("{what} is empty")).hint("there is nothing to judge"));
    }
    Ok(text)
}

/// A file as text; `-` is stdin.
fn read_text(path: &Path) -> Result<String, CliError> {
    let bytes = if path == Path::new(STDIN) {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().take(MAX_DOCUMENT + 1).read_to_end(&mut bytes);
        read.map_err(|error| CliError::io("stdin", &error))?;
        if bytes.len() as u64 > MAX_DOCUMENT {
            let (path, limit) = (PathBuf::from("stdin"), MAX_DOCUMENT);
            return Err(EvalError::LargeDocument { path, limit }.into());
        }
        bytes
    } else {
        read_document(path)?
    };
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CliError::new(FaultKind::Input, format!("{} is not UTF-8 at byte {at}", path.display()))
            .hint("a judge reads text; convert it first")
    })
}

/// Writes a receipt or a summary. One that can't be written is told all the same, and then is no verdict:
/// nothing is left that shows how it came about.
fn keep(context: &CommandContext<'_>, path: &Path, body: &impl Serialize) -> bool {
    let text = serde_json::to_string_pretty(body).expect("our values have text keys only");
    match write_atomically(path, format!("{text}\n").as_bytes()) {
        Ok(()) => {
            context.terminal.remark(format!("receipt stored as {}", path.display()));
            true
        }
        Err(error) => {
            let CliError { message, .. } = error.into();
            context.terminal.warn(format!("the receipt could not be stored: {message}"));
            false
        }
    }
}
