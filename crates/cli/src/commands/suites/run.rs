//! `gbrain suites run`: runs a suite and records the run.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use clap::Args;
use gbrain_brain::{Assistants, BuiltInModels, IndexKind};
use gbrain_core::clock::moment;
use gbrain_core::format::suite::SuiteRunResultBody;
use gbrain_core::gate::Verdict;
use gbrain_core::report::{github, junit, markdown, text};
use gbrain_core::suite::report::InconclusiveReason;
use gbrain_core::suite::{SuiteKind, SuiteRun};
use gbrain_eval::suite::{SuiteJob, SuiteRunner, asked_key, record, stored};
use gbrain_eval::{check_outputs, write_atomically};
use gbrain_store::Store;

use super::SuiteSource;
use super::file::{ResolvedSuite, meant, tell_drift};
use crate::capture::scrubber;
use crate::channels::{evaluate_run, report_alerts};
use crate::commands::CommandContext;
use crate::commands::eval::append;
use crate::commands::html::HtmlArgs;
use crate::error::{CliError, Exit};
use crate::model_access::{catalog, interrupted};
use crate::targets::target_registry;
use crate::terminal::advance;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  gbrain suites run smoke\n  \
    gbrain suites run smoke --target staging --ci --junit suite.xml --github\n\n\
    The run is recorded. Reports that travel (Markdown, JUnit, HTML, annotations) hold ids of queries and no \
    text of theirs. Its alerts are raised, and sent within a few seconds if their channels are \
    configured here; other messages stay queued. A run of another target (--target) changes no alert, \
    is not part of a trend, and does not count as a run for `silent_after_days`.\n\n\
    A run of fewer queries than its suite requires is inconclusive; the suites file sets `sample`.\n\n\
    Exit codes: 0 pass, 1 an alert threshold was breached, 2 inconclusive.")]
pub(super) struct SuiteRunArgs {
    /// The name of the suite.
    name: String,
    /// Ask this target instead of the suite's own; then it changes no alert.
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
    /// Draw the queries by this number instead of the suite's own.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Say that a build asked for it.
    #[arg(long)]
    ci: bool,
    /// Write the report as Markdown.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write the report as JUnit XML.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Print annotations for GitHub, and add to the step summary.
    #[arg(long)]
    github: bool,
    #[command(flatten)]
    html: HtmlArgs,
}

/// Runs a suite now.
pub(super) fn run(
    context: &CommandContext<'_>,
    args: &SuiteRunArgs,
    source: &SuiteSource,
) -> Result<Exit, CliError> {
    check_outputs([&args.markdown, &args.junit, &args.html.html])?;
    let store: Arc<Store> = context.store()?.into();
    let file = source.read()?;
    let meant = meant(context, store.as_ref(), file.as_ref(), &args.name)?;
    tell_drift(context, store.as_ref(), file.as_ref(), &meant)?;
    let mut suite = meant.entry.suite().map_err(|error| CliError::config(error.to_string()))?;
    suite.seed = args.seed.unwrap_or(suite.seed);
    let trigger = if args.ci { "ci" } else { "manual" };
    let order = SuiteJob {
        suite: suite.name.clone(),
        key: asked_key(trigger, context.now, std::process::id()),
        trigger: trigger.to_owned(),
        generation: None,
    };
    let run = run_suite(context, args, &store, source, &meant, &suite, &order)?;
    let now = moment(SystemTime::now());
    let id = record(store.as_ref(), &meant.workspace, &run, now)?;
    let looked = evaluate_run(context, store.as_ref(), source, &meant.workspace);
    let ran = SuiteRunResultBody { id, alerts: looked.changes.clone(), run };
    report(context, args, &store, &meant, &ran)?;
    if let Some(number) = id {
        context.terminal.remark(format!("recorded as run {number}: `gbrain suites show {number}`"));
    }
    let is_short = |reason: &InconclusiveReason| {
        matches!(reason, InconclusiveReason::NoQueries | InconclusiveReason::SampleTooSmall)
    };
    if ran.run.inconclusive_reasons.iter().any(is_short)
        && ran.run.kind != SuiteKind::RerankCalibration
    {
        context.terminal.remark(
            "queries to ask: `gbrain queries add` or `gbrain queries import`; a suite that is to ask fewer \
             says so in its `sample`",
        );
    }
    report_alerts(context, store.as_ref(), source, &looked);
    Ok(match ran.run.verdict {
        Verdict::Pass => Exit::Pass,
        Verdict::Fail => Exit::Fail,
        Verdict::Inconclusive => Exit::NoVerdict,
    })
}

fn run_suite(
    context: &CommandContext<'_>,
    args: &SuiteRunArgs,
    store: &Arc<Store>,
    source: &SuiteSource,
    meant: &ResolvedSuite,
    suite: &gbrain_core::suite::Suite,
    order: &SuiteJob,
) -> Result<SuiteRun, CliError> {
    let brain = context.brain_of(store.clone(), IndexKind::Disk, &meant.workspace)?;
    let config = brain.config()?;
    let catalog = catalog(&context.home)?;
    let stop = interrupted();
    let assistants =
        Assistants::choose(&catalog, store, &meant.workspace, &config, BuiltInModels::Refused)?;
    let scrubber = scrubber(&context.home).map_err(CliError::config)?;
    let bar = context.terminal.progress("asking");
    let progress = |done: usize, total: usize| {
        bar.set_length(total as u64);
        advance(&bar, done as u64);
    };
    let targets = target_registry(&context.home, source.clone());
    let clock = || moment(SystemTime::now());
    let runner = SuiteRunner {
        instead: args.target.as_deref(),
        assistants: assistants.as_ref(),
        ..SuiteRunner::new(&brain, &catalog, &targets, &scrubber, &stop, &progress, clock)?
    };
    let body = runner.run(suite, order)?;
    bar.finish_and_clear();
    Ok(body)
}

fn report(
    context: &CommandContext<'_>,
    args: &SuiteRunArgs,
    store: &Arc<Store>,
    meant: &ResolvedSuite,
    ran: &SuiteRunResultBody,
) -> Result<(), CliError> {
    let body = &ran.run;
    if let Some(path) = &args.markdown {
        write_atomically(path, markdown::suite(body).as_bytes())?;
    }
    if let Some(path) = &args.junit {
        write_atomically(path, junit::suite(body).as_bytes())?;
    }
    args.html.write(ran)?;
    if context.terminal.is_json() {
        context.terminal.json(ran);
    } else {
        let queries = stored(store.as_ref(), &meant.workspace)?;
        let of = |id: &str| queries.iter().find(|one| one.id == id).map(|one| one.text.clone());
        context.terminal.report(text::suite(body, &of));
    }
    if !args.github {
        return Ok(());
    }
    // Where stdout is one JSON document, annotations go to the other stream.
    match context.terminal.is_json() {
        true => context.terminal.remark_text(github::suite(body).trim_end()),
        false => context.terminal.out(github::suite(body)),
    }
    match &context.home.step_summary {
        Some(path) => append(path, &markdown::suite(body)),
        None => Ok(()),
    }
}
