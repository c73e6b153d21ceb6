//! What of a chunk is indexed.

use gbrain_core::page::cut_title;
use gbrain_core::text::{Said, Token, TokenKind, analyse_forms};

use crate::bm25::Form;

/// How often the title's words count in a page's first chunk: measured on five collections, two is
/// better than one on three of them and as good on the others. In the chunks after it they count
/// once, enough to be found together with what the chunk says.
const TITLE_IN_FIRST: usize = 2;
const TITLE_IN_OTHERS: usize = 1;

/// Calls `each` with every indexed token of a chunk and where it goes: its page's title, its
/// section, its text.
pub(crate) fn chunk_tokens(
    title: &str,
    ordinal: u32,
    section: &str,
    text: &str,
    each: &mut impl FnMut(Form, &str),
) {
    let mut stem = String::new();
    chunk_forms(title, ordinal, section, text, &mut |said| place(&said.token(&mut stem), each));
}

/// Calls `each` with every token of a chunk; where it goes, [`place`] says.
pub(crate) fn chunk_forms(
    title: &str,
    ordinal: u32,
    section: &str,
    text: &str,
    each: &mut impl FnMut(Said<'_>),
) {
    // A title from before it had a limit would be most of every chunk.
    let title = cut_title(title);
    let repeats = if ordinal == 0 { TITLE_IN_FIRST } else { TITLE_IN_OTHERS };
    for _ in 0..repeats {
        analyse_forms(&title, each);
    }
    analyse_forms(section, each);
    analyse_forms(text, each);
}

/// Stems make up the length of a chunk. What stands beside them must not: exact forms and
/// identifiers say the same again, and stop words say nothing.
pub(crate) fn place(token: &Token<'_>, each: &mut impl FnMut(Form, &str)) {
    match token.kind {
        TokenKind::Stop | TokenKind::Identifier => each(Form::Exact, token.exact),
        TokenKind::Word | TokenKind::Bigram | TokenKind::Emoji => {
            each(Form::Stem, token.stem);
            if token.exact != token.stem {
                each(Form::Exact, token.exact);
            }
        }
    }
}
