//! What of a chunk is indexed.

use gbrain_core::text::{Token, TokenKind, analyse};

use crate::bm25::Form;

/// How often the title's words count in each chunk of a page. Measured on five collections: two
/// is better than one on three of them and as good on the others.
pub(crate) const TITLE_REPEATS: usize = 2;

/// Calls `each` with every indexed token of a chunk and where it goes: its page's title, its
/// section, its text.
pub(crate) fn chunk_tokens(
    title: &str,
    section: &str,
    text: &str,
    each: &mut impl FnMut(Form, &str),
) {
    let each = &mut |token: Token<'_>| place(&token, each);
    for _ in 0..TITLE_REPEATS {
        analyse(title, each);
    }
    analyse(section, each);
    analyse(text, each);
}

/// Stems make up the length of a chunk. What stands beside them must not: exact forms and
/// identifiers say the same again, and stop words say nothing.
fn place(token: &Token<'_>, each: &mut impl FnMut(Form, &str)) {
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
