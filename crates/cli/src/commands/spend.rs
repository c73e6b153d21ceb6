//! `gbrain spend`: the cost of model calls.

use clap::Args;
use gbrain_core::money::Usd;
use gbrain_eval::activity::spending;
use gbrain_llm::ModelCatalog;
use gbrain_store::DAILY_PREFIX;
use jiff::tz::TimeZone;

use crate::commands::CommandContext;
use crate::commands::eval::moment;
use crate::error::{CliError, Exit};
use crate::model_access::settings;
use crate::terminal::table;

#[derive(Debug, Args)]
#[command(
    after_help = "A call is charged at the most that it can cost before it is sent, and at what it did \
    cost after.\nUnsettled calls are in progress, or belong to killed processes or interrupted answers:\nthey stay charged at their maximum cost.\n\n\
    Examples:\n  gbrain spend\n  gbrain spend --since 30d --json\n  \
    gbrain config set spend.max_usd_per_day 2.50"
)]
pub(crate) struct SpendArgs {
    /// From when: 7d, 12h, today, yesterday, a day or a time.
    #[arg(long, value_name = "WHEN", default_value = "7d")]
    since: String,
}

pub(crate) fn run(context: &CommandContext<'_>, args: &SpendArgs) -> Result<Exit, CliError> {
    let since = moment(&args.since, context.now).map_err(CliError::usage)?;
    let (store, workspace) = (context.store()?, &context.home.workspace);
    let body = spending(&store, workspace, since, context.now)?;
    if context.terminal.is_json() {
        context.terminal.json(&body);
        return Ok(Exit::Pass);
    }
    let lines = store.spend(workspace, since)?;
    if lines.is_empty() {
        context.terminal.line(format!("no model was called since {since}"));
    } else {
        context.terminal.out_paged(table(
            &["model", "for", "calls", "unsettled", "charged"],
            lines.iter().map(|line| {
                let (model, purpose) = (line.model.clone(), line.purpose.clone());
                let counts = [line.calls, line.unsettled].map(|count| count.to_string());
                let [calls, unsettled] = counts;
                vec![model, purpose, calls, unsettled, line.charged.to_string()]
            }),
        ));
    }
    let total: Usd = lines.iter().map(|line| line.charged).sum();
    let day = context.now.to_zoned(TimeZone::UTC).date();
    let today = store.budget(workspace, &format!("{DAILY_PREFIX}{day}"))?;
    let today = today.map_or(Usd::ZERO, |budget| budget.charged);
    let per_day = ModelCatalog::per_day(&settings(&store, workspace)?);
    context.terminal.line(format!("{total} since {since}; today {today} of {per_day}"));
    Ok(Exit::Pass)
}
