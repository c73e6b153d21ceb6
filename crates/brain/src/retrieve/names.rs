//! Names: who may be called what.

use gbrain_index::{NameKind, Named};
use gbrain_store::{Source, SourceTrust};

/// A name longer than this is a text.
pub(super) const MAX_NAME_BYTES: usize = 512;
/// Pages of one name that stand before everything else.
const MAX_NAMED: usize = 3;

/// Whether a source's own word is taken for what its pages are called.
pub(super) fn is_trusted(sources: &[Source], named: &Named) -> bool {
    let source = &named.entry.key.source;
    sources.iter().any(|known| known.id == *source && known.trust == SourceTrust::Trusted)
}

/// The pages that rightfully bear a name, the most rightful first.
///
/// A page of an untrusted source gives itself its title and aliases, so it bears them only where
/// nobody else does; its slug is given by the importer. Chats and notes that merely end in the
/// same segment come last, and only if nothing bears the name in a stronger way.
pub(super) fn rightful(mut named: Vec<Named>, sources: &[Source]) -> Vec<Named> {
    let self_given =
        |n: &Named| matches!(n.how, NameKind::Title | NameKind::Alias) && !is_trusted(sources, n);
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
