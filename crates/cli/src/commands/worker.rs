//! `gbrain worker`: works on background jobs.

use std::time::Duration;

use clap::Args;
use gbrain_server::WorkerOptions;
use jiff::SignedDuration;

use crate::commands::Context;
use crate::commands::eval::duration;
use crate::error::{CliError, Exit};
use crate::models::models;
use crate::serving::{LOOK, LogArgs, autopilot, house, worker_name};

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
    /// How often it is looked whether something is due, such as the nightly probe.
    #[arg(long, value_name = "DUR", default_value = LOOK, value_parser = duration)]
    autopilot: SignedDuration,
    #[command(flatten)]
    log: LogArgs,
}

/// Works until the process is told to end.
pub(crate) fn run(context: &Context<'_>, args: &WorkerArgs) -> Result<Exit, CliError> {
    args.log.start(&context.home, context.terminal)?;
    let wanted = models(&context.home)?;
    let house = house(context, &args.log, wanted.clone())?;
    let lease = Duration::from_secs(args.lease.into());
    let autopilot = autopilot(context, house.share_store(), wanted, lease, args.autopilot)?;
    let options = WorkerOptions { name: worker_name(), lease };
    context.terminal.remark(format!("working as {}; interrupt to stop", options.name));
    gbrain_server::work(&house, &options, usize::from(args.jobs), autopilot)?;
    Ok(Exit::Pass)
}
