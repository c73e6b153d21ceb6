//! Which pages are entitled to a name.

use gbrain_index::{NameKind, NameMatch};
use gbrain_store::{Source, SourceTrust};

/// A longer name is treated as text.
pub(super) const MAX_NAME_BYTES: usize = 512;
/// How many pages of one name rank before everything else.
const MAX_NAMED: usize = 3;

/// Whether the source of a page is trusted to name its own pages.
pub(super) fn is_trusted(sources: &[Source], named: &NameMatch) -> bool {
    let source = &named.entry.key.source;
    sources.iter().any(|known| known.id == *source && known.trust == SourceTrust::Trusted)
}

/// The pages that are entitled to a name, strongest claim first.
///
/// A page of an untrusted source chooses its own title and aliases, so they count only if no other
/// page has the name; its slug is assigned by the importer. Pages that only share the last path
/// segment count only if no page has a stronger claim.
pub(super) fn entitled(mut named: Vec<NameMatch>, sources: &[Source]) -> Vec<NameMatch> {
    let self_given = |n: &NameMatch| {
        matches!(n.how, NameKind::Title | NameKind::Alias) && !is_trusted(sources, n)
    };
    let given_by_others = named.iter().any(|n| !self_given(n));
    if given_by_others {
        named.retain(|n| !self_given(n));
    }
    if named.iter().any(|n| n.how != NameKind::Basename) {
        named.retain(|n| n.how != NameKind::Basename);
    }
    named.truncate(MAX_NAMED);
    named
}
