//! `gbrain jobs`: work in the background.

use clap::{Args, Subcommand};
use gbrain_brain::wire;
use gbrain_core::fault::Fault;
use gbrain_core::format::serving::{CancelledBody, JobBody, JobsBody};
use gbrain_core::job::JobState;
use gbrain_server::job_shown;
use gbrain_store::JobFilter;

use crate::commands::CommandContext;
use crate::error::{CliError, Exit};
use crate::terminal::{local_time_of, table};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  gbrain jobs list --state running\n  gbrain jobs show 12\n  \
    gbrain jobs show 12 --result > replay.json\n  gbrain jobs cancel 12\n\n\
    Jobs are started by the API, and by `gbrain import --background`. `gbrain serve` works on them; \
    `gbrain worker` does so elsewhere.")]
pub(crate) struct JobsArgs {
    #[command(subcommand)]
    command: JobsCommand,
}

#[derive(Debug, Subcommand)]
enum JobsCommand {
    /// List jobs, newest first.
    List {
        /// Only jobs in this state: queued, running, done, failed or cancelled.
        #[arg(long, value_name = "STATE")]
        state: Option<JobState>,
        /// Only jobs with a lower number than this.
        #[arg(long, value_name = "N")]
        before: Option<i64>,
        /// The number of jobs to list.
        #[arg(long, short = 'n', default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=200))]
        limit: u16,
    },
    /// Show a job and its progress.
    Show {
        /// The number of the job.
        id: i64,
        /// Show the result of the job instead.
        #[arg(long)]
        result: bool,
    },
    /// Cancel a job. A running one ends soon.
    Cancel {
        /// The number of the job.
        id: i64,
    },
}

/// Lists, shows or cancels.
pub(crate) fn run(context: &CommandContext<'_>, args: &JobsArgs) -> Result<Exit, CliError> {
    match &args.command {
        JobsCommand::List { state, before, limit } => {
            list(context, *state, *before, usize::from(*limit))
        }
        JobsCommand::Show { id, result } => show(context, *id, *result),
        JobsCommand::Cancel { id } => cancel(context, *id),
    }
}

fn list(
    context: &CommandContext<'_>,
    state: Option<JobState>,
    before: Option<i64>,
    limit: usize,
) -> Result<Exit, CliError> {
    let filter = JobFilter { state, kinds: Vec::new(), before };
    let mut jobs = context.store()?.jobs(&context.home.workspace, &filter, limit + 1)?;
    let next_before = wire::truncate_page(&mut jobs, limit).map(|job| job.id);
    let jobs: Vec<JobBody> = jobs.iter().map(job_shown).collect();
    if context.terminal.is_json() {
        context.terminal.json(&JobsBody { jobs, next_before });
        return Ok(Exit::Pass);
    }
    let rows = jobs.iter().map(|job| {
        let by = job.created_by.clone();
        vec![
            job.id.to_string(),
            job.kind.clone(),
            job.state.to_owned(),
            progress(job),
            local_time_of(&job.created_at),
            by,
        ]
    });
    context
        .terminal
        .out_paged(table(&["job", "kind", "state", "progress", "asked for", "by"], rows));
    if let Some(next) = next_before {
        context.terminal.remark(format!("there are more: gbrain jobs list --before {next}"));
    }
    Ok(Exit::Pass)
}

fn progress(job: &JobBody) -> String {
    match job.total {
        Some(total) => format!("{} of {total}", job.done),
        None => job.done.to_string(),
    }
}

/// A job that failed is a finding; what came of one that is done can be printed as it is.
fn show(context: &CommandContext<'_>, id: i64, wants_result: bool) -> Result<Exit, CliError> {
    let job = context.store()?.job(&context.home.workspace, id)?.ok_or_else(|| no_job(id))?;
    if wants_result {
        let result = job.result.ok_or_else(|| {
            CliError::conflict(format!("job {id} is {}: there is no result", job.info.state))
        })?;
        context.terminal.out(format!("{result}\n"));
        return Ok(Exit::Pass);
    }
    let shown = job_shown(&job.info);
    if context.terminal.is_json() {
        context.terminal.json(&shown);
        return Ok(Exit::Pass);
    }
    let terminal = context.terminal;
    terminal.line(format!("job {id}: {} is {} ({})", shown.kind, shown.state, progress(&shown)));
    let attempt = format!("attempt {} of {}", shown.attempt, shown.max_attempts);
    let created_at = local_time_of(&shown.created_at);
    terminal.line(format!("asked for {created_at} by {}, {attempt}", shown.created_by));
    for (what, at) in [("started", &shown.started_at), ("ended", &shown.finished_at)] {
        if let Some(at) = at {
            terminal.line(format!("{what} {}", local_time_of(at)));
        }
    }
    if let Some(worker) = &shown.worker {
        terminal.line(format!("worker {worker}"));
    }
    if let Some(error) = &shown.error {
        terminal.line(format!("error: {}", error.error.message));
    }
    Ok(Exit::Pass)
}

fn cancel(context: &CommandContext<'_>, id: i64) -> Result<Exit, CliError> {
    let state = context.store()?.cancel_job(&context.home.workspace, id, context.now)?;
    let state = state.ok_or_else(|| no_job(id))?;
    if context.terminal.is_json() {
        context.terminal.json(&CancelledBody { id, state: state.name() });
        return Ok(Exit::Pass);
    }
    context.terminal.line(match state {
        JobState::Running => format!("job {id} is running and was asked to end"),
        state => format!("job {id} is {state}"),
    });
    Ok(Exit::Pass)
}

fn no_job(id: i64) -> CliError {
    Fault::not_found(format!("there is no such job: {id}")).hint("`gbrain jobs list` lists them")
}
