//! `gbrain stats`: what is in the brain, in figures.

use clap::Args;
use gbrain_brain::wire::StatsBody;

use crate::commands::CommandContext;
use crate::error::{CliError, Exit};
use crate::terminal::{table, wrap};

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gbrain stats --json")]
pub(crate) struct StatsArgs {}

pub(crate) fn run(context: &CommandContext<'_>, _: &StatsArgs) -> Result<Exit, CliError> {
    let brain = context.brain()?;
    let stats = brain.store().stats(brain.workspace())?;
    let head = brain.store().head(brain.workspace())?;
    let index = brain.index_report()?;
    let vectors = brain.vector_report()?;
    if context.terminal.is_json() {
        let (workspace, engine) = (brain.workspace(), brain.store().engine());
        let body = StatsBody::new(workspace, engine, &head, &stats, &index, &vectors);
        context.terminal.json(&body);
        return Ok(Exit::Pass);
    }
    let terminal = context.terminal;
    let contents = format!(
        "workspace {} on {}: {} pages, {} chunks, {} versions, {} aliases, {} takes",
        brain.workspace(),
        brain.store().engine(),
        head.pages,
        head.chunks,
        stats.versions,
        stats.aliases,
        stats.takes,
    );
    terminal.out(wrap("", "  ", &contents) + "\n");
    terminal.line(format!("generation {}, root {}", head.generation.0, head.root.short()));
    terminal.line(format!(
        "database {:.1} MiB, index {:.1} MiB at generation {}",
        mebibytes(stats.database_bytes),
        mebibytes(index.bytes),
        index.generation,
    ));
    let is_odd = if vectors.is_settled() { "" } else { "; see `gbrain reembed --status`" };
    let held = vectors.held.as_deref().unwrap_or("no model");
    terminal.line(format!("vectors of {held}{is_odd}"));
    terminal.line("");
    terminal.out_paged(table(
        &["source", "pages", "deleted", "chunks", "bytes"],
        stats.sources.iter().map(|source| {
            let counts = [source.pages, source.deleted, source.chunks, source.bytes];
            std::iter::once(source.source.to_string())
                .chain(counts.map(|n| n.to_string()))
                .collect()
        }),
    ));
    terminal.line("");
    terminal.out_paged(table(
        &["type", "pages"],
        stats.types.iter().map(|(name, n)| vec![name.clone(), n.to_string()]),
    ));
    terminal.line("");
    terminal.out_paged(table(
        &["link", "edges"],
        stats.links.iter().map(|(name, n)| vec![name.to_string(), n.to_string()]),
    ));
    Ok(Exit::Pass)
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
