//! `gbrain reembed`: moves a brain's vectors to the model this gbrain wants.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use clap::Args;
use gbrain_brain::wire::VectorsBody;
use gbrain_brain::{Brain, VectorReport};
use gbrain_core::gate::{CorrectnessThresholds, GateCheck, Verdict, correctness};
use gbrain_core::qrels::Qrels;
use gbrain_core::replay::LiveContext;
use gbrain_eval::{
    JudgedPipeline, JudgedRun, LocalOptions, LocalRetriever, SelfRetrieval, judge, self_retrieval,
};
use gbrain_store::Location;
use serde_json::json;

use crate::commands::CommandContext;
use crate::commands::eval::read_qrels;
use crate::error::{CliError, Exit};
use crate::terminal::advance;

/// Pages of a judged query that count.
const DEPTH: usize = 10;

#[derive(Debug, Args)]
#[command(
    after_help = "The old vectors are searched until the new ones are all there; one commit switches. \
                  If it is interrupted,\nrun it again to continue.\n\n\
                  Before the switch the new vectors are checked: texts from the whole brain must find their \
                  own pages,\nand judged queries (--qrels) must find their answers. If a check fails, the \
                  switch does not happen\n(exit 1); exit 2 if a check is inconclusive.\n\n\
                  Examples:\n  gbrain reembed --status\n  gbrain reembed --qrels qrels.json\n  \
                  gbrain reembed --background"
)]
pub(crate) struct ReembedArgs {
    /// Change nothing; say whose vectors there are, and how far the next ones are.
    #[arg(long, conflicts_with = "background")]
    status: bool,
    /// Go on in a process of its own, and return at once.
    #[arg(long)]
    background: bool,
    /// Known-right answers that the new vectors have to give, with the thresholds of `eval gate`.
    #[arg(long, value_name = "FILE")]
    qrels: Option<PathBuf>,
    /// Switch although the new vectors do not pass.
    #[arg(long)]
    force: bool,
}

/// Re-embeds, or says how things stand.
pub(crate) fn run(context: &CommandContext<'_>, args: &ReembedArgs) -> Result<Exit, CliError> {
    if args.background {
        return start_in_background(context, args);
    }
    let brain = context.brain()?;
    if args.status {
        print(context, &brain.vector_report()?);
        return Ok(Exit::Pass);
    }
    let qrels = args.qrels.as_deref().map(read_qrels).transpose()?;
    let bar = context.terminal.progress("embedding");
    brain.make_wanted_vectors(&|done, total| {
        bar.set_length(total);
        advance(&bar, done);
    })?;
    bar.finish_and_clear();
    if !brain.vector_report()?.is_settled() && !args.force {
        let verdict = trial(context, &brain, qrels.as_ref())?;
        if verdict != Verdict::Pass {
            context.terminal.warn(format!(
                "the new vectors do not pass ({verdict}): the old ones stay; the new ones are kept, and \
                 --force switches to them"
            ));
            print(context, &brain.vector_report()?);
            return Ok(if verdict == Verdict::Fail { Exit::Fail } else { Exit::NoVerdict });
        }
    }
    print(context, &brain.adopt_wanted_vectors()?);
    Ok(Exit::Pass)
}

/// Queries the corpus with the new vectors, before any other answer uses them.
fn trial(
    context: &CommandContext<'_>,
    brain: &Brain,
    qrels: Option<&Qrels>,
) -> Result<Verdict, CliError> {
    let Some(trial) = brain.trial()? else { return Ok(Verdict::Inconclusive) };
    let found = self_retrieval(&trial, context.now)?;
    let SelfRetrieval { asked, found: own, failed } = found;
    context.terminal.remark(format!(
        "{own} of {asked} texts are found by their own words, {failed} got no answer: {}",
        found.verdict()
    ));
    let Some(qrels) = qrels else { return Ok(found.verdict()) };
    let live = LiveContext { settings: trial.settings()?, now: context.now };
    let target = LocalRetriever::new(&trial, LocalOptions::new(live), &|_, _| ())?;
    let queries = qrels.queries.clone();
    let JudgedRun { queries, pages } =
        judge(&target, queries, DEPTH, JudgedPipeline::Fixed, 1, &|_| ())?;
    let answers = correctness(queries, DEPTH, &CorrectnessThresholds::default(), None, &pages);
    for warning in &answers.warnings {
        context.terminal.warn(warning);
    }
    for check in answers.checks.iter().filter_map(GateCheck::too_few_rows) {
        context.terminal.warn(check);
    }
    for breach in &answers.breaches {
        let observed = breach.observed.map_or("nothing".to_owned(), |value| format!("{value:.4}"));
        context.terminal.remark(format!("{}: {observed}", breach.metric));
    }
    context.terminal.remark(format!("known-right answers: {}", answers.verdict));
    Ok(found.verdict().and(answers.verdict))
}

fn start_in_background(context: &CommandContext<'_>, args: &ReembedArgs) -> Result<Exit, CliError> {
    let failed = |source: std::io::Error| {
        CliError::usage(format!("a process could not be started: {source}"))
            .hint("run `gbrain reembed` without --background")
    };
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command.arg("--home").arg(&context.home.dir).arg("--workspace");
    command.arg(context.home.workspace.as_str()).arg("reembed");
    if let Some(qrels) = &args.qrels {
        command.arg("--qrels").arg(qrels);
    }
    if args.force {
        command.arg("--force");
    }
    // Not as an argument, which every user of the machine could read.
    let url = match &context.home.location {
        Location::Postgres(url) => url.clone(),
        Location::Sqlite(path) => path.to_string_lossy().into_owned(),
    };
    command.env("DATABASE_URL", url);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let id = command.spawn().map_err(failed)?.id();
    if context.terminal.is_json() {
        context.terminal.json(&json!({ "process": id }));
    } else {
        context.terminal.line(format!(
            "embedding goes on as process {id}; `gbrain reembed --status` tells how far it is"
        ));
    }
    Ok(Exit::Pass)
}

fn print(context: &CommandContext<'_>, report: &VectorReport) {
    let VectorReport { held, is_searchable, wanted, made, total } = report;
    if context.terminal.is_json() {
        context.terminal.json(&VectorsBody::new(report));
        return;
    }
    let name = |model: &Option<String>| model.clone().unwrap_or_else(|| "no model".to_owned());
    context.terminal.line(format!("vectors held: {}", name(held)));
    if report.is_settled() {
        context.terminal.line("they are of the model that is wanted");
        return;
    }
    if !is_searchable {
        context.terminal.line("this gbrain does not have that model: queries go by words alone");
    }
    context.terminal.line(format!(
        "wanted: {}, {made} of {total} chunks made; `gbrain reembed` makes the rest and switches",
        name(wanted)
    ));
}
