//! `gbrain eval reproduce`: runs again what a result file says, and compares row by row.

use std::path::PathBuf;

use clap::Args;
use gbrain_core::benchmark::Outcome;
use gbrain_core::format::benchmark::Result as BenchmarkResult;
use gbrain_eval::benchmark::{Changed, Difference, How, Spec, changed, differences};
use gbrain_eval::read_document;
use serde_json::json;

use super::benchmark::write_result;
use crate::commands::Context;
use crate::error::{CliError, Exit};
use crate::models::models;

/// Arguments of `eval reproduce`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gbrain eval reproduce docs/benchmarks/longmemeval-dev-oracle.json.gz --dataset dev_oracle.json.gz
  gbrain eval reproduce run.json --result again.json

Dataset, flags and settings are those of the file; software and model are those of this program, and
where they differ that is told. Rows are compared by question: what was retrieved, in which order, and
every figure. Times are not compared.

Exit codes: 0 every row is the same; 1 a row differs; 2 it can't be run: the dataset is another one.")]
pub(crate) struct ReproduceArgs {
    /// A result file (`--result`), compressed or not.
    #[arg(value_name = "RESULT")]
    result_file: PathBuf,
    /// Where the dataset is, if it has moved: files in the order of the run.
    #[arg(long, value_name = "PATH", num_args = 1..)]
    dataset: Vec<PathBuf>,
    /// Write the new result to this file.
    #[arg(long, value_name = "FILE")]
    result: Option<PathBuf>,
}

/// Runs again and compares.
pub(super) fn run(context: &Context<'_>, args: &ReproduceArgs) -> Result<Exit, CliError> {
    let path = args.result_file.display();
    let bytes = read_document(&args.result_file)?;
    let before: BenchmarkResult = serde_json::from_slice(&bytes).map_err(|error| {
        CliError::new("input", format!("{path}: {error}"))
            .hint("name a file that `gbrain eval longmemeval --result FILE` or its like wrote")
    })?;
    let mut spec = Spec::of(&before.asked)
        .map_err(|error| CliError::new("input", format!("{path}: {error}")))?;
    if !args.dataset.is_empty() {
        spec.files.clone_from(&args.dataset);
    }
    let bar = context.terminal.progress("asking");
    bar.set_length(before.per_question.len() as u64);
    let ran = spec.run(How {
        concurrency: std::thread::available_parallelism().map_or(1, usize::from),
        models: models(&context.home)?.of_nobody(),
        expander: None,
        answerer: None,
        output: None,
        resume_from: None,
        by_type: false,
        retrieval_log: None,
        on_resume: &|_| (),
        on_row: &mut |_| bar.inc(1),
    });
    bar.finish_and_clear();
    let after = ran?.result;
    if after.label.dataset_sha256 != before.label.dataset_sha256 {
        return Err(CliError::new("conflict", "the dataset is not the one of the result").hint(
            format!(
                "the result was made with sha256 {}, and this is {}",
                before.label.dataset_sha256, after.label.dataset_sha256
            ),
        ));
    }
    if let Some(path) = &args.result {
        write_result(path, &after)?;
    }
    Ok(told(context, &before, &after))
}

fn told(context: &Context<'_>, before: &BenchmarkResult, after: &BenchmarkResult) -> Exit {
    let changed = changed(&before.label, &after.label);
    let (before_rows, after_rows): (Vec<Outcome>, Vec<Outcome>) =
        (before.outcomes(), after.outcomes());
    let differences = differences(&before_rows, &after_rows);
    let terminal = context.terminal;
    if terminal.is_json() {
        let changed: Vec<_> = changed
            .iter()
            .map(|one| json!({ "what": one.what, "before": one.before, "after": one.after }))
            .collect();
        let rows: Vec<_> = differences
            .iter()
            .map(|one| json!({ "question_id": one.question_id, "what": one.what }))
            .collect();
        terminal.json(&json!({
            "schema_version": 1, "rows": before_rows.len(), "differences": rows, "changed": changed,
        }));
    } else {
        for Changed { what, before, after } in &changed {
            terminal.line(format!("{what} differs: {before}, now {after}"));
        }
        for Difference { question_id, what } in differences.iter().take(20) {
            terminal.line(format!("{question_id}: {what}"));
        }
        terminal.line(format!(
            "{} of {} rows are the same",
            before_rows.len().saturating_sub(differences.len()),
            before_rows.len()
        ));
    }
    if differences.is_empty() { Exit::Pass } else { Exit::Fail }
}
