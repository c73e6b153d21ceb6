//! `gbrain import`: takes in files and directories.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use gbrain_brain::Brain;
use gbrain_brain::import::{
    ImportFailure, ImportOptions, ImportProgress, ImportSummary, StoredTexts, import, watch,
};
use gbrain_core::clock::moment;
use gbrain_core::format::serving::QueuedBody;
use gbrain_core::id::SourceId;
use gbrain_core::job::JobState;
use gbrain_server::{ATTEMPTS, ImportFilesSpec};
use gbrain_store::NewJob;

use crate::commands::CommandContext;
use crate::error::{CliError, Exit};
use crate::terminal::{Terminal, advance};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  gbrain import ~/notes\n  \
    gbrain import wiki/ --source wiki\n  gbrain import ~/notes --watch\n\n\
    Markdown (.md), chats (.json, .jsonl, or markdown of type chat) and plain text (.txt) are taken; \
    everything else is skipped and counted. You can interrupt an import at any time; run it again to continue.")]
pub(crate) struct ImportArgs {
    /// The files and directories to import.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// The source that the pages belong to; made if it is not there.
    #[arg(long, value_name = "ID", default_value = "default")]
    source: String,
    /// Go on importing whenever a file changes, until interrupted.
    #[arg(long)]
    watch: bool,
    /// Leave it to `gbrain serve` or `gbrain worker` on this machine, and print the job's number.
    #[arg(long, conflicts_with = "watch")]
    background: bool,
    /// Delete the pages of a directory that holds no page any more.
    #[arg(long)]
    allow_empty: bool,
    /// How many threads read files [default: one per core].
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

/// Imports, and with `--watch` again after every change.
pub(crate) fn run(context: &CommandContext<'_>, args: &ImportArgs) -> Result<Exit, CliError> {
    if args.background {
        return start_job(context, args);
    }
    let brain = context.brain_to_fill()?;
    let source = SourceId::new(&args.source)?;
    brain.ensure_source(&source, context.now)?;
    let options = ImportOptions {
        source,
        threads: args.threads,
        allow_empty: args.allow_empty,
        halt: None,
        stored: StoredTexts::Check,
    };
    let summary = import_once(context.terminal, &brain, args, &options)?;
    report(context.terminal, &summary);
    if args.watch {
        return keep_watching(context.terminal, &brain, args, &options);
    }
    Ok(if summary.failed.is_empty() { Exit::Pass } else { Exit::NoVerdict })
}

/// Queues the import. Paths are made absolute: a worker stands elsewhere.
fn start_job(context: &CommandContext<'_>, args: &ImportArgs) -> Result<Exit, CliError> {
    let absolute =
        |path: &PathBuf| path.canonicalize().map_err(|error| CliError::io(path.display(), &error));
    let spec = ImportFilesSpec {
        source: SourceId::new(&args.source)?.to_string(),
        paths: args.paths.iter().map(absolute).collect::<Result<_, _>>()?,
        allow_empty: args.allow_empty,
    };
    let spec =
        serde_json::to_string(&spec).map_err(|error| CliError::internal(error.to_string()))?;
    let job = NewJob {
        kind: ImportFilesSpec::KIND.to_owned(),
        spec,
        created_by: "command line".to_owned(),
        max_attempts: ATTEMPTS,
        key: None,
        group: None,
    };
    let store = context.store()?;
    let id = store.add_job(&context.home.workspace, &job, store.clock()?)?;
    if context.terminal.is_json() {
        let (kind, state) = (job.kind, JobState::Queued.name());
        context.terminal.json(&QueuedBody { id, kind, state });
    } else {
        context.terminal.line(format!("job {id} is queued"));
        context.terminal.remark(format!("see how far it is: gbrain jobs show {id}"));
    }
    Ok(Exit::Pass)
}

fn import_once(
    terminal: &Terminal,
    brain: &Brain,
    args: &ImportArgs,
    options: &ImportOptions,
) -> Result<ImportSummary, CliError> {
    let reading = terminal.progress("importing");
    let indexing = terminal.progress("indexing");
    let on_progress = |progress: ImportProgress| match progress {
        ImportProgress::Found(files) => reading.set_length(files as u64),
        ImportProgress::Done(files) => advance(&reading, files as u64),
        ImportProgress::Indexing { done, total } => {
            reading.finish_and_clear();
            indexing.set_length(total.unsigned_abs());
            advance(&indexing, done.unsigned_abs());
        }
    };
    let summary =
        import(brain, &args.paths, options, moment(std::time::SystemTime::now()), &on_progress);
    reading.finish_and_clear();
    indexing.finish_and_clear();
    Ok(summary?)
}

fn keep_watching(
    terminal: &Terminal,
    brain: &Brain,
    args: &ImportArgs,
    options: &ImportOptions,
) -> Result<Exit, CliError> {
    let stop = Arc::new(AtomicBool::new(false));
    let on_interrupt = Arc::clone(&stop);
    ctrlc::set_handler(move || on_interrupt.store(true, Ordering::Relaxed))
        .map_err(|error| CliError::usage(format!("interrupts can't be handled: {error}")))?;
    let ready = || terminal.remark("watching; interrupt to stop");
    // The import before has checked what is stored, and a change of one file is no reason to check everything again.
    let options = &ImportOptions { stored: StoredTexts::Trust, ..options.clone() };
    watch(&args.paths, &stop, ready, || {
        match import_once(terminal, brain, args, options) {
            Ok(summary) if summary.is_empty() => {}
            Ok(summary) => report(terminal, &summary),
            Err(error) => terminal.error(&error),
        }
        Ok(())
    })?;
    Ok(Exit::Pass)
}

fn report(terminal: &Terminal, summary: &ImportSummary) {
    let ImportSummary { added, changed, unchanged, deleted, failed, warnings, skipped } = summary;
    for ImportFailure { path, reason } in warnings {
        terminal.remark(format!("warning: {}: {reason}", path.display()));
    }
    for ImportFailure { path, reason } in failed {
        terminal.warn(format!("failed {}: {reason}", path.display()));
    }
    if !skipped.is_empty() {
        let kinds: Vec<String> = skipped.iter().map(|(kind, n)| format!("{n} x {kind}")).collect();
        terminal.warn(format!(
            "passed over: {} (taken are .md .markdown .txt .json .jsonl)",
            kinds.join(", ")
        ));
    }
    if terminal.is_json() {
        terminal.json(summary);
        return;
    }
    terminal.line(format!(
        "{added} added, {changed} changed, {unchanged} unchanged, {deleted} deleted, {} failed",
        failed.len()
    ));
}
