//! The indexed tokens of a chunk.

use gbrain_core::page::cut_title;
use gbrain_core::text::{Token, TokenKind, UnstemmedToken, analyse_unstemmed};

use crate::bm25::TermForm;

/// How often the title's words count in a page's first chunk: measured on five collections, two is
/// better than one on three of them and as good on the others. In later chunks they count once,
/// enough to match together with the chunk's text.
const TITLE_IN_FIRST: usize = 2;
const TITLE_IN_OTHERS: usize = 1;

/// Calls `each` with every indexed token of a chunk and its form: of its page's title, its section
/// and its text.
pub(crate) fn for_each_chunk_token(
    title: &str,
    ordinal: u32,
    section: &str,
    text: &str,
    each: &mut impl FnMut(TermForm, &str),
) {
    let mut stem = String::new();
    for_each_unstemmed_chunk_token(title, ordinal, section, text, &mut |token| {
        for_each_term_form(&token.with_stem(&mut stem), each)
    });
}

/// Calls `each` with every token of a chunk; [`for_each_term_form`] determines its forms.
pub(crate) fn for_each_unstemmed_chunk_token(
    title: &str,
    ordinal: u32,
    section: &str,
    text: &str,
    each: &mut impl FnMut(UnstemmedToken<'_>),
) {
    // A title stored before titles had a limit would dominate every chunk.
    let title = cut_title(title);
    let repeats = if ordinal == 0 { TITLE_IN_FIRST } else { TITLE_IN_OTHERS };
    for _ in 0..repeats {
        analyse_unstemmed(&title, each);
    }
    analyse_unstemmed(section, each);
    analyse_unstemmed(text, each);
}

/// Calls `each` with the indexed forms of a token. Only stems count towards the length of a chunk:
/// exact forms and identifiers repeat other tokens, and stop words carry no content.
pub(crate) fn for_each_term_form(token: &Token<'_>, each: &mut impl FnMut(TermForm, &str)) {
    match token.kind {
        TokenKind::Stop | TokenKind::Identifier => each(TermForm::Exact, token.exact),
        TokenKind::Word | TokenKind::Bigram | TokenKind::Emoji => {
            each(TermForm::Stem, token.stem);
            if token.exact != token.stem {
                each(TermForm::Exact, token.exact);
            }
        }
    }
}
