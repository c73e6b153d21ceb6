//! Text as search sees it: tokens, query terms, name keys and highlight spans.
//!
//! A text becomes words, identifiers, bigrams and emoji. A word carries its exact form (folded:
//! lower case, compatibility forms and diacritics gone) and its English stem. An identifier
//! (`ABC-12`, `berth_planner.rs`, `#123`, `C++`) is kept whole beside the words it is made of.
//! Scripts written without spaces become overlapping bigrams.
//!
//! Promises: the same text gives the same tokens everywhere; offsets are byte offsets on character
//! boundaries of the text as it was given; nothing a user types is query syntax.
//!
//! Deliberately absent: languages other than English beyond folding, phrases, synonyms.

mod class;
mod fold;
mod name;
mod query;
mod scan;
mod spans;
mod stem;
mod stop;

pub use name::name_key;
pub use query::{QueryTerm, QueryTerms};
pub use scan::{analyse, analyse_unstemmed};
pub use spans::{MatchSpan, Matches, matches};
pub use stop::is_stop_word;

/// The version of the analyser: an index made with another number is made again.
pub const ANALYSER_VERSION: u32 = 2;

/// The longest token in bytes; longer tokens are cut at the last character that fits.
pub const MAX_TOKEN_BYTES: usize = 255;

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// A word or number.
    Word,
    /// A stop word: it does not indicate the subject of a text.
    Stop,
    /// A compound kept whole; the words inside it are tokens of their own.
    Identifier,
    /// A pair of neighbouring characters of a script without spaces, or a single one.
    Bigram,
    /// An emoji with its modifiers.
    Emoji,
}

/// A piece of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    /// First byte in the text.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    pub kind: TokenKind,
    /// The folded form that was typed.
    pub exact: &'a str,
    /// The form that is searched: the English stem of a word, the exact form of anything else.
    pub stem: &'a str,
}

/// A token before stemming.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnstemmedToken<'a> {
    /// First byte in the text.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// The kind of the token; a stop word is still a word.
    pub kind: TokenKind,
    /// The folded form that was typed.
    pub exact: &'a str,
}

impl<'a> UnstemmedToken<'a> {
    /// The token with its stem, which `stem` is to hold.
    pub fn with_stem(self, stem: &'a mut String) -> Token<'a> {
        let Self { start, end, kind, exact } = self;
        stem.clear();
        let kind = match kind {
            TokenKind::Word => stem::stem_into(exact, stem),
            whole => {
                stem.push_str(exact);
                whole
            }
        };
        Token { start, end, kind, exact, stem }
    }
}

/// The longest prefix of `text` within `max` bytes that ends on a character boundary.
fn cut(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}
