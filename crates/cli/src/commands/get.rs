//! `gbrain get`: prints a page.

use clap::Args;
use gbrain_core::page::StoredPage;
use serde_json::{Value, json};

use crate::commands::{Context, page_key};
use crate::error::{CliError, Exit};

/// Arguments of `get`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gbrain get people/ada\n  gbrain get wiki::people/ada --version 2"
)]
pub(crate) struct GetArgs {
    /// The page: a slug, or `source::slug`.
    slug: String,
    /// The source.
    #[arg(long, value_name = "ID")]
    source: Option<String>,
    /// An older version (see `gbrain history`).
    #[arg(long, value_name = "N")]
    version: Option<u32>,
}

/// Prints the text as it was given; with `--json` everything that was derived from it too.
pub(crate) fn run(context: &Context<'_>, args: &GetArgs) -> Result<Exit, CliError> {
    let brain = context.brain()?;
    let key = page_key(&brain, &args.slug, args.source.as_deref())?;
    let stored = brain.page(&key, args.version)?;
    if context.terminal.is_json() {
        context.terminal.json(&to_json(&stored));
    } else {
        let content = &stored.page.content;
        let end = if content.ends_with('\n') { "" } else { "\n" };
        context.terminal.out(format!("{content}{end}"));
    }
    Ok(Exit::Pass)
}

fn to_json(stored: &StoredPage) -> Value {
    let page = &stored.page;
    let date = |date: Option<jiff::civil::Date>| date.map(|date| date.to_string());
    json!({
        "source_id": page.key.source.as_str(),
        "slug": page.key.slug.as_str(),
        "version": stored.version,
        "generation": stored.generation.0,
        "kind": page.kind.name(),
        "title": page.title,
        "type": page.page_type,
        "tags": page.tags,
        "aliases": page.aliases,
        "effective_date": date(page.effective_date),
        "visibility": page.visibility.name(),
        "content_hash": page.content_hash.to_hex(),
        "content": page.content,
        "chunks": page.chunks.iter().map(|chunk| json!({
            "chunk_id": chunk.id(&page.key), "ordinal": chunk.ordinal, "part": chunk.part.name(),
            "section": chunk.section, "start": chunk.start, "end": chunk.end,
        })).collect::<Vec<_>>(),
        "links": page.links.iter().map(|link| json!({
            "type": link.link_type.name(), "direction": link.direction.name(), "target": link.target,
            "confidence": link.confidence, "detected_by": link.detected_by.name(),
            "since": date(link.since), "until": date(link.until),
            "evidence_start": link.evidence_start, "evidence_end": link.evidence_end,
        })).collect::<Vec<_>>(),
        "takes": page.takes.iter().map(|take| json!({
            "claim": take.claim, "kind": take.kind, "holder": take.holder, "weight": take.weight,
            "since": date(take.since), "until": date(take.until), "active": take.active,
        })).collect::<Vec<_>>(),
    })
}
