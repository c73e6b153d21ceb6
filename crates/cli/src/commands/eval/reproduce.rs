//! `gbrain eval reproduce`: runs again what a result file says, and compares row by row.

use std::path::PathBuf;

use clap::Args;
use gbrain_core::benchmark::title_of;
use gbrain_core::fault::FaultKind;
use gbrain_core::format::benchmark::{
    BENCHMARK_VERSION, BenchmarkResult, FieldDifference, Integrity, integrity,
};
use gbrain_eval::benchmark::{
    BenchmarkRunSpec, ProvenanceChange, Reproduction, RowDifference, RunOptions, reproduction,
};
use gbrain_eval::{check_outputs, read_document};
use serde_json::json;

use super::benchmark::write_result;
use crate::commands::CommandContext;
use crate::error::{CliError, Exit};
use crate::models::configured_embedder;

/// Differences that are shown one by one.
const SHOWN: usize = 20;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gbrain eval reproduce docs/benchmarks/longmemeval-dev-oracle.json.gz --dataset dev_oracle.json.gz
  gbrain eval reproduce run.json --result again.json

Dataset, flags and settings are those of the file. Everything is computed again: rows by question (what
was retrieved, in which order, every figure), and from them the summary, counts, baselines, warnings
and label, each of which must be what the file states. Times are not compared. Differences in source
revision, software and settings are reported but not compared.

A result_hash that does not fit means that the file was edited. It has no key, so a file with a fitting
hash may still be forged: this command is what shows that its figures are right. Answers of a model
are not asked for again, so a result with answers gets no verdict.

Exit codes: 0 everything is the same; 1 a row or a field differs; 2 it can't be run or shown: the file was
edited or is of another version, the dataset is another one, or a model made part of it.")]
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
pub(super) fn run(context: &CommandContext<'_>, args: &ReproduceArgs) -> Result<Exit, CliError> {
    check_outputs([&args.result])?;
    let before = read(args)?;
    let path = args.result_file.display();
    let mut spec = BenchmarkRunSpec::of(&before.asked)
        .map_err(|error| CliError::new(FaultKind::Input, format!("{path}: {error}")))?;
    spec.title = title_of(&before.label, &before.headline).ok().flatten().map(str::to_owned);
    if !args.dataset.is_empty() {
        spec.files.clone_from(&args.dataset);
    }
    let sha256 = spec.dataset_sha256()?;
    if sha256 != before.label.dataset_sha256 {
        return Err(CliError::new(FaultKind::Conflict, "the dataset is not the one of the result")
            .hint(format!(
                "the result was made with sha256 {}, and this is {sha256}",
                before.label.dataset_sha256
            )));
    }
    let bar = context.terminal.progress("asking");
    bar.set_length(before.per_question.len() as u64);
    let ran = spec.run(RunOptions {
        concurrency: std::thread::available_parallelism().map_or(1, usize::from),
        models: configured_embedder(&context.home)?.local_only(),
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
    if let Some(path) = &args.result {
        write_result(path, &after)?;
    }
    Ok(report(context, &before, &reproduction(&before, &after)))
}

/// Reads a result that is as it was written.
fn read(args: &ReproduceArgs) -> Result<BenchmarkResult, CliError> {
    let path = args.result_file.display();
    let bytes = read_document(&args.result_file)?;
    let before: BenchmarkResult = serde_json::from_slice(&bytes).map_err(|error| {
        CliError::new(FaultKind::Input, format!("{path}: {error}"))
            .hint("name a file that `gbrain eval longmemeval --result FILE` or its like wrote")
    })?;
    let refused = |reason: String| {
        let error = CliError::new(FaultKind::Input, format!("{path}: {reason}"));
        Err(error.hint("run the benchmark again with --result FILE"))
    };
    if before.schema_version != BENCHMARK_VERSION {
        let found = before.schema_version;
        let reads = BENCHMARK_VERSION;
        return refused(format!("schema_version is {found}; this program reads {reads}"));
    }
    match integrity(&before) {
        Integrity::Intact => {}
        Integrity::Edited => {
            return refused("its result_hash is not that of its content: it was edited".to_owned());
        }
        Integrity::NoHash => return refused("it has no result_hash".to_owned()),
    }
    if before.label.retrieval.contains("expanded by") {
        let retrieval = &before.label.retrieval;
        return refused(format!(
            "its retrieval is `{retrieval}`: a model can't be asked the same again"
        ));
    }
    Ok(before)
}

fn report(context: &CommandContext<'_>, before: &BenchmarkResult, found: &Reproduction) -> Exit {
    let rows = before.per_question.len();
    if context.terminal.is_json() {
        let changed: Vec<_> = found
            .changed
            .iter()
            .map(|one| json!({ "what": one.what, "before": one.before, "after": one.after }))
            .collect();
        let differences: Vec<_> = found
            .rows
            .iter()
            .map(|one| json!({ "question_id": one.question_id, "what": one.what }))
            .collect();
        let fields: Vec<_> = found
            .fields
            .iter()
            .map(
                |one| json!({ "field": one.field, "stated": one.stated, "computed": one.computed }),
            )
            .collect();
        context.terminal.json(&json!({
            "schema_version": 1, "headline": before.headline, "rows": rows,
            "reproduced": found.is_same() && found.not_checked.is_none(),
            "differences": differences, "fields": fields, "changed": changed,
            "not_checked": found.not_checked,
        }));
    } else {
        print(context, rows, found);
    }
    match found {
        found if !found.is_same() => Exit::Fail,
        Reproduction { not_checked: Some(_), .. } => Exit::NoVerdict,
        _ => Exit::Pass,
    }
}

fn print(context: &CommandContext<'_>, rows: usize, found: &Reproduction) {
    let terminal = context.terminal;
    for ProvenanceChange { what, before, after } in &found.changed {
        terminal.line(format!("{what} differs: {before}, now {after}"));
    }
    for RowDifference { question_id, what } in found.rows.iter().take(SHOWN) {
        terminal.line(format!("{question_id}: {what}"));
    }
    for FieldDifference { field, stated, computed } in found.fields.iter().take(SHOWN) {
        terminal.line(format!("{field}: the file states {stated}, and it is {computed}"));
    }
    let same = rows.saturating_sub(found.rows.len());
    terminal.line(format!("{same} of {rows} rows are the same"));
    if let Some(not_checked) = &found.not_checked {
        terminal.line(format!("{not_checked}: not checked"));
    }
    terminal.line(match found.is_same() {
        true => "reproduced: every figure of the file was computed again".to_owned(),
        false => format!(
            "not reproduced: {} rows and {} fields differ",
            found.rows.len(),
            found.fields.len()
        ),
    });
}
