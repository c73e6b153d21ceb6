//! `gbrain purge`: erases a page and its history.

use clap::Args;
use gbrain_brain::wire::PurgeBody;
use gbrain_brain::{PurgeOutcome, PurgeScope};
use gbrain_store::{PurgeCounts, PurgeKeys};

use crate::commands::{CommandContext, baseline_key, page_key};
use crate::error::{CliError, Exit};
use crate::identity::workspace_key;

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gbrain purge people/ada --yes\n\n\
    Every version leaves the database and the index. Labels, calibration pairs and cached model answers of the page\n\
    are erased; captures, logs, reports and baselines keep their figures and lose the page's name. Nothing brings it\n\
    back. Exported files and other machines' indexes are not reached (docs/erasure.md).")]
pub(crate) struct PurgeArgs {
    /// The page: a slug, or `source::slug`.
    slug: String,
    /// The source of the page.
    #[arg(long, value_name = "ID")]
    source: Option<String>,
    /// Confirm that the page is erased permanently.
    #[arg(long)]
    yes: bool,
}

/// Erases from the files of the home, from the store, and from the index.
pub(crate) fn run(context: &CommandContext<'_>, args: &PurgeArgs) -> Result<Exit, CliError> {
    let brain = context.brain()?;
    let key = page_key(&brain, &args.slug, args.source.as_deref())?;
    if !args.yes {
        return Err(CliError::usage(format!("`{key}` and its history would be erased for good"))
            .hint("say --yes if that is what you want; `gbrain delete` can be undone"));
    }
    let home = &context.home;
    let scope = PurgeScope {
        keys: PurgeKeys {
            identity: workspace_key(home)?,
            baseline: baseline_key::of_environment(home)?,
        },
        baselines: Some(home.baselines_dir()),
        audit: Some(home.audit_dir()),
    };
    let purged = match brain.purge(&key, &scope, context.now)? {
        PurgeOutcome::Purged(purged) => purged,
        PurgeOutcome::Finished => PurgeCounts::default(),
    };
    print(context, &key.to_string(), &purged);
    if context.terminal.is_json() {
        context.terminal.json(&PurgeBody { page: &key, purged: &purged });
    }
    Ok(Exit::Pass)
}

fn print(context: &CommandContext<'_>, key: &str, purged: &PurgeCounts) {
    let terminal = context.terminal;
    if !terminal.is_json() {
        match purged.versions {
            0 => terminal
                .line(format!("{key} is not in the brain: an interrupted purge is finished")),
            1 => terminal.line(format!("{key} purged (1 version)")),
            versions => terminal.line(format!("{key} purged ({versions} versions)")),
        }
        for (count, what) in purged.erased.describe() {
            terminal.line(format!("  {count} {what}"));
        }
    }
    if purged.versions > 0 && !purged.scrubbed {
        terminal.remark(
            "the database may keep the freed bytes until other processes close it or it is vacuumed",
        );
    }
}
