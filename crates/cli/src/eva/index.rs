//! `eva index`: rewrite the generated lists of prompts.

use clap::Args;
use serde_json::json;

use super::EvaContext;
use crate::error::{CliError, Exit};
use crate::terminal::count;

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  eva index --check || eva index\n\n\
    Rewrites the text between the lines INDEX:START and INDEX:END in README.md, and between AUTO:START and \
    AUTO:END in bin/kick-aliases.sh.")]
pub(super) struct IndexArgs {
    /// Write nothing; exit with 1 if a list would change.
    #[arg(long)]
    check: bool,
}

pub(super) fn run(context: &EvaContext<'_>, args: &IndexArgs) -> Result<Exit, CliError> {
    let indexed = gbrain_prompts::index(&context.library()?, args.check)?;
    for error in indexed.left {
        let fault = CliError::from(error);
        context.terminal.warn(format!("{}: not changed", fault.message));
        fault.hints.iter().for_each(|hint| context.terminal.remark(format!("hint: {hint}")));
    }
    for (id, why) in &indexed.missing_evidence {
        context.terminal.warn(format!("{id}: {why}: {}", why.remedy(id)));
    }
    for (id, error) in &indexed.unreadable {
        context.terminal.warn(format!("{id}: {}", gbrain_core::fault::chain(error)));
    }
    if context.terminal.is_json() {
        context.terminal.json(&json!({ "prompts": indexed.prompts, "changed": indexed.changed }));
    } else {
        let verb = if args.check { "would change" } else { "wrote" };
        indexed
            .changed
            .iter()
            .for_each(|path| context.terminal.line(format!("{verb} {}", path.display())));
        context.terminal.remark(count(indexed.prompts, "prompt", "prompts"));
    }
    Ok(match (args.check && !indexed.changed.is_empty(), indexed.unreadable.is_empty()) {
        (true, _) => Exit::Fail,
        (false, true) => Exit::Pass,
        (false, false) => Exit::NoVerdict,
    })
}
