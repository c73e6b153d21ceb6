//! `gbrain sources`: the sources that pages come from.

use clap::{Args, Subcommand};
use gbrain_brain::wire::{ObjectChange, SourceChanged, SourcesBody};
use gbrain_core::id::SourceId;
use gbrain_store::{SourceRemovalMode, SourceTrust};

use crate::commands::CommandContext;
use crate::error::{CliError, Exit};
use crate::terminal::table;

/// The longest name of a source, in characters.
const MAX_NAME: usize = 200;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gbrain sources list\n  gbrain sources add slack --untrusted\n  \
    gbrain sources remove slack --cascade"
)]
pub(crate) struct SourcesArgs {
    #[command(subcommand)]
    command: SourcesCommand,
}

#[derive(Debug, Subcommand)]
enum SourcesCommand {
    /// List the sources with their pages.
    List,
    /// Add a source, or change whether it is trusted.
    Add {
        /// Its id: lower-case letters, digits, hyphens.
        id: String,
        /// A name for people.
        #[arg(long)]
        name: Option<String>,
        /// Mark it as untrusted: its aliases and titles can't take another page's name.
        #[arg(long)]
        untrusted: bool,
    },
    /// Remove a source without pages.
    Remove {
        /// The id of the source.
        id: String,
        /// Delete its pages too (softly).
        #[arg(long)]
        cascade: bool,
    },
}

/// Lists, adds or removes.
pub(crate) fn run(context: &CommandContext<'_>, args: &SourcesArgs) -> Result<Exit, CliError> {
    let brain = context.brain()?;
    let (store, workspace) = (brain.store(), brain.workspace());
    match &args.command {
        SourcesCommand::List => list(context, &store.sources(workspace)?, &store.stats(workspace)?),
        SourcesCommand::Add { id, name, untrusted } => {
            let id = SourceId::new(id)?;
            let trust = if *untrusted { SourceTrust::Untrusted } else { SourceTrust::Trusted };
            let known = store.sources(workspace)?.iter().any(|source| source.id == id);
            if known {
                store.set_source_trust(workspace, &id, trust, context.now)?;
            } else {
                let name = name.as_deref().unwrap_or(id.as_str());
                refuse_long(name)?;
                store.add_source(workspace, &id, name, trust, context.now)?;
            }
            say(context, &id, if known { ObjectChange::Changed } else { ObjectChange::Added });
        }
        SourcesCommand::Remove { id, cascade } => {
            let id = SourceId::new(id)?;
            let removal =
                if *cascade { SourceRemovalMode::Cascade } else { SourceRemovalMode::OnlyEmpty };
            let deleted = store.remove_source(workspace, &id, removal, context.now)?;
            say(context, &id, ObjectChange::Removed);
            let pages = if deleted == 1 { "page" } else { "pages" };
            context.terminal.remark(format!("{deleted} {pages} deleted with it"));
        }
    }
    Ok(Exit::Pass)
}

/// Every list of sources repeats the name. The API has the same limit.
fn refuse_long(name: &str) -> Result<(), CliError> {
    match name.chars().count() {
        length if length > MAX_NAME => Err(CliError::usage(format!(
            "the name of a source has {length} characters, at most {MAX_NAME}"
        ))),
        _ => Ok(()),
    }
}

fn say(context: &CommandContext<'_>, id: &SourceId, outcome: ObjectChange) {
    if context.terminal.is_json() {
        context.terminal.json(&SourceChanged { source: id, outcome });
    } else {
        context.terminal.line(format!("{id} {outcome}"));
    }
}

fn list(
    context: &CommandContext<'_>,
    sources: &[gbrain_store::Source],
    stats: &gbrain_store::CorpusStats,
) {
    let counts: Vec<(SourceId, u64)> =
        stats.sources.iter().map(|stats| (stats.source.clone(), stats.pages)).collect();
    let pages = |id: &SourceId| counts.iter().find(|(of, _)| of == id).map_or(0, |(_, n)| *n);
    if context.terminal.is_json() {
        context.terminal.json(&SourcesBody::new(sources, &counts));
        return;
    }
    let rows = sources.iter().map(|source| {
        let trust = source.trust.to_string();
        vec![source.id.to_string(), trust, pages(&source.id).to_string(), source.name.clone()]
    });
    context.terminal.out_paged(table(&["source", "trust", "pages", "name"], rows));
}
