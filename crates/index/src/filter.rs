//! Evaluates a filter on pages and chunks.

use gbrain_core::chunk::PagePart;
use gbrain_core::request::Filter;

use crate::entry::PageEntry;

pub(crate) fn admits_page(filter: &Filter, entry: &PageEntry) -> bool {
    let Filter { sources, types, tags, since, until, trust, truth_only: _ } = filter;
    let dated =
        |passes: &dyn Fn(jiff::civil::Date) -> bool| entry.effective_date.is_some_and(passes);
    entry.is_visible_to(*trust)
        && (sources.is_empty() || sources.contains(&entry.key.source))
        && (types.is_empty() || types.contains(&entry.page_type))
        && (tags.is_empty() || tags.iter().any(|tag| entry.tags.contains(tag)))
        && since.is_none_or(|since| dated(&|date| date >= since))
        && until.is_none_or(|until| dated(&|date| date <= until))
}

/// Whether a chunk passes, given that its page does.
pub(crate) fn admits_part(filter: &Filter, part: PagePart) -> bool {
    !filter.truth_only || part != PagePart::Timeline
}
