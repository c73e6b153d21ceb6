//! `gbrain calibrate pairs`: lists the collected pairs.

use clap::Args;
use gbrain_core::calibrate::{CalibrationPair, PairLabel};
use gbrain_core::format::calibration::PairsBody;
use gbrain_eval::calibrate::pairs;
use serde_json::json;

use crate::commands::CommandContext;
use crate::error::{CliError, Exit};
use crate::terminal::table;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  gbrain calibrate pairs --label borderline\n  \
    gbrain calibrate pairs --remove 12 13")]
pub(super) struct PairsArgs {
    /// relevant, borderline or irrelevant only.
    #[arg(long, value_name = "LABEL")]
    label: Option<PairLabel>,
    /// At most so many, the newest.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    limit: u16,
    /// Remove these, by number.
    #[arg(long, value_name = "PAIR", num_args = 1..)]
    remove: Vec<i64>,
}

/// Lists or removes pairs.
pub(super) fn run(context: &CommandContext<'_>, args: &PairsArgs) -> Result<Exit, CliError> {
    let store = context.store()?;
    let workspace = &context.home.workspace;
    if !args.remove.is_empty() {
        let mut removed = 0;
        for id in &args.remove {
            match store.delete_pair(workspace, *id)? {
                true => removed += 1,
                false => context.terminal.warn(format!("there is no pair {id}")),
            }
        }
        if context.terminal.is_json() {
            context.terminal.json(&json!({ "removed": removed }));
        } else {
            context.terminal.line(format!("{removed} removed"));
        }
        return Ok(Exit::Pass);
    }
    let rows = pairs(&store, workspace, args.label, usize::from(args.limit))?;
    if context.terminal.is_json() {
        context.terminal.json(&PairsBody { pairs: rows });
    } else if rows.is_empty() {
        context.terminal.remark("there are no pairs: `gbrain calibrate collect`");
    } else {
        let head = ["ID", "LABEL", "ORIGIN", "DOCUMENT", "QUERY"];
        let row = |one: &CalibrationPair| {
            vec![
                one.id.to_string(),
                one.label.to_string(),
                one.origin.to_string(),
                one.document.clone(),
                one.query.clone(),
            ]
        };
        context.terminal.out_paged(table(&head, rows.iter().map(row)));
    }
    Ok(Exit::Pass)
}
