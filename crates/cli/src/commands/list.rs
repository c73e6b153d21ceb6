//! `gbrain list`: pages, by source and slug.

use clap::Args;
use gbrain_brain::wire::{self, PagesBody};
use gbrain_core::id::{PageKey, SourceId};
use gbrain_store::PageFilter;

use crate::commands::{CommandContext, refuse_unknown_sources};
use crate::error::{CliError, Exit};
use crate::terminal::table;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gbrain list --type person\n  gbrain list --prefix meetings/ --limit 20\n  \
    gbrain list --after wiki::people/ada    (the next page of a long list)"
)]
pub(crate) struct ListArgs {
    /// Only pages of this source.
    #[arg(long, value_name = "ID")]
    source: Option<String>,
    /// Only pages of this type.
    #[arg(long = "type", value_name = "TYPE")]
    page_type: Option<String>,
    /// Only pages with this tag.
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Only slugs that start with this.
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,
    /// Include the deleted pages.
    #[arg(long)]
    deleted: bool,
    /// Only pages after this one (`source::slug`).
    #[arg(long, value_name = "PAGE")]
    after: Option<String>,
    /// The number of pages to list.
    #[arg(long, short = 'n', default_value_t = 50)]
    limit: usize,
}

/// Lists pages; says so when there are more.
pub(crate) fn run(context: &CommandContext<'_>, args: &ListArgs) -> Result<Exit, CliError> {
    let brain = context.brain()?;
    refuse_unknown_sources(&brain, &args.source)?;
    let filter = PageFilter {
        source: args.source.as_deref().map(SourceId::new).transpose()?,
        page_type: args.page_type.clone(),
        tag: args.tag.as_ref().map(|tag| tag.to_lowercase()),
        prefix: args.prefix.clone(),
        visibility: None,
        include_deleted: args.deleted,
    };
    let after =
        args.after.as_deref().map(|text| PageKey::parse(text, &SourceId::default())).transpose()?;
    let limit = args.limit.saturating_add(1);
    let mut pages = brain.store().list(brain.workspace(), &filter, after.as_ref(), limit)?;
    let next = wire::truncate_page(&mut pages, args.limit).map(|page| page.key.clone());
    if context.terminal.is_json() {
        context.terminal.json(&PagesBody { pages: &pages, next_after: next.as_ref() });
        return Ok(Exit::Pass);
    }
    let rows = pages.iter().map(|page| {
        let date = page.effective_date.map_or_else(String::new, |date| date.to_string());
        let state = if page.deleted_at.is_some() { "deleted" } else { page.visibility.name() };
        let version = page.version.to_string();
        vec![
            page.key.to_string(),
            page.page_type.clone(),
            date,
            version,
            state.to_owned(),
            page.title.clone(),
        ]
    });
    context.terminal.out_paged(table(&["page", "type", "date", "version", "state", "title"], rows));
    if let Some(next) = next {
        context.terminal.remark(format!("there are more: gbrain list --after {next}"));
    }
    Ok(Exit::Pass)
}
