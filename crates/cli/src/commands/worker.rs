//! `gbrain worker`: works on background jobs.

use std::time::Duration;

use clap::Args;
use gbrain_server::WorkerOptions;
use jiff::SignedDuration;

use crate::commands::CommandContext;
use crate::commands::eval::duration;
use crate::error::{CliError, Exit};
use crate::models::configured_embedder;
use crate::serving::{DEFAULT_INTERVAL, LoggingArgs, autopilot, registry, worker_name};

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  gbrain --database-url postgres://gbrain@db.example/brain worker --jobs 2\n\n\
    Runs the jobs of all workspaces until it is interrupted; unfinished jobs go to another worker. Any number \
    of workers and servers may share one database."
)]
pub(crate) struct WorkerArgs {
    /// The number of jobs run concurrently.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: u16,
    /// Lease timeout: seconds without a heartbeat before another worker may claim the job.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=3600))]
    lease: u16,
    /// How often to check for due work, such as the nightly probe.
    #[arg(long, value_name = "DUR", default_value = DEFAULT_INTERVAL, value_parser = duration)]
    autopilot: SignedDuration,
    #[command(flatten)]
    log: LoggingArgs,
}

/// Runs jobs until the process is terminated.
pub(crate) fn run(context: &CommandContext<'_>, args: &WorkerArgs) -> Result<Exit, CliError> {
    args.log.start(&context.home, context.terminal)?;
    let wanted = configured_embedder(&context.home)?;
    let registry = registry(context, &args.log, wanted.clone())?;
    let lease = Duration::from_secs(args.lease.into());
    let autopilot = autopilot(context, registry.share_store(), wanted, lease, args.autopilot)?;
    let options = WorkerOptions { name: worker_name(), lease };
    context.terminal.remark(format!("working as {}; interrupt to stop", options.name));
    gbrain_server::work(&registry, &options, usize::from(args.jobs), autopilot)?;
    Ok(Exit::Pass)
}
