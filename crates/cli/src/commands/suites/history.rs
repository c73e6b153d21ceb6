//! `gbrain suites history` and `show`.

use clap::Args;
use gbrain_core::format::suite::{SuiteRunLine, SuiteRunsBody};
use gbrain_core::gate::Verdict;
use gbrain_core::report::text;
use gbrain_core::suite::SuiteRun;
use gbrain_eval::suite::{stored, wire};
use gbrain_store::SuiteRunFilter;

use crate::commands::CommandContext;
use crate::error::{CliError, Exit};
use crate::terminal::{coloured_verdict, local_time_of, table};

#[derive(Debug, Args)]
pub(super) struct SuiteHistoryArgs {
    /// Of this suite only.
    name: Option<String>,
    /// At most so many runs.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
    /// pass, fail or inconclusive only.
    #[arg(long, value_name = "VERDICT", value_parser = verdict)]
    verdict: Option<Verdict>,
    /// Runs with lower numbers than this.
    #[arg(long, value_name = "RUN")]
    before: Option<i64>,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gbrain suites show 12")]
pub(super) struct SuiteRunShowArgs {
    /// The number of the run, as `gbrain suites history` shows it.
    run: i64,
}

fn verdict(text: &str) -> Result<Verdict, String> {
    Verdict::from_name(text).ok_or_else(|| "pass, fail or inconclusive".to_owned())
}

pub(super) fn history(
    context: &CommandContext<'_>,
    args: &SuiteHistoryArgs,
) -> Result<Exit, CliError> {
    let store = context.store()?;
    let filter = SuiteRunFilter {
        suite: args.name.clone(),
        verdict: args.verdict,
        before: args.before,
        ..SuiteRunFilter::default()
    };
    let runs = store.suite_runs(&context.home.workspace, &filter, usize::from(args.limit))?;
    let runs: Vec<SuiteRunLine> = runs.iter().map(wire::run_line).collect();
    if context.terminal.is_json() {
        let is_full = runs.len() == usize::from(args.limit);
        let next = runs.last().filter(|_| is_full).map(|run| run.id);
        context.terminal.json(&SuiteRunsBody { runs, next });
    } else if runs.is_empty() {
        context.terminal.remark("there are no runs");
    } else {
        let head =
            ["RUN", "SUITE", "TARGET", "VERDICT", "WHEN", "TRIGGER", "ASKED", "FAILING", "WHY"];
        context.terminal.out_paged(table(&head, runs.iter().map(row)));
    }
    Ok(Exit::Pass)
}

fn row(run: &SuiteRunLine) -> Vec<String> {
    let reasons = run.inconclusive_reasons.iter().map(|reason| reason.name().to_owned());
    let mut why: Vec<String> = run.breaches.iter().cloned().chain(reasons).collect();
    why.extend(run.sample.iter().flat_map(|sample| sample.remarks()));
    if run.recalibrate {
        why.push("recalibrate".to_owned());
    }
    let whose = if run.ad_hoc { " (not its own)" } else { "" };
    vec![
        run.id.to_string(),
        run.suite.clone(),
        format!("{}{whose}", run.target),
        coloured_verdict(run.verdict.name()),
        local_time_of(&run.finished_at),
        run.trigger.clone(),
        format!("{}/{}", run.asked, run.planned),
        run.failing.to_string(),
        why.join("; "),
    ]
}

pub(super) fn show(
    context: &CommandContext<'_>,
    args: &SuiteRunShowArgs,
) -> Result<Exit, CliError> {
    let store = context.store()?;
    let workspace = &context.home.workspace;
    let found = store.suite_run(workspace, args.run)?.ok_or_else(|| {
        CliError::usage(format!("there is no run {} in workspace {workspace}", args.run))
            .hint("`gbrain suites history` lists them")
    })?;
    let whole = wire::recorded_run(&found).ok_or_else(|| {
        CliError::config(format!("the stored report of run {} can't be read", args.run))
    })?;
    if context.terminal.is_json() {
        context.terminal.json(&whole);
        return Ok(Exit::Pass);
    }
    match &whole.run {
        None => {
            let finished_at = Some(format!("{:.3}", found.info.finished_at));
            let figures = SuiteRun { finished_at, ..whole.summary.clone() };
            context.terminal.report(text::recorded_suite(whole.id, &figures, &|_| None));
            context.terminal.remark("only figures are left: its cases were purged or pruned");
        }
        Some(run) => {
            let queries = stored(&store, workspace)?;
            let of = |id: &str| queries.iter().find(|one| one.id == id).map(|one| one.text.clone());
            context.terminal.report(text::recorded_suite(whole.id, run, &of));
        }
    }
    Ok(Exit::Pass)
}
