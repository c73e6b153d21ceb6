//! `eva eval`: run a prompt against its cases.

use std::time::SystemTime;

use clap::Args;
use gbrain_core::clock::moment;
use gbrain_prompts::domain::bodies::{CaseBody, EvalBody, PROMPTS_VERSION};
use gbrain_prompts::{Command, EvalOptions, EvalReport, LibraryPrompt, evaluate};

use super::{EvaContext, variable};
use crate::error::{CliError, Exit};
use crate::terminal::advance;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  eva eval greet\n  eva eval greet --case polite\n\n\
    Every run appends one row to .eval.jsonl. Only a run of all cases counts for the promotion to ready, and \
    only as long as the text and the cases do not change. Exit codes: 0 every case passed, 1 a case failed or \
    there is none.")]
pub(super) struct EvalArgs {
    /// The prompt, or one of its aliases.
    id: String,
    /// Run only this case; such a run does not count for a promotion.
    #[arg(long, value_name = "NAME")]
    case: Option<String>,
    /// The model that answers [default: the model in eval.yml or meta.yml].
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// The number of cases to run concurrently.
    #[arg(long, short = 'j', value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: u16,
}

pub(super) fn run(context: &EvaContext<'_>, args: &EvalArgs) -> Result<Exit, CliError> {
    let library = context.library()?;
    let prompt = library.prompt(&args.id)?;
    let send = Command::resolve(variable("EVA_SEND_CMD").as_deref(), &library.settings)?;
    let judge = send.judge(variable("EVA_JUDGE_CMD").as_deref(), &library.settings)?;
    let choice = EvalOptions {
        case: args.case.clone(),
        send,
        judge,
        model: args.model.clone(),
        jobs: args.jobs.into(),
    };
    let bar = context.terminal.progress("cases");
    let progress = |done: usize, total: usize| {
        bar.set_length(total as u64);
        advance(&bar, done as u64);
    };
    let report = evaluate(&library, &prompt, &choice, &|| moment(SystemTime::now()), &progress)?;
    bar.finish_and_clear();
    print_report(context, &prompt, &report);
    Ok(if report.row.all_passed() { Exit::Pass } else { Exit::Fail })
}

fn print_report(context: &EvaContext<'_>, prompt: &LibraryPrompt, report: &EvalReport) {
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
    let partial = if row.partial { " (one case: does not count for a promotion)" } else { "" };
    context.terminal.line(format!("{} of {} passed{partial}", row.passed, row.total));
    if row.total == 0 {
        context.terminal.warn("eval.yml has no cases: add one to get a pass");
    }
}
