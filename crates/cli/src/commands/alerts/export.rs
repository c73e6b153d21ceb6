//! `gbrain alerts export`: writes alerts for other systems.

use clap::{Args, ValueEnum};
use gbrain_core::alert::export::{grafana, group_by_thresholds, missing_run_rules, prometheus};
use gbrain_core::alert::metrics::document;
use gbrain_eval::alert::{suites_with_thresholds, workspace_metrics};
use serde_json::json;

use crate::commands::CommandContext;
use crate::commands::suites::SuiteSource;
use crate::error::{CliError, Exit};

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gbrain alerts export --format prometheus > gbrain-suites.rules.yml\n  \
    gbrain alerts export --format grafana > dashboard.json\n  \
    gbrain alerts export --format metrics > /var/lib/node_exporter/gbrain.prom\n\n\
    Rules and dashboard are made from the thresholds of the suites of all workspaces."
)]
pub(super) struct ExportArgs {
    /// Rules for Prometheus, a dashboard for Grafana, or the numbers as OpenMetrics text.
    #[arg(long, value_name = "FORMAT")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Prometheus,
    Grafana,
    Metrics,
}

/// Prints what others read.
pub(super) fn run(
    context: &CommandContext<'_>,
    args: &ExportArgs,
    source: &SuiteSource,
) -> Result<Exit, CliError> {
    let store = context.store()?;
    let held = || -> Result<_, CliError> {
        let file = source.read()?;
        Ok(suites_with_thresholds(&store, file.as_ref())?)
    };
    let text = match args.format {
        Format::Grafana => {
            context.terminal.json(&grafana(&group_by_thresholds(&held()?)));
            return Ok(Exit::Pass);
        }
        Format::Prometheus => {
            let held = held()?;
            prometheus(&group_by_thresholds(&held), &missing_run_rules(&held))
        }
        Format::Metrics => {
            let now = store.clock()?;
            let all = store.workspaces()?;
            let read = all.iter().map(|one| workspace_metrics(&store, &one.id, now));
            document(&read.collect::<Result<Vec<_>, _>>()?)
        }
    };
    if context.terminal.is_json() {
        context.terminal.json(&json!({ "text": text }));
    } else {
        context.terminal.out(text);
    }
    Ok(Exit::Pass)
}
