//! `gbrain links`: the edges of a page, with their evidence.

use clap::Args;
use gbrain_brain::wire::LinksBody;
use gbrain_core::request::Viewer;

use crate::commands::{Context, page_key};
use crate::error::{CliError, Exit};
use crate::terminal::table;

/// Arguments of `links`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gbrain links services/tide-router")]
pub(crate) struct LinksArgs {
    /// The page: a slug, or `source::slug`.
    slug: String,
    /// The source.
    #[arg(long, value_name = "ID")]
    source: Option<String>,
}

/// Lists edges out of and into the page.
pub(crate) fn run(context: &Context<'_>, args: &LinksArgs) -> Result<Exit, CliError> {
    let brain = context.brain()?;
    let key = page_key(&brain, &args.slug, args.source.as_deref())?;
    let links = brain.links(&key, Viewer::Trusted, &|| false)?;
    if context.terminal.is_json() {
        context.terminal.json(&LinksBody::new(&key, &links));
        return Ok(Exit::Pass);
    }
    let rows = links.edges.iter().map(|edge| {
        let until = edge.until.map(|date| date.to_string()).unwrap_or_default();
        let since = edge.since.map(|date| date.to_string()).unwrap_or_default();
        let evidence =
            format!("{}:{}-{}", edge.evidence_page, edge.evidence_start, edge.evidence_end);
        let confidence = format!("{:.2}", edge.confidence);
        let (from, to) = (edge.from.to_string(), edge.to.to_string());
        vec![
            from,
            edge.link_type.to_string(),
            to,
            confidence,
            edge.detected_by.to_string(),
            since,
            until,
            evidence,
        ]
    });
    let head = ["from", "type", "to", "sure", "found by", "since", "until", "evidence"];
    context.terminal.out(table(&head, rows));
    for target in &links.unresolved {
        context.terminal.remark(format!("no page yet for link target `{target}`"));
    }
    Ok(Exit::Pass)
}
