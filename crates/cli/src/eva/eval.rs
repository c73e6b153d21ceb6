//! `eva eval`: a prompt against its cases.

use std::time::SystemTime;

use clap::Args;
use gbrain_core::clock::moment;
use gbrain_prompts::domain::bodies::{CaseBody, EvalBody, PROMPTS_VERSION};
use gbrain_prompts::{Choice, Command, EvalReport, Prompt, evaluate};

use super::{Context, variable};
use crate::error::{CliError, Exit};

/// Arguments of `eval`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  eva eval greet\n  eva eval greet --case polite\n\n\
    Every run appends one row to .eval.jsonl. Only a run of all cases can open the gate to ready, and \
    only for the text and the cases that it was of. Ends with 1 if a case failed, or if there was none.")]
pub(super) struct EvalArgs {
    /// The prompt, or one of its aliases.
    id: String,
    /// Only this case; opens no gate.
    #[arg(long, value_name = "NAME")]
    case: Option<String>,
    /// The model that answers, instead of the files' own.
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// How many cases at once.
    #[arg(long, short = 'j', value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: u16,
}

/// Runs the cases.
pub(super) fn run(context: &Context<'_>, args: &EvalArgs) -> Result<Exit, CliError> {
    let library = context.library()?;
    let prompt = library.prompt(&args.id)?;
    let send = Command::resolve(variable("EVA_SEND_CMD").as_deref(), &library.settings)?;
    let judge = send.judge(variable("EVA_JUDGE_CMD").as_deref(), &library.settings)?;
    let choice = Choice {
        case: args.case.clone(),
        send,
        judge,
        model: args.model.clone(),
        jobs: args.jobs.into(),
    };
    let bar = context.terminal.progress("cases");
    let progress = |done: usize, total: usize| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    };
    let report = evaluate(&library, &prompt, &choice, &|| moment(SystemTime::now()), &progress)?;
    bar.finish_and_clear();
    tell(context, &prompt, &report);
    Ok(if report.row.all_passed() { Exit::Pass } else { Exit::Fail })
}

fn tell(context: &Context<'_>, prompt: &Prompt, report: &EvalReport) {
    let row = &report.row;
    if context.terminal.is_json() {
        let cases = report.cases.iter().map(|case| CaseBody {
            name: &case.name,
            passed: case.failures.is_empty(),
            failures: &case.failures,
        });
        return context.terminal.json(&EvalBody {
            schema_version: PROMPTS_VERSION,
            id: &prompt.id,
            all_passed: row.all_passed(),
            total: row.total,
            passed: row.passed,
            partial: row.partial,
            cases: cases.collect(),
        });
    }
    for case in &report.cases {
        let verdict = if case.failures.is_empty() { "pass" } else { "FAIL" };
        context.terminal.line(format!("{verdict}  {}", case.name));
        case.failures.iter().for_each(|failure| context.terminal.line(format!("      {failure}")));
    }
    let partial = if row.partial { " (one case: opens no gate)" } else { "" };
    context.terminal.line(format!("{} of {} passed{partial}", row.passed, row.total));
    if row.total == 0 {
        context.terminal.warn("eval.yml has no cases: that is no pass");
    }
}
