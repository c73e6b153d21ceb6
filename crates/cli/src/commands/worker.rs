//! `gbrain worker`: works on background jobs.

use std::time::Duration;

use clap::Args;
use gbrain_server::WorkerOptions;

use crate::commands::Context;
use crate::error::{CliError, Exit};
use crate::serving::{LogArgs, house, worker_name};

/// Arguments of `worker`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  gbrain --database-url postgres://gbrain@db.example/brain worker --jobs 2\n\n\
    Works on the jobs of all workspaces until it is interrupted; what it has not ended then goes to \
    another worker. Any number of workers and servers may work on one database."
)]
pub(crate) struct WorkerArgs {
    /// How many jobs are worked on at once.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: u16,
    /// How many seconds without a beat until a job is another worker's.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=3600))]
    lease: u16,
    #[command(flatten)]
    log: LogArgs,
}

/// Works until the process is told to end.
pub(crate) fn run(context: &Context<'_>, args: &WorkerArgs) -> Result<Exit, CliError> {
    args.log.start(&context.home)?;
    let house = house(context, &args.log)?;
    let lease = Duration::from_secs(args.lease.into());
    let options = WorkerOptions { name: worker_name(), lease };
    context.terminal.remark(format!("working as {}; interrupt to stop", options.name));
    gbrain_server::work(&house, &options, usize::from(args.jobs))?;
    Ok(Exit::Pass)
}
