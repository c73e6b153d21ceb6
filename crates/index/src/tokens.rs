//! What of a chunk is indexed.

use gbrain_core::text::{Token, analyse};

/// How often the title's words count in each chunk of a page.
pub(crate) const TITLE_REPEATS: usize = 1;

/// Calls `each` for every indexed token of a chunk: its page's title, its section, its text.
pub(crate) fn chunk_tokens(
    title: &str,
    section: &str,
    text: &str,
    each: &mut impl FnMut(Token<'_>),
) {
    for _ in 0..TITLE_REPEATS {
        analyse(title, each);
    }
    analyse(section, each);
    analyse(text, each);
}
