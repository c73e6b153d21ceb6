//! `gbrain links`: the edges of a page, with their evidence.

use std::fmt::Write as _;

use clap::Args;
use gbrain_brain::EvidenceTexts;
use gbrain_brain::wire::LinksBody;
use gbrain_core::id::PageKey;
use gbrain_core::ranking::Edge;
use gbrain_core::request::Viewer;
use gbrain_core::search::display::plain;

use crate::commands::query::print::confidence;
use crate::commands::{CommandContext, page_key};
use crate::error::{CliError, Exit};
use crate::terminal::{bold, dim, field, wrap};

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  gbrain links services/tide-router")]
pub(crate) struct LinksArgs {
    /// The page: a slug, or `source::slug`.
    slug: String,
    /// The source of the page.
    #[arg(long, value_name = "ID")]
    source: Option<String>,
}

/// Lists edges out of and into the page.
pub(crate) fn run(context: &CommandContext<'_>, args: &LinksArgs) -> Result<Exit, CliError> {
    let brain = context.brain()?;
    let key = page_key(&brain, &args.slug, args.source.as_deref())?;
    let links = brain.links(&key, Viewer::Trusted, &|| false)?;
    if context.terminal.is_json() {
        context.terminal.json(&LinksBody::new(&key, &links));
        return Ok(Exit::Pass);
    }
    let evidence = brain.evidence_texts(&links.edges)?;
    let (outgoing, incoming): (Vec<&Edge>, Vec<&Edge>) =
        links.edges.iter().partition(|edge| edge.from == key);
    let mut text = String::new();
    for (heading, edges) in [("Links from", outgoing), ("Links to", incoming)] {
        let _ = writeln!(text, "{}", bold(&field(&format!("{heading} {key}: {}", edges.len()))));
        for edge in edges {
            text.push_str(&one_edge(edge, &key, &evidence));
        }
    }
    context.terminal.out_paged(text);
    for target in &links.unresolved {
        context.terminal.remark(format!("no page yet for link target `{target}`"));
    }
    Ok(Exit::Pass)
}

/// An edge as the page sees it, and the sentence it was read from.
fn one_edge(edge: &Edge, page: &PageKey, evidence: &EvidenceTexts) -> String {
    let (arrow, other) = if edge.from == *page { ("→", &edge.to) } else { ("←", &edge.from) };
    let link = format!("{} {arrow} {other}", edge.link_type);
    let shown = format!("{} {}", field(&link), dim(&confidence(edge)));
    let mut text = wrap("  ", "      ", &shown) + "\n";
    if let Some(sentence) = evidence.of(edge) {
        let shown = format!("read from {}: {}", edge.evidence_page, plain(&sentence, &[]).text);
        text.push_str(&wrap("      ", "      ", &dim(&field(&shown))));
        text.push('\n');
    }
    text
}
